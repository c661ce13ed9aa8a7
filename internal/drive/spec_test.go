package drive

import "testing"

// Where a server listens needs neither its credentials nor the length of its answer.
func TestAddressNeedsTheURLOnly(t *testing.T) {
	for _, tt := range []struct {
		url, want string
		tcp       bool
	}{
		{"coaps://127.0.0.1:7/x", "127.0.0.1:7", false},
		{"udp://127.0.0.1:7", "127.0.0.1:7", false},
		{"tcp://[::1]:7", "[::1]:7", true},
		{"mqtts://127.0.0.1", "127.0.0.1:8883", true},
		{"coap://127.0.0.1", "127.0.0.1:5683", false},
	} {
		if got, tcp, err := (Spec{URL: tt.url}).Address(); got != tt.want || tcp != tt.tcp || err != nil {
			t.Errorf("%s: got %s %v %v", tt.url, got, tcp, err)
		}
	}
	for _, url := range []string{"http://", "udp://127.0.0.1", "http://127.0.0.1:0", "http://[::1"} {
		if got, _, err := (Spec{URL: url}).Address(); err == nil {
			t.Errorf("%s: got %s", url, got)
		}
	}
}
