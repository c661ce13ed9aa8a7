package testbed

import (
	"strings"
	"testing"
)

// A bench whose address is of the wrong IP version can measure no trial in which others drive its server, and says so
// before the first. One that only helps needs no address.
func TestBenchesThatOthersCannotReach(t *testing.T) {
	b := bed(t)
	const joint = "driven_from: 2\nduration: 1s\n"
	for _, tt := range []struct {
		study, address string
		helps          bool
		want           string
	}{
		{joint, "192.0.2.1", false, ""},
		{joint + "ip: ipv6", "2001:db8::1", false, ""},
		{joint + "ip: ipv6", "192.0.2.1", false, "the study asks for ipv6, but other benches reach this one at 192.0.2.1; " +
			"start its worker with another --address"},
		{joint, "", false, "which is not an address; start its worker with --address"},
		{joint + "ip: ipv6", "192.0.2.1", true, ""},
		{"duration: 1s", "", false, ""},
	} {
		p, _, err := b.ReadElsewhere(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+
			tt.study+"\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		s := &Station{Bed: b, Address: func() string { return tt.address }, helps: tt.helps}
		if got := s.obstacle(t.Context(), p); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s, reached at %q: got %q, want %q", tt.study, tt.address, got, tt.want)
		}
	}
}
