package advise

import (
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// What was 0 in all trials before has no ratio, and yet a rise from it is a rise.
func TestARiseFromZeroIsJudged(t *testing.T) {
	none, rose := []float64{0, 0, 0, 0, 0}, []float64{0.38, 0.41, 0.40, 0.42, 0.39}
	for _, tt := range []struct {
		what, condition string
		old, new        []float64
		want            stat.Verdict
		change          Change
	}{
		{"from nothing to 40 %", "failed_share > 10%", none, rose, stat.Confirmed, Higher},
		{"by 300 %", "failed_share > 300%", none, append(rose, rose...), stat.Confirmed, Higher},
		{"nothing fails", "failed_share > 10%", none, none, stat.Contradicted, Same},
		{"to nothing", "failed_share > 10%", rose, none, stat.Contradicted, Lower},
		{"is that a fall?", "failed_share < -50%", rose, none, stat.Confirmed, Lower},
		{"one trial of five", "failed_share > 10%", none, []float64{0, 0, 0.4, 0, 0}, stat.Undecided, Unknown},
		{"two trials", "failed_share > 10%", none[:2], rose[:2], stat.Undecided, Unknown},
		{"one trial", "failed_share > 10%", none[:1], rose[:1], stat.Undecided, Unknown},
		{"some were 0", "failed_share > 10%", []float64{0, 0.001, 0, 0.002, 0}, rose, stat.Confirmed, Higher},
	} {
		for _, paired := range []bool{false, true} {
			old, new := series("rest", "failed_share", tt.old...), series("rest", "failed_share", tt.new...)
			if old.Interleaved, new.Interleaved = paired, paired; paired && len(tt.old) != len(tt.new) {
				continue
			}
			c, err := Compare([]Series{old}, []Series{new}, []Condition{mustChange(t, tt.condition)}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Contrasts[0].Change; c.Verdict() != tt.want || got != tt.change {
				t.Errorf("%s (paired %v): got %s, %s, want %s, %s: %+v", tt.what, paired, c.Verdict(), got, tt.want, tt.change,
					c.Outcomes[0].Parts)
			}
		}
	}
	c, err := Compare([]Series{series("rest", "failed_share", none[:2]...)},
		[]Series{series("rest", "failed_share", rose[:2]...)}, []Condition{mustChange(t, "failed_share > 10%")}, 0.95, 0.05)
	if err != nil || c.Outcomes[0].Doubt.Needed != 3 || !c.Open() {
		t.Errorf("two trials: got %+v, %v, want 3 a side", c.Outcomes[0].Doubt, err)
	}
	r, err := Repeat([]Series{series("rest", "failed_share", none...)}, []Series{series("rest", "failed_share", rose...)},
		0.95, 0.05)
	if err != nil || r.Agreement() != Differs {
		t.Errorf("repeated: got %s, %v", r.Agreement(), err)
	}
}

// Waiting for a CPU explains no rise from 0, whatever factor it may explain.
func TestARiseFromZeroOnABusyMachine(t *testing.T) {
	old, new := series("rest", "failed_share", 0, 0, 0, 0, 0), series("rest", "failed_share", 0.4, 0.41, 0.42, 0.4, 0.39)
	old.Waiting, new.Waiting = 0.05, 0.2
	c, err := Compare([]Series{old}, []Series{new}, []Condition{mustChange(t, "failed_share > 10%")}, 0.95, 0.05)
	if err != nil || c.Verdict() != stat.Confirmed {
		t.Errorf("got %s, %v: %+v", c.Verdict(), err, c.Outcomes)
	}
	new = series("rest", "failed_share", 0, 0, 0.4, 0, 0)
	old.Waiting, new.Waiting = 0.05, 0.2
	c, err = Compare([]Series{old}, []Series{new}, []Condition{mustChange(t, "failed_share > 10%")}, 0.95, 0.05)
	if err != nil || c.Verdict() != stat.Undecided || c.Outcomes[0].Doubt.Why != Straddles {
		t.Errorf("got %s, %v: %+v", c.Verdict(), err, c.Outcomes[0].Doubt)
	}
}

// As many trials as are named decide in four of five studies of figures that are 0 in some trials, where they stay as
// they are: drawn from those that there are.
func TestTrialsNamedForZerosDecideInFourOfFive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const studies = 300
	r := rand.New(rand.NewPCG(29, 23))
	now := func(often, share float64) func() float64 {
		return func() float64 {
			if r.Float64() < often {
				return share * (0.5 + r.Float64())
			}
			return 0
		}
	}
	counted := func(mean float64) func() float64 {
		return func() float64 { return float64(drawnHits(r, 1000, mean/1000)) / 1000 }
	}
	gate := mustChange(t, "failed_share > 10%")
	judge := func(old, new []float64) Outcome {
		c, err := Compare([]Series{series("a", "failed_share", old...)}, []Series{series("a", "failed_share", new...)},
			[]Condition{gate}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return c.Outcomes[0]
	}
	for _, tt := range []struct {
		what     string
		old, new func() float64
		trials   int
	}{
		{"from none to a third of the trials", now(0, 0), now(0.35, 0.1), 6},
		{"from none to most trials", now(0, 0), now(0.8, 0.1), 3},
		{"1 of 1000 to 2", counted(1), counted(2), 6},
		{"to none", now(0.4, 0.1), now(0, 0), 6},
	} {
		decided := 0
		for n := 0; n < studies; {
			var old, new []float64
			for range tt.trials {
				old, new = append(old, tt.old()), append(new, tt.new())
			}
			pilot := judge(old, new)
			needed := pilot.Doubt.Needed
			if pilot.Contrast.zeros == nil || pilot.Verdict != stat.Undecided || needed == 0 || needed > 1000 {
				continue
			}
			n++
			again := func(from []float64) (out []float64) {
				for range needed {
					out = append(out, from[r.IntN(len(from))])
				}
				return out
			}
			if judge(again(old), again(new)).Verdict != stat.Undecided {
				decided++
			}
		}
		t.Logf("%s: as many trials as named decide in %.1f %%", tt.what, 100*float64(decided)/studies)
		if float64(decided) < leastPower*studies {
			t.Errorf("%s: as many trials as named decide in %d of %d studies", tt.what, decided, studies)
		}
	}
}
