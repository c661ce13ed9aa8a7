package drive

import (
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// A media type that has a content format of its own has the same one here and in
// the table of encodings.
func TestContentFormatsAreThoseOfTheEncodings(t *testing.T) {
	same := 0
	for _, r := range codec.Table {
		// Packed with gzip, a message is no longer of its media type.
		if want, ok := coapFormats[r.Name.MediaType(service.Echo, true)]; ok && r.Syntax != codec.Gzip {
			same++
			if coap.FormatOf(r.Format) != want {
				t.Errorf("%s: %d in the table of encodings, want that of %s", r.Name, r.Format, r.Media)
			}
		}
	}
	if same < 5 {
		t.Errorf("%d encodings have a media type that CoAP has a number for, want XML, JSON, CBOR, EXI and octets", same)
	}
}
