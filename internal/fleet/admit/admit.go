// Package admit says whom a fleet's hub admits, and to which subjects: what hub and clients
// must agree on. The hub's program needs nothing else of a fleet.
package admit

import (
	"crypto/tls"
	"fmt"

	"github.com/nats-io/nkeys"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
)

// Names at the hub.
const (
	AssignBucket   = "assign"        // of the orders
	ObjectPrefix   = "raw_"          // of a bench's bucket of objects
	AlivePrefix    = "fleet.alive."  // of subjects: the bench follows
	ResultPrefix   = "fleet.result." // likewise
	DrainPrefix    = "fleet.drain."  // likewise
	ConductSubject = "fleet.conduct"
	JoinPrefix     = "fleet.join." // the bench that is spoken to follows, and who speaks
)

// MostPayload is how many bytes a message may have.
const MostPayload = 8 << 20

// Inbox is where a bench is answered. Each has its own, or one could read another's.
func Inbox(bench string) string { return "_INBOX_" + bench }

// CoordinatorInbox is where the coordinator is answered: no bench has such a name.
const CoordinatorInbox = "_INBOX__coordinator"

// AssignSubject is where a bench's order is written.
func AssignSubject(bench string) string { return "$KV." + AssignBucket + "." + bench }

// JoinSubject is where a bench speaks to another that it measures with.
func JoinSubject(to, from string) string { return JoinPrefix + to + "." + from }

// Asker is who asks benches, as another that speaks to them would: no bench has such a name.
const Asker = "_coordinator"

// OrderSubject asks the hub for a bench's order.
func OrderSubject(bench string) string {
	return "$JS.API.DIRECT.GET.KV_" + AssignBucket + "." + AssignSubject(bench)
}

// Permissions are the subjects that a bench may publish to and subscribe to.
func Permissions(bench string) (publish, subscribe []string) {
	raw := ObjectPrefix + bench
	publish = []string{AlivePrefix + bench, ResultPrefix + bench, OrderSubject(bench), "$O." + raw + ".>",
		JoinSubject("*", bench)}
	for _, call := range []string{"STREAM.INFO", "STREAM.PURGE", "STREAM.MSG.GET", "DIRECT.GET"} {
		publish = append(publish, "$JS.API."+call+".OBJ_"+raw)
	}
	publish = append(publish, "$JS.API.DIRECT.GET.OBJ_"+raw+".>")
	return publish, []string{Inbox(bench) + ".>", AssignSubject(bench), JoinSubject(bench, "*")}
}

// mostPEM is how many bytes a file of a certificate or key may have.
const mostPEM = 1 << 20

// KeyPair reads a server's certificate and key. Its errors name the file.
func KeyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := kernel.ReadFile(cert, mostPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := kernel.ReadFile(key, mostPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", cert, key, err)
	}
	return pair, err
}

// MostKeys is how many bytes a file of Keys may have.
const MostKeys = 16 << 20

// Keys are who a hub admits: public keys.
type Keys struct {
	Coordinator string            `json:"coordinator"` // an nkey, U…
	Benches     map[string]string `json:"benches"`     // by name
}

// benchName is what a bench may be called, in 63 characters: it is part of subjects, and of names of
// folders.
var benchName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// CheckName refuses what cannot be a bench's name.
func CheckName(name string) error {
	if len(name) > 63 || !benchName().MatchString(name) {
		return fmt.Errorf("bench %.80q: write 1 to 63 letters, digits, - and _, the first a letter or a digit", name)
	}
	return nil
}

// PublicKey is the public key of a seed.
func PublicKey(seed string) (string, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", err
	}
	return pair.PublicKey()
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
