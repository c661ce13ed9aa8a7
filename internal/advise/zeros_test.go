package advise

import (
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
	if err != nil || c.Outcomes[0].Doubt.Needed != 4 || !c.Open() {
		t.Errorf("two trials: got %+v, %v, want 4 a side", c.Outcomes[0].Doubt, err)
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
