package testbed

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// A message that the devices' client would refuse in each trial is refused before the first.
func TestDevicesWhoseMessageDoesNotFit(t *testing.T) {
	b := bed(t)
	for _, tt := range []struct{ settings, want string }{
		{"stack: reference/coap-xml\nsize: 20kB", "devices send at most 1024"},
		{"stack: reference/coap-xml\nsize: 500B\nsecurity: oscore", ""},
		{"stack: reference/coap-cbor\nsize: 900B\nsecurity: dtls-psk", ""},
		{"stack: reference/rest-json\nsize: 20kB\nsecurity: tls", ""},
		{"stack: reference/mqtt\nsize: 900B\nencoding: json", ""},
		{"stack: reference/floor-tcp\nsize: 900B", ""},
	} {
		text := "study: s\nservice: echo\ndevices: 5\nperiod: 1s\nduration: 1s\n" + tt.settings + "\n"
		p, err := b.Read(t.Context(), "s.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		found := b.Obstacles(t.Context(), p)
		if (found == nil) != (tt.want == "") || found != nil && !strings.Contains(found.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.settings, found, tt.want)
		}
	}
}

// Connections that do not fit are refused, with the number that does.
func TestConnectionsThatDoNotFit(t *testing.T) {
	setup := func(stack, connection string, n int) *study.Setup {
		return &study.Setup{Client: study.Side{Stack: stack}, Connection: connection,
			Population: study.Population{Devices: n}}
	}
	for _, tt := range []struct {
		name  string
		setup *study.Setup
		free  int
		want  string
	}{
		{"fits", setup("reference/mqtt", "keep-alive", 19_800), 1 << 20, ""},
		{"the server's", setup("reference/mqtt", "keep-alive", 19_801), 1 << 20, "take at most 19800 devices"},
		{"the machine's", setup("reference/floor-tcp", "keep-alive", 10_000), 10_200, "take at most 5000 devices"},
		{"one after the other", setup("reference/rest-json", "per-request", 100_000), 1 << 20, ""},
		{"without connections", setup("reference/coap-json", "keep-alive", 1_000_000), 1 << 20, ""},
		{"no devices", setup("reference/mqtt", "keep-alive", 0), 0, ""},
	} {
		what, advice := tooManyFiles(tt.setup, 20_000, tt.free)
		if (what == "") != (tt.want == "") || !strings.Contains(advice, tt.want) {
			t.Errorf("%s: got %q, %q, want %q", tt.name, what, advice, tt.want)
		}
	}
	if freeFiles() < 100 {
		t.Errorf("%d files are left", freeFiles())
	}
}
