package conform

import (
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A lane keeps to its security while there is a combination of it, and takes then one that no lane has.
func TestLanesKeepToASecurity(t *testing.T) {
	var all []suite
	for _, w := range []stack.Wish{{Encoding: "xml", Security: "none"}, {Encoding: "xml", Security: "tls"},
		{Encoding: "json", Security: "none"}, {Encoding: "json", Security: "tls"}, {Encoding: "xml", Security: "wss-rsa"},
		{Encoding: "json", Security: "wss-rsa"}} {
		all = append(all, suite{wish: w})
	}
	q := newQueue(slices.Clone(all))
	var got []string
	for _, lane := range []int{0, 1, 1, 1, 0, 0, 1} {
		c, more := q.next(lane)
		if !more {
			got = append(got, "none left")
			continue
		}
		got = append(got, c.wish.Encoding+" "+c.wish.Security)
	}
	// the third time lane 1 has no tls left, the third time lane 0 nobody's security is left
	want := []string{"xml none", "xml tls", "json tls", "xml wss-rsa", "json none", "json wss-rsa", "none left"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
