package study

import (
	"errors"
	"strings"
	"testing"
)

// A board may be named by an IPv6 address, which stands between brackets in a URL, also in results that are read again
// without a vocabulary. No other name has brackets.
func TestBoardsWithIPv6Addresses(t *testing.T) {
	const board = "ssh://pi@[2001:db8::7]:22/tmp"
	testbeds := Vocabulary{Board: func(name string) error {
		if strings.Contains(name, "fe80") {
			return errors.New("it is link-local")
		}
		return nil
	}}
	for _, tt := range []struct {
		v           Vocabulary
		study, want string
	}{
		{testbeds, "server: {device: '" + board + "'}", ""},
		{Vocabulary{}, "server: {device: '" + board + "'}", ""},
		{testbeds, "factors: {server.device: ['" + board + "', local]}\nexclude: [{server.device: local}]", ""},
		{testbeds, "server.device: 'ssh://pi@[fe80::1%eth0]'", "s.yaml:4:16: no device; it is link-local"},
		{testbeds, "server.device: '[2001:db8::7]'", `"[2001:db8::7]" is not a name`},
		{testbeds, "server.device: 'ssh://pi@[2001:db8::7]\"'", "is not a name"},
		{testbeds, "link: 'a[b]'", "is not a name"},
	} {
		s, err := Parse("s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+tt.study+"\n"), tt.v)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.study, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		for setup := range s.Setups() {
			if setup.Server.Device != board {
				t.Errorf("%s: got %s", tt.study, setup.Server.Device)
			}
		}
	}
}
