// Package wire joins a fleet's coordinator and workers over NATS. What a bench is to do
// is a value of its own in a bucket; what it measured lies in a bucket of its own as
// objects named by their content. The hub may be emptied at any time: both ends make
// again what they find missing.
//
// A bench's key lets it read its own order, publish its own beats and results, and use
// its own bucket of objects, and nothing else (admit.Permissions). The package has the client
// only; the server is package hub.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/kernel"
)

const (
	chunk         = 1 << 20  // B; the library's 128 KiB take four times as long where every write is synced
	mostBeat      = 64 << 10 // B
	mostID        = 256      // B of a boot's or a machine's id
	connectWithin = 5 * time.Second
)

// Credentials are what one end needs to reach a hub. They hold a secret.
type Credentials struct {
	URL   string `json:"url"`             // of the hubs, with commas between them: nats://HOST:PORT or tls://HOST:PORT
	Bench string `json:"bench,omitempty"` // empty: the coordinator's
	Seed  string `json:"seed"`            // private
	CA    string `json:"ca,omitempty"`    // PEM of who signed the hub's certificate; empty: the system knows
}

// ReadCredentials reads a file of credentials, which only its owner may read.
func ReadCredentials(file string) (Credentials, error) {
	var c Credentials
	info, err := os.Stat(file)
	if p := new(fs.PathError); errors.As(err, &p) {
		return c, fmt.Errorf("%s cannot be read: %w; edgegauge benches add makes the credentials of a bench and of the "+
			"coordinator", file, p.Err)
	}
	if err != nil {
		return c, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return c, fmt.Errorf("%s: others may read this secret; run: chmod 600 %[1]s", file)
	}
	text, err := kernel.ReadFile(file, 1<<20)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Bench != "" {
		err = admit.CheckName(c.Bench)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w; recreate it with edgegauge benches add", file, err)
	}
	return c, nil
}

// Write writes credentials to a file that only its owner may read, in place of one that is there.
func (c Credentials) Write(file string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return kernel.ReplaceSecret(file, append(text, '\n'))
}

// ErrUnknownKey means that the hub does not admit these credentials.
var ErrUnknownKey = errors.New("the hub does not know this key")

// connect reaches a hub. That it is away is no error if wait says so: the connection is
// made when it is there. What is lost of it later is told to gone.
func connect(c Credentials, wait bool, gone func(error)) (*nats.Conn, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return nil, fmt.Errorf("the seed of the credentials: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	name, inbox := c.Bench, admit.Inbox(c.Bench)
	if name == "" {
		name, inbox = "coordinator", admit.CoordinatorInbox
	}
	dialer := &kernel.Dialer{Dialer: net.Dialer{Timeout: connectWithin, Control: shortQueue}}
	options := []nats.Option{nats.SetCustomDialer(dialer), nats.Name(name), nats.Nkey(public, pair.Sign),
		nats.CustomInboxPrefix(inbox), nats.Timeout(connectWithin), nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) { // otherwise a request would only time out
				gone(notAllowed(err))
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) { gone(lost(nc.LastError())) })}
	if c.CA != "" {
		options = append(options, rootCA(c.CA))
	}
	nc, err := nats.Connect(c.URL, options...)
	switch {
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("%s: %w", c.URL, ErrUnknownKey)
	case !wait && (errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || os.IsTimeout(err)):
		return nil, fmt.Errorf("%s: %w (%w); is edgegauge-hub running there?", c.URL, errSilent, err)
	case !wait:
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	return nats.Connect(c.URL, append(options, nats.RetryOnFailedConnect(true))...)
}

// notAllowed is the error of what the hub does not let a key do.
func notAllowed(err error) error { return fmt.Errorf("%w: it may not do this: %w", ErrUnknownKey, err) }

// shortQueue keeps what waits to be sent to a chunk and little more. On a slow line the beats of a bench would
// otherwise wait behind megabytes of its results, and it would seem silent.
func shortQueue(_, _ string, c syscall.RawConn) error {
	var err error
	set := func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, chunk/8) }
	if err := c.Control(set); err != nil {
		return err
	}
	return err
}

// lost says why a connection has ended for good.
func lost(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) {
		return ErrUnknownKey
	}
	return err
}

// benchOf is the bench that a subject belongs to: the hub lets nobody else publish there.
func benchOf(subject, prefix string) (string, bool) {
	name, ok := strings.CutPrefix(subject, prefix)
	return name, ok && admit.CheckName(name) == nil
}

// until runs do in a context that ends with an error of its own, too.
func until(ctx context.Context, end context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(end, func() { cancel(context.Cause(end)) })
	return joined, func() { stop(); cancel(nil) }
}

// whileConnected is a context that ends when the connection is lost, even if it comes back at once: a hub that was
// started again neither acknowledges nor sends what the one before it had begun.
func whileConnected(ctx context.Context, nc *nats.Conn) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	lost := nc.StatusChanged(nats.RECONNECTING)
	go func() {
		select {
		case <-lost:
			cancel(nats.ErrDisconnected)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		nc.RemoveStatusListener(lost)
	}
}

// stalled is for how long nothing of a result may arrive: a hub that was lost in the midst neither sends nor
// acknowledges the rest, ever. A chunk may take 10 s (uploadRate), and so a question behind it.
const stalled = 30 * time.Second

// errStalled is that nothing arrived any more.
var errStalled = errors.New("the hub takes or sends no more of it")

// whileArriving ends when arrived has not been called for so long, or stop has.
func whileArriving(ctx context.Context, most time.Duration) (_ context.Context, arrived, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	over := time.AfterFunc(most, func() { end(errStalled) })
	return ctx, func() { over.Reset(most) }, func() { over.Stop(); end(nil) }
}
