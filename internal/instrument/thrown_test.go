package instrument

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// recordOf is what a program's lines come to, behind its description.
func recordOf(t *testing.T, header string, lines ...string) *execRecord {
	t.Helper()
	f, err := parseHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	r := newExecRecord(time.Now())
	for _, l := range lines {
		r.take(f, []byte(l), time.Now())
	}
	return r
}

// Where nothing that a meter sent could be used, it is said how much came, why it was dropped, and what it looked like.
func TestReadingsThatWereThrownAwayAreSaid(t *testing.T) {
	for _, c := range []struct {
		header, line string
		says         []string
	}{
		{`{"type":"meter"}`, `{"V":5000,"A":400}`, []string{"3 had values that no supply has", `{"V":5000,"A":400}`, "1000 V",
			"without prefixes"}},
		{`{"type":"meter"}`, `{"W":"2.0"}`, []string{"3 could not be understood", `{"W":"2.0"}`,
			"W is a string and not a number"}},
		{`{"type":"meter"}`, `A1: 3.09 V`, []string{"A1: 3.09 V (not an object in JSON)"}},
		{`{"type":"meter"}`, `{"V":5}`, []string{"no W, nor V and A"}},
		{`{"type":"meter","clock":"host"}`, `{"W":5}`, []string{"no time t"}},
		{`{"type":"meter","kind":"cumulative"}`, `{"W":5}`, []string{"no J"}},
		{`t,W`, `1,two`, []string{`"two" is not a number`}},
		{`t,W`, `1`, []string{"not a value for each column"}},
		{`t,W`, "1,\x1b[31m" + strings.Repeat("x", 1000), []string{"could not be understood"}},
	} {
		err := recordOf(t, c.header, c.line, c.line, c.line).q.Err()
		for _, says := range append(c.says, "no reading that can be used: 3 ") {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s %.40s: got %v, want %q", c.header, c.line, err, says)
			}
		}
		if err != nil && (len(err.Error()) > 1300 || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%q", err)
		}
	}
	if err := recordOf(t, `{"type":"meter"}`).q.Err(); err == nil || err.Error() != "no readings" {
		t.Errorf("of a silent meter: %v", err)
	}
	q := recordOf(t, `{"type":"meter"}`, `{"W":2}`, `{"W":2e9}`, `{"W":2}`).q
	if d := q.Doubts(); q.Err() != nil || len(d) != 1 || !strings.Contains(d[0].Error(), `{"W":2e9}`) {
		t.Errorf("%v, %v", q.Err(), d)
	}
}

// Watts that are not volts times amperes are said, and no rounding of a display, nor mains, where they may be less.
func TestPowerThatIsToldTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		what       string
		volts, amp float64
		watts      float64
		resolution float64
		says       bool
	}{
		{"alike", 5, 0.4, 2, 0, false},
		{"half as much again", 5, 0.4, 3, 0, true},
		{"4 % apart", 5, 0.4, 2.08, 0, true},
		{"2 % apart", 5, 0.4, 2.04, 0, false},
		{"milliwatts", 5, 0.4, 2000, 0, true},
		{"within the meter's step", 5, 0.4, 2.2, 0.5, false},
		{"mains with a power factor of 0.6", 230, 0.1, 13.8, 0, false},
		{"mains, and more than there is", 230, 0.1, 30, 0, true},
	} {
		var lines []string
		for range 100 {
			lines = append(lines, fmt.Sprintf(`{"V":%.3f,"A":%.3f,"W":%.3f}`, c.volts, c.amp+0.0005*rng.NormFloat64(), c.watts))
		}
		r := recordOf(t, `{"type":"meter"}`, lines...)
		if says := r.twice.apart(c.resolution); (says != "") != c.says {
			t.Errorf("%s: %q", c.what, says)
		}
	}
	if r := recordOf(t, `{"type":"meter"}`, `{"W":2}`, `{"V":5,"A":1}`); r.twice.apart(0) != "" {
		t.Error("told once, and apart")
	}
}
