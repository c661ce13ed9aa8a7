package reference

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// A server that shares its CPU with the client has a second P, or its RTT has two
// states.
func TestServersHaveTwoPs(t *testing.T) {
	for _, tt := range []struct{ name, encoding, transport string }{
		{"rest-json", "json", "http"}, {"soap", "soap12", "http"}, {"coap-json", "json", "coap"}, {"mqtt", "json", mqtt5},
	} {
		before := runtime.GOMAXPROCS(1)
		line := fmt.Sprintf(`{"type":"serve","protocol":1,"service":"echo","encoding":"%s","security":"none",`+
			`"transport":"%s","host":"127.0.0.1"}`+"\n", tt.encoding, tt.transport)
		var out, log strings.Builder
		status := Main([]string{tt.name, "serve"}, strings.NewReader(line), &out, io.MultiWriter(&log, t.Output()))
		got := runtime.GOMAXPROCS(before)
		if status != 0 || !strings.Contains(out.String(), `"ready"`) {
			t.Errorf("%s: status %d, %s%s", tt.name, status, &out, &log)
		}
		if got < 2 {
			t.Errorf("%s: %d Ps", tt.name, got)
		}
	}
}
