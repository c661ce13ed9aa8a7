package study

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestQuantities(t *testing.T) {
	type result struct {
		value        float64
		text, advice string
	}
	duration := func(s string) result { v, text, a := readDuration(s); return result{v.Seconds(), text, a} }
	ratio := func(s string) result { v, text, a := readRatio(s); return result{v, text, a} }
	size := func(s string) result { v, text, a := readSize(s); return result{float64(v), text, a} }
	bits := func(s string) result { v, text, a := readBitRate(s); return result{float64(v), text, a} }
	rate := func(s string) result { v, text, a := readRequestRate(s, 0); return result{v, text, a} }
	for _, c := range []struct {
		words string
		read  func(string) result
		in    string
		want  result
	}{
		{"Go's durations", duration, "20ms", result{0.02, "20ms", ""}},
		{"no empty parts", duration, "60s", result{60, "1m", ""}},
		{"nor of an hour", duration, "60m", result{3600, "1h", ""}},
		{"but ten minutes stay", duration, "600s", result{600, "10m", ""}},
		{"and twenty hours", duration, "20h", result{72000, "20h", ""}},
		{"zero needs no unit", duration, "0", result{0, "0s", ""}},
		{"any other number does", duration, "20", result{0, "", "give its unit, such as 20ms or 20s"}},
		{"longer than 292 years", duration, "5000000h", result{0, "", "write less than 2562047h"}},
		{"in parts", duration, "2562047h48m", result{0, "", "write less than 2562047h"}},
		{"no unit", duration, "5000000y", result{0, "", "write a duration such as 20ms, 1.5s or 10m"}},
		{"nothing goes backwards", duration, "-1s", result{0, "", "write a duration of 0 or more"}},

		{"a share", ratio, "0.05", result{0.05, "5%", ""}},
		{"percent", ratio, "5%", result{0.05, "5%", ""}},
		{"a blank before the sign", ratio, "5 %", result{0.05, "5%", ""}},
		{"exact where floats are not", ratio, "7%", result{0.07, "7%", ""}},
		{"exponents", ratio, "1e-4", result{1e-4, "0.01%", ""}},
		{"one is all", ratio, "1", result{1, "100%", ""}},
		{"percent without its sign", ratio, "5", result{0, "", "write 0.05 or 5% for 5 %"}},
		{"above all", ratio, "101%", result{0, "", "write a share between 0 and 1, or between 0% and 100%"}},
		{"an endless exponent", ratio, "1e999999999", result{0, "", "write a share such as 0.05 or 5%"}},

		{"KB is kB, 1000 B", size, "100KB", result{1e5, "100kB", ""}},
		{"KiB is 1024 B", size, "64KiB", result{65536, "64KiB", ""}},
		{"the shorter unit", size, "131072000B", result{131072000, "125MiB", ""}},
		{"the decimal one of two", size, "1024000B", result{1024000, "1024kB", ""}},
		{"a tenth, exactly", size, "0.1kB", result{100, "100B", ""}},
		{"no parts of a byte", size, "0.0001kB",
			result{0, "", "write a size such as 512B, 100kB (1000 B each) or 64KiB (1024 B each)"}},
		{"a unit is needed", size, "100", result{0, "", "give its unit: 100B, 100kB (1000 B each) or 100KiB (1024 B each)"}},
		{"more than anybody has", size, "999999999999999999GB",
			result{0, "", "write at most 1000000GB"}},
		{"of more digits than anybody reads", size, "99999999999999999999999GB", result{0, "", "write at most 1000000GB"}},
		{"the most", size, "1048576GiB", result{1 << 50, "1048576GiB", ""}},
		{"one more", size, "1125899906842625B", result{0, "", "write at most 1000000GB"}},
		{"of a unit that is none", size, "99999999999999999999999TB",
			result{0, "", "write a size such as 512B, 100kB (1000 B each) or 64KiB (1024 B each)"}},

		{"bit/s", bits, "9600bit", result{9600, "9600bit", ""}},
		{"k is 1000", bits, "60kbit", result{60e3, "60kbit", ""}},
		{"per second may be said", bits, "1Mbit/s", result{1e6, "1Mbit", ""}},
		{"faster than anything", bits, "999999999999999999Gbit", result{0, "", "write at most 1000000Gbit"}},
		{"bytes are not bits", bits, "1MB", result{0, "", "write a rate such as 9600bit, 60kbit or 1Mbit (per second)"}},

		{"requests per second", rate, "2.50", result{2.5, "2.5", ""}},
		{"closed loop", rate, "0", result{0, "0", ""}},
		{"a rate of years", rate, "0.0000001", result{0, "", "write 0, or requests per second from 0.000001 to 1000000000"}},
	} {
		got := c.read(c.in)
		if math.Abs(got.value-c.want.value) > 1e-15*c.want.value || got.text != c.want.text || got.advice != c.want.advice {
			if c.want.advice != "" && got.advice == c.want.advice {
				continue // a value that is refused is nobody's
			}
			t.Errorf("%s: %q: got %+v, want %+v", c.words, c.in, got, c.want)
		}
	}
}

// A canonical text reads as the same value and the same text.
func TestCanonicalTextIsAFixedPoint(t *testing.T) {
	for d := time.Duration(1); d < 1e18 && d > 0; d = d*7 + 3 {
		if got, text, advice := readDuration(DurationText(d)); got != d || text != DurationText(d) || advice != "" {
			t.Errorf("%v: got %v %q %q", d, got, text, advice)
		}
	}
	for v := int64(1); v < 1<<49; v = v*3 + v%5 {
		text := unitsText(v, byteUnits)
		if got, again, advice := readSize(text); got != v || again != text || advice != "" {
			t.Errorf("%d: %q: got %d %q %q", v, text, got, again, advice)
		}
	}
}

func TestSecondDocument(t *testing.T) {
	for in, want := range map[string]int{
		"study: x\n---\nstudy: y\n":                     2,
		"---\nstudy: x\n---\n":                          3,
		"# a comment\n\n---\nstudy: x\n--- y":           5,
		"notes: |\n  ---\n  more\n\n--- # next\r\na: b": 5,
		"study: x\r\n---\r\nstudy: y\r\n":               2,
		"study: x\n...\nstudy: y\n":                     3,
		"study: x\n...\n# a comment\n---\nstudy: y\n":   4,
	} {
		var errs faults
		parseYAML("s.yaml", []byte(in), true, &errs)
		if len(errs.list) != 1 || !strings.Contains(errs.list[0].What, "found multiple") || errs.list[0].Pos.Line != want {
			t.Errorf("%q: got %v, want line %d", in, errs.list, want)
		}
	}
}
