package drive

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// shown are the options of a URI that a request has.
func shown(m *coap.Message) (options []string) {
	for _, o := range m.Options {
		switch o.Number {
		case coap.URIHost, coap.URIPort, coap.URIPath, coap.URIQuery:
			options = append(options, fmt.Sprintf("%d=%s", o.Number, o.Value))
		}
	}
	return options
}

// What RFC 7252, section 6.4, makes of a URI. A reserved character that is percent-encoded is part of a segment or
// an argument, and separates nothing.
func TestOptionsOfACoAPAddress(t *testing.T) {
	for uri, want := range map[string][]string{
		"coap://127.0.0.1/k%C3%BCche":             {"11=küche"},
		"coap://127.0.0.1/küche":                  {"11=küche"},
		"coap://127.0.0.1/a%2Fb":                  {"11=a/b"},
		"coap://127.0.0.1/a%20b/c%2Fd?x=%26y&z=1": {"11=a b", "11=c/d", "15=x=&y", "15=z=1"},
		"coap://127.0.0.1/a+b?c+d":                {"11=a+b", "15=c+d"},
		"coap://127.0.0.1":                        nil,
		"coap://127.0.0.1/":                       nil,
		"coap://[2001:db8::1]/a/":                 {"11=a", "11="},
		"coap://[fe80::1%25lo]/a":                 {"11=a"},
		"coap://Sensor.Example:7/a":               {"3=sensor.example", "11=a"},
		"coap+tcp://localhost/b/c?rt=x&&a=b":      {"3=localhost", "11=b", "11=c", "15=rt=x", "15=", "15=a=b"},
	} {
		m, err := CoAPRequest(Spec{URL: uri}, nil)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		} else if got := shown(m); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
	for uri, want := range map[string]string{
		"coap://127.0.0.1/?a=%zz":                          "is not percent-encoded; write % as %25",
		"coap+tcp://127.0.0.1/" + strings.Repeat("a", 256): "has 256 bytes; CoAP takes at most 255",
	} {
		if err := (Spec{URL: uri}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", uri, err, want)
		}
	}
}

// libcoap, which was written by others, asks for the same resource by the same options.
func TestLibcoapMakesTheSameOptionsOfAnAddress(t *testing.T) {
	program, err := exec.LookPath("coap-client-notls")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("sudo apt-get install libcoap3-bin")
	}
	for _, rest := range []string{"/k%C3%BCche", "/a%2Fb", "/a%20b/c%2Fd?x=%26y&z=1", "/a+b", ""} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			uri := fmt.Sprintf("coap://%s:%d%s", host, l.LocalAddr().(*net.UDPAddr).Port, rest)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			client := exec.CommandContext(ctx, program, "-N", "-B", "1", uri)
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 2048)
			l.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := l.Read(b)
			cancel()
			client.Wait()
			l.Close()
			var theirs coap.Message
			if err != nil || theirs.Decode(b[:n]) != nil {
				t.Fatalf("%s: %x, %v", uri, b[:n], err)
			}
			ours, err := CoAPRequest(Spec{URL: uri, Method: "GET"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			// The port is that of the datagram's destination, and need not be said (section 5.10.1).
			want := slices.DeleteFunc(shown(&theirs), func(o string) bool { return strings.HasPrefix(o, "7=") })
			if got := shown(ours); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, libcoap has %q", uri, got, want)
			}
		}
	}
}
