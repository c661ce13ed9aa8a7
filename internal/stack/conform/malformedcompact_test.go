package conform

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// Bad requests are only as bad as they say if the text, and the length before
// it, stand in the golden file where they are looked for.
func TestCompactBads(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, enc := range codec.Compact() {
		for _, name := range []service.Name{service.Echo, service.Monitor} {
			good, says, ok := compactMessage(enc, name)
			if !ok {
				t.Errorf("%s %s: there is no message", enc, name)
				continue
			}
			told := append([]byte{byte(len(says) + 2)}, says...)
			switch e := string(enc); {
			case enc.Gzipped():
			case strings.HasSuffix(e, "fastinfoset"):
				if at := bytes.Index(good, []byte(says)); at < 3 || good[at-1] != 0x90|byte(len(says)-1) && good[at-2] != 0x92 {
					t.Errorf("%s %s: %q has no length of characters before it: % x", enc, name, says, good)
				}
			case strings.HasSuffix(e, "compressed"):
				plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(good[1:])))
				if err != nil || !bytes.Contains(plain, told) {
					t.Errorf("%s %s: % x is not in % x: %v", enc, name, told, plain, err)
				}
			default:
				if at := strings.Index(bitsOf(good), bitsOf(told)); at < 8 || bytes.Equal(claim(good, says), good) {
					t.Errorf("%s %s: %q with its length is at bit %d", enc, name, says, at)
				}
			}
			for _, b := range compactBads(enc, good, says) {
				if bytes.Equal(b.body, good) && b.contentType == "" {
					t.Errorf("%s %s: %s is a good message", enc, name, b.what)
				}
			}
		}
	}
}
