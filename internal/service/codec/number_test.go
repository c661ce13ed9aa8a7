package codec

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// Rounding looks at the digits written: halves go away from zero, and what a
// double cannot tell from a half is no half.
func TestHundredths(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "0.005": 1, "-0.005": -1, "0.00499999999999999999999999": 0, "1.005": 101, "-1.005": -101,
		"1.00499999999999999999999": 100,
		"2.675":                     268, "0.145": 15, "12.3": 1230, "12.345": 1235, "12.344999": 1234, "99.995": 10000,
		"0.0": 0, "0.00049": 0,
		"10000000000000.004": service.MaxHundredths, "-10000000000000": -service.MaxHundredths, "000123.45": 12345,
	} {
		both(t, text, want)
	}
	for text, want := range map[string]int64{ // exponents, JSON only
		"1e2": 10000, "1E+2": 10000, "12345e-2": 12345, "5e-3": 1, "-5e-3": -1, "4.9e-3": 0, "0e999999999999": 0,
		"1e-999999999999": 0, "1.5e-2": 2,
		"0.000000000000000001e20": 10000, "1000000000000000e-5": 1000000000000, "1e13": service.MaxHundredths,
		"49e-4": 0, "50e-4": 1,
	} {
		if got, err := fromJSON(text); err != nil || got != want {
			t.Errorf("json %s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"10000000000000.005", "-10000000000000.01", "1e14", "92233720368547758.08",
		strings.Repeat("9", 400), "1e999999999999"} {
		if got, err := fromJSON(text); err == nil {
			t.Errorf("json %s: got %d, want out of range", text, got)
		}
	}
	for _, text := range []string{"", ".", "+", "-", "1.2.3", "--1", "1e2", "INF", "NaN", "1 2", "0x1", "１"} {
		if got, err := fromXML(text); err == nil {
			t.Errorf("xml %q: got %d, want an error", text, got)
		}
	}
	// xs:decimal only
	for text, want := range map[string]int64{"+1.5": 150, " 1.5\n": 150, "1.": 100, ".5": 50, "-.005": -1} {
		if got, err := fromXML(text); err != nil || got != want {
			t.Errorf("xml %q: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func both(t *testing.T, text string, want int64) {
	t.Helper()
	x, errX := fromXML(text)
	if errX != nil || x != want {
		t.Errorf("xml %s: got %d, %v, want %d", text, x, errX, want)
	}
	if len(text) > 1 && text[0] == '0' && text[1] == '0' {
		return // JSON has no leading zeros
	}
	if j, err := fromJSON(text); err != nil || j != want {
		t.Errorf("json %s: got %d, %v, want %d", text, j, err, want)
	}
}

func fromXML(text string) (int64, error) {
	var m service.Message
	err := Decode(XML, fmt.Appendf(nil, `<sumResponse xmlns="urn:edgegauge:services:1"><total>%s</total></sumResponse>`,
		text), service.Sum, true, &m)
	return m.Total, err
}

func fromJSON(text string) (int64, error) {
	var m service.Message
	err := Decode(JSON, fmt.Appendf(nil, `{"total":%s}`, text), service.Sum, true, &m)
	return m.Total, err
}

// FuzzScaled compares with math/big.
func FuzzScaled(f *testing.F) {
	f.Add(false, uint64(1005), uint8(3), int8(0))
	f.Add(true, uint64(1<<63), uint8(2), int8(0))
	f.Add(false, uint64(5), uint8(20), int8(17))
	f.Fuzz(func(t *testing.T, neg bool, mantissa uint64, places uint8, exp int8) {
		digits := fmt.Sprintf("%0*d", int(places)+1, mantissa)
		point := len(digits) - int(places)
		n := numeral{neg: neg, digits: []byte(digits[:point] + "." + digits[point:]), exp: int(exp)}
		got, exact, ok := n.scaled(2)

		ten := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, 0))), nil) }
		shift := int(exp) - int(places) + 2
		x := new(big.Rat).SetInt(new(big.Int).SetUint64(mantissa))
		x.Mul(x, new(big.Rat).SetFrac(ten(shift), ten(-shift)))
		up := new(big.Rat).Add(x, big.NewRat(1, 2))
		want := new(big.Int).Div(up.Num(), up.Denom())
		if neg {
			want.Neg(want)
		}
		if ok != want.IsInt64() || ok && (got != want.Int64() || exact != x.IsInt()) {
			t.Errorf("%v: got %d exact %v ok %v, want %s exact %v", n, got, exact, ok, want, x.IsInt())
		}
	})
}

