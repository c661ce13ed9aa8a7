package codec

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

func TestMediaTypes(t *testing.T) {
	for _, enc := range append(Encodings(), Compact()...) {
		for _, response := range []bool{false, true} {
			if m := enc.MediaType(service.Sort, response); !enc.Takes(m) {
				t.Errorf("%s does not take its own %q", enc, m)
			}
		}
	}
	if got, want := SOAP12.MediaType(service.Sort, false),
		`application/soap+xml; charset=utf-8; action="urn:edgegauge:services:1/sort"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Action(service.IO), "urn:edgegauge:services:1/io"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for header, want := range map[string]bool{
		"Text/XML": true, "text/xml ; Charset=\"UTF-8\"": true, "text/xml;a=b; charset=us-ascii": true,
		"": false, "text/xmls": false, "text/xml; charset=iso-8859-1": false, "application/xml": false,
		"application/soap+xml": false,
	} {
		if got := SOAP11.Takes(header); got != want {
			t.Errorf("soap11 takes %q: %v, want %v", header, got, want)
		}
	}
	for enc, want := range map[Encoding]uint16{XML: 41, JSON: 50, CBOR: 60, MsgPack: 42, Protobuf: 42, Text: 42,
		EXI: 47, EXISchemaCompressed: 47, SOAP12EXI: 47, FastInfoset: 42, XMLGzip: 42, SOAP12Gzip: 42,
		SOAP12FastInfoset: 42} {
		if got, ok := enc.ContentFormat(); got != want || !ok {
			t.Errorf("%s: content format %d, %v, want %d", enc, got, ok, want)
		}
	}
	if _, ok := Encoding("asn1").ContentFormat(); ok {
		t.Error("what is no encoding has no content format")
	}
}

// Base64 in XML may be broken by XML's white space (XML Schema, part 2, section 3.2.16), not by Unicode's.
func TestBase64IsBrokenByWhiteSpace(t *testing.T) {
	for text, want := range map[string]string{"QUJD": "ABC", " QU\tJD\r\nRA= = ": "ABCD", "\u00a0QUJD": "",
		"QUJD \u00a0": "", "QUJD \u0085RUZH": "", "QUJD \u2003RUZH": ""} {
		var m service.Message
		err := Decode(XML, []byte(`<io xmlns="urn:edgegauge:services:1"><data>`+text+`</data></io>`), service.IO, false, &m)
		if string(m.Data) != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, m.Data, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	if e, err := Parse("cbor"); e != CBOR || err != nil {
		t.Errorf("got %q, %v", e, err)
	}
	if _, err := Parse("asn1"); err == nil || !strings.Contains(err.Error(),
		`unknown encoding "asn1"; available: xml, json,`) {
		t.Errorf("got %v, want the encodings there are", err)
	}
}

func TestFaultOf(t *testing.T) {
	var m service.Message
	err := Decode(XML, []byte("<a>"), service.Echo, false, &m)
	if want := "xml: byte 3: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	if f := FaultOf(err); f.Code != Sender || f.Reason != err.Error() {
		t.Errorf("got %v, want the sender's", f)
	}
	if f := FaultOf(&Fault{MustUnderstand, "x"}); f.Code != MustUnderstand || f.Status(SOAP12) != 500 {
		t.Errorf("got %v, want it as it was, with 500", f)
	}
	sender := FaultOf(errors.New("x"))
	if sender.Status(SOAP11) != 500 || sender.Status(SOAP12) != 400 {
		t.Errorf("sender goes with %d and %d, want 500 and 400", sender.Status(SOAP11), sender.Status(SOAP12))
	}
}

// Reused messages and buffers cost no memory, in any encoding.
func TestNoAllocation(t *testing.T) {
	for _, enc := range Encodings() {
		for _, name := range service.Names() {
			req, resp := exchange(t, name, 7, 100, service.Width{})
			var got service.Message
			var b []byte
			for _, response := range []bool{false, true} {
				work := func() {
					b = Append(enc, b[:0], name, response, side(response, req, resp))
					if err := Decode(enc, b, name, response, &got); err != nil {
						t.Fatal(err)
					}
				}
				work()
				most := 0.0
				if enc == EXISchemaCompressed || enc == SOAP12EXISchemaCompressed {
					most = 20 // compress/flate makes the tables of each of its blocks anew
				}
				if n := testing.AllocsPerRun(50, work); n > most {
					t.Errorf("%s %s response=%v: %v allocations, want 0", enc, name, response, n)
				}
			}
		}
	}
}
