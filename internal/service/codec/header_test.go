package codec

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

func TestDecodeEnvelopeAsksTheHeaderReader(t *testing.T) {
	const must = ` s:mustUnderstand="true"`
	stop := errors.New("stop")
	for _, tt := range []struct{ header, want string }{
		{`<k:text` + must + `>a</k:text>`, ""},                                      // read whole
		{`<k:tree` + must + `><k:a><k:b/></k:a></k:tree>`, ""},                      // understood, but left to be skipped
		{`<k:empty` + must + `/><k:text>b</k:text>`, ""},                            // left, and another after it
		{`<k:strange` + must + `><k:text>c</k:text></k:strange>`, "MustUnderstand"}, // not understood
		{`<k:strange><k:text>c</k:text></k:strange>`, ""},                           // need not be
		{`<k:strange s:role="urn:other"` + must + `/>`, ""},                         // not for us
		{`<k:stop/>`, "stop"},
		{`<k:text><k:b/></k:text>`, "an element instead of text"},
	} {
		b := `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:k="urn:k"><s:Header>` + tt.header +
			`</s:Header><s:Body><echo xmlns="urn:edgegauge:services:1"><text>hello</text></echo></s:Body></s:Envelope>`
		var m service.Message
		err := DecodeEnvelope(SOAP12, []byte(b), service.Echo, false, &m, func(p *xmlstream.Parser) (bool, error) {
			switch string(p.Name().Local) {
			case "text":
				_, err := p.Content()
				return true, err
			case "tree", "empty":
				return true, nil
			case "stop":
				return false, stop
			}
			return false, nil
		})
		switch {
		case tt.want == "" && (err != nil || string(m.Text) != "hello"):
			t.Errorf("%s: got %q, %v", tt.header, m.Text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %s", tt.header, err, tt.want)
		}
	}
}
