package advise

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// A size that is the bound itself in all trials meets <= and >=, and neither < nor >. What a clock shows, a model
// gives, happens now and then, or varies from trial to trial lies beside the bound, nobody knows on which side.
func TestExactlyTheBound(t *testing.T) {
	clock, modelled, two := series("a", "rtt", 0.05, 0.05, 0.05, 0.05, 0.05), series("a", "message_size", 56, 56, 56),
		series("a", "message_size", 56, 56)
	clock.Ticks, modelled.Modelled = true, true
	resends := func(s Series) Series { s.Resends = true; return s }
	const open = "uuuu"
	for _, tt := range []struct {
		what  string
		of    Series
		bound string // as --require has it
		want  string // of <=, <, >= and >: y: met, n: not met, u: undecided
	}{
		{"a size", two, "message_size %s 56B", "ynyn"},
		{"a size in kB, not a binary number", series("a", "message_size", 1001, 1001), "message_size %s 1.001kB", "ynyn"},
		{"packets", series("a", "packets", 10, 10, 10), "packets %s 10", "ynyn"},
		{"packets that may be sent again", resends(series("a", "packets", 10, 10, 10)), "packets %s 10", open},
		{"bytes on the wire that may be, above", resends(series("a", "wire_bytes", 57, 57)), "wire_bytes %s 56B", "nnyy"},
		{"bytes on the wire that may be", resends(series("a", "wire_bytes", 56, 56)), "wire_bytes %s 56B", open},
		{"a size of what may be", resends(two), "message_size %s 56B", "ynyn"},
		{"handshakes", series("a", "handshake_bytes", 900, 900), "handshake_bytes %s 900B", open},
		{"below", series("a", "message_size", 55, 55), "message_size %s 56B", "yynn"},
		{"above", series("a", "message_size", 57, 57), "message_size %s 56B", "nnyy"},
		{"around", series("a", "message_size", 55, 57, 55, 57), "message_size %s 56B", open},
		{"a clock", clock, "rtt %s 50ms", open},
		{"a model", modelled, "message_size %s 56B", open},
		{"failures", series("a", "failed_share", 0.01, 0.01, 0.01), "failed_share %s 1%%", open},
		{"nothing sent again", series("a", "retransmissions", 0, 0, 0), "retransmissions %s 0", open},
	} {
		got := ""
		for _, sign := range []string{"<=", "<", ">=", ">"} {
			k := mustRequire(t, fmt.Sprintf(tt.bound, sign))
			c, err := Choose([]Series{tt.of}, []Objective{{Term: k.Term}}, []Condition{k}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			got += letter(c.Candidates[0].Checks[0].Verdict)
		}
		if got != tt.want {
			t.Errorf("%s: got %s for <=, <, >= and >, want %s", tt.what, got, tt.want)
		}
	}
}

// So does a change of a size that is the bound of a gate in all trials: a size that stays is no growth.
func TestExactlyTheBoundOfAChange(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 53))
	of := func(response string, values ...float64) Series { return series("a", response, values...) }
	paired := func(s Series) Series { s.Interleaved = true; return s }
	resends := func(s Series) Series { s.Resends = true; return s }
	clock := of("rtt", 0.05, 0.05, 0.05)
	clock.Ticks = true
	wide := of("message_size", around(r, 56, 0.05, 5)...)
	const open = "uuuu"
	for _, tt := range []struct {
		what     string
		old, new Series
		bound    string
		want     string
	}{
		{"a size that stays", of("message_size", 56, 56), of("message_size", 56, 56), "message_size %s 0%%", "ynyn"},
		{"5 % more", of("message_size", 60, 60), of("message_size", 63, 63), "message_size %s 5%%", "ynyn"},
		{"one byte more", of("message_size", 56, 56), of("message_size", 57, 57), "message_size %s 0%%", "nnyy"},
		{"pairs that stay", paired(of("message_size", 56, 60, 90)), paired(of("message_size", 56, 60, 90)),
			"message_size %s 0%%", "ynyn"},
		{"packets that stay", of("packets", 10, 10), of("packets", 10, 10), "packets %s 0%%", "ynyn"},
		{"packets that may be sent again", of("packets", 10, 10), resends(of("packets", 10, 10)), "packets %s 0%%", open},
		{"two more of such", resends(of("packets", 10, 10)), resends(of("packets", 12, 12)), "packets %s 0%%", "nnyy"},
		{"0 that stays", of("packets", 0, 0), of("packets", 0, 0), "packets %s 0%%", "ynyn"},
		{"sizes that vary", wide, wide, "message_size %s 0%%", open},
		{"a clock", clock, clock, "rtt %s 0%%", open},
		{"failures", of("failed_share", 0.01, 0.01), of("failed_share", 0.01, 0.01), "failed_share %s 0%%", open},
	} {
		got := ""
		for _, sign := range []string{"<=", "<", ">=", ">"} {
			c, err := Compare([]Series{tt.old}, []Series{tt.new}, []Condition{mustChange(t, fmt.Sprintf(tt.bound, sign))}, 0.95,
				0.05)
			if err != nil {
				t.Fatal(err)
			}
			got += letter(c.Outcomes[0].Verdict)
		}
		if got != tt.want {
			t.Errorf("%s: got %s for <=, <, >= and >, want %s", tt.what, got, tt.want)
		}
	}

	k := mustChange(t, "message_size > 5%")
	k.Detect = true
	c, err := Compare([]Series{of("message_size", 60, 60)}, []Series{of("message_size", 63, 63)}, []Condition{k}, 0.95,
		0.05)
	if err != nil || c.Outcomes[0].Verdict != stat.Confirmed {
		t.Errorf("a change of the size that is looked for: got %+v, %v", c.Outcomes, err)
	}
}

// Where the truth is the bound and trials vary about it, a requirement is called met or not in no more studies than it
// was before, whichever sign it has.
func TestABoundThatIsTheTruthIsUndecided(t *testing.T) {
	const studies = 400
	r := rand.New(rand.NewPCG(6, 53))
	decided := map[string]int{}
	for range studies {
		var sizes []float64
		for range 5 {
			sizes = append(sizes, float64(54+r.IntN(5)))
		}
		for _, sign := range []string{"<=", "<", ">=", ">"} {
			k := mustRequire(t, "message_size "+sign+" 56B")
			c, err := Choose([]Series{series("a", "message_size", sizes...)}, []Objective{{Term: k.Term}}, []Condition{k}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if c.Candidates[0].Meets != stat.Undecided {
				decided[sign]++
			}
		}
	}
	t.Logf("decided: %v of %d", decided, studies)
	for sign, n := range decided {
		if n > studies/10 {
			t.Errorf("%s: decided in %d of %d studies", sign, n, studies)
		}
	}
}

func letter(v stat.Verdict) string {
	return map[stat.Verdict]string{stat.Confirmed: "y", stat.Contradicted: "n", stat.Undecided: "u"}[v]
}
