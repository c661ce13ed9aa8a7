package advise

import (
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// metered draws ten trials of a meter that is off by so much in all of them.
func metered(rng *rand.Rand, name string, truth, off, unseen float64) Series {
	s := Series{Factors: []string{"stack"}, Levels: []string{name}, Side: measure.Client, Response: "energy", Unit: "J",
		Ticks: true, Unseen: unseen}
	for b := range 10 {
		s.Trials = append(s.Trials, TrialSummary{ID: b, Block: b, Mean: max(0, truth*(1+0.05*rng.NormFloat64())+off)})
	}
	return s
}

// The ratio of two treatments is the same when it is measured again, though the meter is off by another error: hardly
// any repetition says that it differs, or that it agrees within what the meter does not see; one that no error explains
// is found.
func TestRatiosThatRepeatWhatAMeterDoesNotSee(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 7))
	const studies, unseen = 300, 0.2
	count := func(now float64, word Agreement) (n int) {
		for range studies {
			of := func(times float64) []Series {
				off := func() float64 { return unseen * (2*rng.Float64() - 1) }
				return []Series{metered(rng, "a", 1, off(), unseen), metered(rng, "b", times, off(), unseen)}
			}
			r, err := Repeat(of(2), of(now), 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Ratios) != 1 {
				t.Fatalf("got %+v", r.Ratios)
			}
			if r.Ratios[0].Agreement == word {
				n++
			}
		}
		return n
	}
	differ, agree, far := count(2, Differs), count(2, Agrees), count(10, Differs)
	t.Logf("of equal ratios %d of %d differ and %d agree; %d of 5 times as much differ", differ, studies, agree, far)
	if most := studies * 5 / 100; differ > most || agree > most || far < studies*95/100 {
		t.Errorf("of equal ratios %d of %d differ and %d agree; %d of 5 times as much differ", differ, studies, agree, far)
	}
	still := func() []Series {
		all := []Series{series("a", "energy", 1, 1, 1, 1, 1), series("b", "energy", 2, 2, 2, 2, 2)}
		for i := range all {
			all[i].Ticks, all[i].Unseen = true, unseen
		}
		return all
	}
	if r, err := Repeat(still(), still(), 0.95, 0.05); err != nil || r.Ratios[0].Agreement != CannotTell {
		t.Errorf("ratios that no trial changes, of a meter that may be off: got %+v, %v", r.Ratios, err)
	}
}

// Also where some values are 0, so that means are compared, what the meter does not see is no change: not even where
// the old results are off by all of it in one direction, and the new ones in the other.
func TestZerosOfAMeterAreNoChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	const studies, unseen = 400, 0.5
	gate := mustChange(t, "energy > 5%")
	count := func(times float64) (changed, worse int) {
		for range studies {
			old, new := metered(rng, "a", unseen, -unseen, unseen), metered(rng, "a", times*unseen, unseen, unseen)
			c, err := Compare([]Series{old}, []Series{new}, []Condition{gate}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Contrasts[0].Change == Higher {
				changed++
			}
			if c.Verdict() == stat.Confirmed {
				worse++
			}
		}
		return changed, worse
	}
	changed, worse := count(1)
	t.Logf("of what has not changed %d of %d are higher, %d worse", changed, studies, worse)
	if most := studies * 5 / 100; changed > most || worse > most {
		t.Errorf("of what has not changed %d of %d are higher, %d worse", changed, studies, worse)
	}
	if changed, worse = count(5); changed < studies || worse < studies {
		t.Errorf("of 5 times as much %d of %d are higher, %d worse", changed, studies, worse)
	}
}
