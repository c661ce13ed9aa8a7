package ssh

import (
	"crypto/ed25519"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	crypto "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// The key of a board that is named by an IPv6 address is found as ssh writes it, also hashed.
func TestKnownHostsOfAnIPv6Address(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, written string }{
		{"ssh://pi@[2001:db8::7]", "2001:db8::7"},
		{"ssh://pi@[2001:db8::7]:22", knownhosts.HashHostname("2001:db8::7")},
		{"ssh://pi@[2001:db8::7]:2222/tmp", "[2001:db8::7]:2222"},
		{"ssh://pi@[2001:db8::7]:2222", knownhosts.HashHostname("[2001:db8::7]:2222")},
		{"ssh://pi@[2001:db8::7]", "another,2001:db8::7"},
		{"ssh://pi@[2001:db8::7]", ""},
	} {
		target, err := ParseTarget(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "known_hosts")
		line := ""
		if tt.written != "" {
			line = fmt.Sprintf("%s %s", tt.written, crypto.MarshalAuthorizedKey(key))
		}
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		h.known = []string{file}
		check, algorithms, err := h.checkKey()
		if err != nil {
			t.Fatal(err)
		}
		err = check("", &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 22}, key)
		if known := tt.written != ""; (err == nil) != known || (len(algorithms) > 0) != known {
			t.Errorf("%s, written %q: got %v, algorithms %v", tt.name, tt.written, err, algorithms)
		}
		if err != nil && !strings.Contains(err.Error(), "accept it with: ssh pi@2001:db8::7 true") {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