// Every hundredth there is comes back from a double.
func TestDoubles(t *testing.T) {
	for _, k := range []int64{0, 1, 5, 12345, service.MaxHundredths, service.MaxHundredths - 1,
		service.MaxHundredths/3 + 1} {
		for i := range int64(1000) {
			for _, v := range []int64{k - i, i - k} {
				if got, ok := toHundredths(float64(v) / 100); (got != v || !ok) && v <= service.MaxHundredths {
					t.Errorf("%d came back as %d, %v", v, got, ok)
				}
			}
		}
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e13 + 0.01, -1e300, math.MaxFloat64} {
		if got, ok := toHundredths(x); ok {
			t.Errorf("%g is %d", x, got)
		}
	}
}

func TestHalfFloat(t *testing.T) {
	// RFC 8949, appendix A
	for h, want := range map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0x3e00: 1.5, 0x7bff: 65504, 0x0001: 5.960464477539063e-8, 0x0400: 0.00006103515625, 0xc400: -4,
	} {
		if got := halfFloat(h); got != want {
			t.Errorf("%04x: got %g, want %g", h, got, want)
		}
	}
}

// In protobuf what is absent is zero, whatever the message held before.
func TestProtobufAbsent(t *testing.T) {
	for _, name := range service.Names() {
		for _, response := range []bool{false, true} {
			req, resp := exchange(t, name, 7, 23, service.Width{})
			m := side(response, req, resp)
			if err := Decode(Protobuf, nil, name, response, m); err != nil {
				t.Fatal(err)
			}
			var zero service.Message
			if got, want := Append(JSON, nil, name, response, m),
				Append(JSON, nil, name, response, &zero); !bytes.Equal(got, want) {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
		}
	}
}

// What is unknown is read over, also where it is beyond what our own fields hold: these are the largest and the least
// integers of each encoding (MessagePack: uint 64 and int 64; RFC 8949, section 3.1: major types 0 and 1; RFC 8259 has
// none; protobuf: varints of 64 bits), and one that is cut is refused.
func TestUnknownIntegersMayBeOfAnySize(t *testing.T) {
	for _, x := range []struct {
		enc    Encoding
		before string // {"text": "a" and the key x
		values []string
		after  string
	}{
		{MsgPack, "\x82\xa4text\xa1a\xa1x", []string{"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
			"\xcf\x80\x00\x00\x00\x00\x00\x00\x00", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "\xce\xff\xff\xff\xff",
			"\xcd\xff\xff", "\xcc\xff", "\xd2\x80\x00\x00\x00", "\xd1\x80\x00", "\xd0\x80", "\xe0", "\x7f"}, ""},
		{CBOR, "\xa2dtextaaax", []string{"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "\x3b\xff\xff\xff\xff\xff\xff\xff\xff"}, ""},
		{JSON, `{"text":"a","x":`, []string{"18446744073709551615", "-99999999999999999999", "1e400"}, "}"},
		{Protobuf, "\x0a\x01a\x10", []string{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}, ""},
	} {
		for _, v := range x.values {
			var m service.Message
			b := x.before + v + x.after
			if err := Decode(x.enc, []byte(b), service.Echo, false, &m); err != nil || string(m.Text) != "a" {
				t.Errorf("%s %q: got %q, %v", x.enc, v, m.Text, err)
			}
			if err := Decode(x.enc, []byte(b[:len(b)-1]), service.Echo, false, &m); err == nil {
				t.Errorf("%s %q was taken without its end", x.enc, v)
			}
		}
	}
}
