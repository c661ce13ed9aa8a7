package coap

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Counts is what a server has seen since it was made.
type Counts struct {
	Requests        atomic.Int64 // handed to the handler
	Malformed       atomic.Int64 // datagrams that break the message format
	Refused         atomic.Int64 // requests answered with an error before the handler saw them
	Duplicates      atomic.Int64 // answered from memory or ignored
	Ignored         atomic.Int64 // unasked acknowledgements, strangers above a limit
	Separate        atomic.Int64 // responses sent apart from the acknowledgement
	Retransmissions atomic.Int64 // of those
	Expired         atomic.Int64 // transfers given up, idle or pushed out
	Notifications   atomic.Int64 // sent to observers, repetitions apart
	Replayed        atomic.Int64 // OSCORE: sequence number seen before, or too old to tell
	Unopened        atomic.Int64 // OSCORE: no context, tampered with, or malformed
}

// String says what was not simply answered, "3 malformed, 1 replayed"; it is
// empty if all was.
func (c *Counts) String() string {
	var b strings.Builder
	for _, k := range []struct {
		what string
		n    *atomic.Int64
	}{
		{"malformed", &c.Malformed}, {"refused", &c.Refused}, {"duplicates", &c.Duplicates}, {"ignored", &c.Ignored},
		{"transfers abandoned", &c.Expired},
		{"replayed under OSCORE", &c.Replayed}, {"not decrypted under OSCORE", &c.Unopened},
	} {
		if n := k.n.Load(); n > 0 {
			fmt.Fprintf(&b, ", %d %s", n, k.what)
		}
	}
	return strings.TrimPrefix(b.String(), ", ")
}
