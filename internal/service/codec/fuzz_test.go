package codec

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

func FuzzXML(f *testing.F)      { fuzzDecode(f, XML) }
func FuzzJSON(f *testing.F)     { fuzzDecode(f, JSON) }
func FuzzCBOR(f *testing.F)     { fuzzDecode(f, CBOR) }
func FuzzMsgPack(f *testing.F)  { fuzzDecode(f, MsgPack) }
func FuzzProtobuf(f *testing.F) { fuzzDecode(f, Protobuf) }
func FuzzSOAP11(f *testing.F)   { fuzzDecode(f, SOAP11) }
func FuzzSOAP12(f *testing.F)   { fuzzDecode(f, SOAP12) }
func FuzzText(f *testing.F)     { fuzzDecode(f, Text) }
func FuzzEXI(f *testing.F)      { fuzzDecode(f, EXISchema) }
func FuzzSOAPEXI(f *testing.F)  { fuzzDecode(f, SOAP12EXISchema) }
func FuzzEXIPacked(f *testing.F) {
	f.Add(byte(0), false, deflated(append([]byte{10}, make([]byte, 400)...), make([]byte, 400)))
	fuzzDecode(f, EXISchemaCompressed)
}

// fuzzDecode looks for a panic; and what a decoder takes, the encoder must
// write so that it is read as the same again. The golden files are the seeds, and
// in testdata/fuzz real messages of other makes, as
// stacks/reference/testdata/capture.py takes them.
func fuzzDecode(f *testing.F, enc Encoding) {
	for _, folder := range []string{"", "variants", "refused"} {
		for _, v := range vectors(f, folder, 100) {
			if v.enc == enc {
				f.Add(index(v.service), v.response, v.bytes)
			}
		}
	}
	if enc.Syntax() == EXIBits {
		for _, v := range exiVectors(f) {
			if v.enc == enc {
				f.Add(index(v.service), v.response, v.bytes)
				f.Add(index(v.service), v.response, v.bytes[:len(v.bytes)*2/3])
			}
		}
		for _, x := range hostileEXI() {
			f.Add(index(x.name), x.response, x.b[:min(len(x.b), 1000)])
		}
	}
	f.Fuzz(func(t *testing.T, which byte, response bool, b []byte) {
		name := service.Names()[which%8]
		var first, second service.Message
		before := bytes.Clone(b)
		if err := DecodeWithin(enc, b, name, response, &first, 1<<20); err != nil {
			if err.Error() == "" || FaultOf(err) == nil {
				t.Error("an error without words")
			}
			return
		}
		if !bytes.Equal(b, before) {
			t.Error("the decoder wrote into its input")
		}
		if enc == JSON && !json.Valid(b) {
			t.Errorf("took what is not JSON: %q", b)
		}
		written := Append(enc, nil, name, response, &first)
		clear(b) // the message must not lie in it
		if err := Decode(enc, written, name, response, &second); err != nil {
			t.Fatalf("%v in our own %q", err, written)
		}
		// Protobuf, which has been checked elsewhere, compares them.
		x, y := Append(Protobuf, nil, name, response, &first), Append(Protobuf, nil, name, response, &second)
		if !bytes.Equal(x, y) {
			t.Errorf("%q was read as %q, then as %q", written, x, y)
		}
	})
}

func index(name service.Name) byte {
	for i, n := range service.Names() {
		if n == name {
			return byte(i)
		}
	}
	return 0
}

// FuzzRoundTrip makes messages no seed makes: decode of encode is identity.
func FuzzRoundTrip(f *testing.F) {
	f.Add("<&>\r\n\t \x00é😀", int64(-5), int32(math.MinInt32), []byte{0, 255}, true)
	f.Add("", int64(service.MaxHundredths), int32(-1), []byte(nil), false)
	f.Fuzz(func(t *testing.T, text string, k int64, i int32, data []byte, yes bool) {
		k %= service.MaxHundredths + 1
		m := service.Message{
			Ints: []int32{i, 0, -i}, Hundredths: []int64{k, -k, 0}, Total: k, Celsius: -k, Time: k << 13, Text: []byte(text),
			Data: data, Digest: data,
			Strings: [][]byte{[]byte(text), nil, []byte(text)}, Accepted: yes, Sequence: i,
			Record: service.Record{ID: []byte(text), Status: i, Sequence: -i, Temperature: k, Pressure: -k, Running: yes,
				Message: []byte(text)},
		}
		for _, enc := range Encodings() {
			isXML := enc.Syntax() == XMLText || enc.Syntax() == EXIBits
			if !utf8.ValidString(text) || isXML && !xmlCharacters(text) {
				continue
			}
			for _, name := range service.Names() {
				for _, response := range []bool{false, true} {
					b := Append(enc, nil, name, response, &m)
					var got service.Message
					if err := Decode(enc, b, name, response, &got); err != nil {
						t.Fatalf("%v in our own %q", err, b)
					}
					x, y := Append(Protobuf, nil, name, response, &m), Append(Protobuf, nil, name, response, &got)
					if !bytes.Equal(x, y) {
						t.Errorf("%q is read as %q, was %q", b, y, x)
					}
				}
			}
		}
	})
}

// xmlCharacters is production [2] of XML 1.0, written once more.
func xmlCharacters(s string) bool {
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return true
}
