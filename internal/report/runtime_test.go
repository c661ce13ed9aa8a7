package report

import (
	"slices"
	"testing"
)

// What both sides ran on is said once; what differs is said of each.
func TestOnce(t *testing.T) {
	for _, tt := range []struct{ lines, want []string }{
		{[]string{"client: JVM 17, -Xmx1", "server: JVM 17, -Xmx1"}, []string{"client and server: JVM 17, -Xmx1"}},
		{[]string{"client: JVM 17, -Xmx1", "server: JVM 17, -Xmx2"},
			[]string{"client: JVM 17, -Xmx1", "server: JVM 17, -Xmx2"}},
		{[]string{"server: JVM 17"}, []string{"server: JVM 17"}},
		{[]string{"client: JVM 17", "client: JVM 21"}, []string{"client: JVM 17", "client: JVM 21"}},
	} {
		if got := once(tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.lines, got, tt.want)
		}
	}
}
