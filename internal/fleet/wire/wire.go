// Package wire joins a fleet's coordinator and workers over NATS. What a bench is to do
// is a value of its own in a bucket; what it measured lies in a bucket of its own as
// objects named by their content. The hub may be emptied at any time: both ends make
// again what they find missing.
//
// A bench's key lets it read its own order, publish its own beats and results, and use
// its own bucket of objects, and nothing else (Permissions). The package has the client
// only; the server is package hub.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/fleet"
)

const (
	assignBucket   = "assign"
	alivePrefix    = "fleet.alive."
	resultPrefix   = "fleet.result."
	drainPrefix    = "fleet.drain."
	conductSubject = "fleet.conduct"
	objectPrefix   = "raw_"
	chunk          = 1 << 20 // B; the library's 128 KiB take four times as long where every write is synced
	mostBeat       = 64 << 10
	MostPayload    = 8 << 20 // B of a message, as the hub is told
	connectWithin  = 5 * time.Second
)

// inbox is where a bench is answered. Each has its own, or one could read another's.
func inbox(bench string) string { return "_INBOX_" + bench }

func assignSubject(bench string) string { return "$KV." + assignBucket + "." + bench }

// orderSubject asks the hub for a bench's order.
func orderSubject(bench string) string {
	return "$JS.API.DIRECT.GET.KV_" + assignBucket + "." + assignSubject(bench)
}

// Permissions are the subjects that a bench may publish to and subscribe to.
func Permissions(bench string) (publish, subscribe []string) {
	raw := objectPrefix + bench
	publish = []string{alivePrefix + bench, resultPrefix + bench, orderSubject(bench), "$O." + raw + ".>"}
	for _, call := range []string{"STREAM.INFO", "STREAM.PURGE", "STREAM.MSG.GET", "DIRECT.GET"} {
		publish = append(publish, "$JS.API."+call+".OBJ_"+raw)
	}
	publish = append(publish, "$JS.API.DIRECT.GET.OBJ_"+raw+".>", "$JS.API.CONSUMER.CREATE.OBJ_"+raw+".>")
	return publish, []string{inbox(bench) + ".>", assignSubject(bench)}
}

// Keys are who a hub admits: public keys.
type Keys struct {
	Coordinator string            `json:"coordinator"`
	Benches     map[string]string `json:"benches"` // by name
}

// Credentials are what one end needs to reach a hub. They hold a secret.
type Credentials struct {
	URL   string `json:"url"`
	Bench string `json:"bench,omitempty"` // empty: the coordinator's
	Seed  string `json:"seed"`            // private
	CA    string `json:"ca,omitempty"`    // PEM of who signed the hub's certificate; empty: the system knows
}

// benchName is what a bench may be called: it is part of subjects, and of names of
// folders.
var benchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// CheckName refuses what cannot be a bench's name.
func CheckName(name string) error {
	if !benchName.MatchString(name) {
		return fmt.Errorf("bench %.80q: write 1 to 63 letters, digits, - and _, the first a letter or a digit", name)
	}
	return nil
}

// NewKey draws a pair of keys.
func NewKey() (public, seed string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	secret, err := pair.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = pair.PublicKey()
	return public, string(secret), err
}

// ReadCredentials reads a file of credentials, which only its owner may read.
func ReadCredentials(file string) (Credentials, error) {
	var c Credentials
	info, err := os.Stat(file)
	if err != nil {
		return c, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return c, fmt.Errorf("%s: others may read this secret; run: chmod 600 %[1]s", file)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Bench != "" {
		err = CheckName(c.Bench)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w; recreate it with edgegauge benches add", file, err)
	}
	return c, nil
}

// Write writes credentials to a file that only its owner may read.
func (c Credentials) Write(file string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
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
	name := c.Bench
	if name == "" {
		name = "coordinator"
	}
	options := []nats.Option{nats.Name(name), nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix(inbox(name)),
		nats.Timeout(connectWithin), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) { // otherwise a request would only time out
				gone(fmt.Errorf("%w: it may not do this: %w", ErrUnknownKey, err))
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
	case !wait:
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	return nats.Connect(c.URL, append(options, nats.RetryOnFailedConnect(true))...)
}

// lost says why a connection has ended for good.
func lost(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) {
		return ErrUnknownKey
	}
	return err
}

// objectName is where a file of a task lies in its bench's bucket: a name is never used
// twice, so that nobody overwrites what another has written.
func objectName(t fleet.Task, f fleet.File) string {
	return fmt.Sprintf("%s/%d-%d/%s", t.Run, t.Block, t.Attempt, f.SHA256)
}

// benchOf is the bench that a subject belongs to: the hub lets nobody else publish there.
func benchOf(subject, prefix string) (string, bool) {
	name, ok := strings.CutPrefix(subject, prefix)
	return name, ok && benchName.MatchString(name)
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
