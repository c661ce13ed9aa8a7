package advise

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// trialOf sums up a trial of requests, of which the slowest beyond a limit fail. As told, its quantiles are those of
// all requests, too.
func trialOf(t *testing.T, id int, times []float64, limit float64, told bool) (TrialSummary, int) {
	t.Helper()
	answered := slices.DeleteFunc(slices.Clone(times), func(x float64) bool { return x > limit })
	failed := len(times) - len(answered)
	w, err := stat.WithinTrial(slices.Clone(answered))
	if err != nil {
		t.Fatal(err)
	}
	x := TrialSummary{ID: id, Block: id, Mean: w.Mean, Median: w.Median, P95: w.P95, SD: w.SD}
	if failed > 0 && told {
		for q, to := range map[float64]*float64{0.5: &x.AllMedian, 0.95: &x.AllP95} {
			if *to, err = stat.QuantileOfAll(answered, failed, q); err != nil {
				t.Fatal(err)
			}
		}
	}
	return x, failed
}

// Of two treatments that are alike one gives up the requests that take longest: the p95 of those that it answers is a
// fifth of the other's. It is not quicker, keeps to no bound that all its requests break, and a version that does so is
// no better than the one before.
func TestWhoLosesItsSlowRequestsIsNotQuicker(t *testing.T) {
	const studies, trials, requests = 120, 8, 1000
	need, gate := mustRequire(t, "rtt.p95 < 50ms"), mustChange(t, "rtt.p95 > 5%")
	for _, told := range []bool{false, true} {
		r := rand.New(rand.NewPCG(29, 21))
		quicker, kept, good, worse := 0, 0, 0, 0
		for range studies {
			one := func(name string, limit float64) Series {
				s := series(name, "rtt")
				failed := 0
				for i := range trials {
					times := make([]float64, requests)
					for j := range times {
						times[j] = 0.01 * math.Exp(0.3*r.NormFloat64())
						if r.IntN(100) < 6 { // of these a third take longer than the limit
							times[j] = 0.1 + 0.03*r.Float64()
						}
					}
					x, lost := trialOf(t, i+1, times, limit, told)
					s.Trials, failed = append(s.Trials, x), failed+lost
				}
				s.Requests, s.Failed = trials*requests, float64(failed)/(trials*requests)
				return s
			}
			loses, waits := one("loses", 0.12), one("waits", 1)
			c, err := Choose([]Series{loses, waits}, []Objective{{Term: need.Term}}, []Condition{need}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range c.Candidates {
				if x.Name == "loses" && x.Meets == stat.Confirmed {
					kept++
				}
			}
			if c, err = Choose([]Series{loses, waits}, []Objective{{Term: need.Term}}, nil, 0.95); err != nil {
				t.Fatal(err)
			}
			if c.Candidates[0].Name == "loses" && !c.Candidates[1].Noise {
				quicker++
			}
			loses.Levels = waits.Levels
			for _, x := range []struct {
				old, new Series
				is       stat.Verdict
				n        *int
			}{{waits, loses, stat.Contradicted, &good}, {loses, waits, stat.Confirmed, &worse}} {
				c, err := Compare([]Series{x.old}, []Series{x.new}, []Condition{gate}, 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				if c.Verdict() == x.is {
					*x.n++
				}
			}
		}
		t.Logf("all requests told %v: quicker in %d, bound kept in %d, good in %d, worse in %d of %d studies", told, quicker,
			kept, good, worse, studies)
		switch {
		case !told && (quicker < studies/2 || kept < studies/2):
			t.Errorf("of those answered: quicker in %d, kept in %d of %d: the test shows nothing", quicker, kept, studies)
		case told && (tooOften(quicker, studies, 0.05) || tooOften(kept, studies, 0.025) || tooOften(worse, studies, 0.05)):
			t.Errorf("quicker in %d, bound kept in %d, worse in %d of %d studies", quicker, kept, worse, studies)
		}
	}
}

// Where the figure of a trial is a request that failed there is none to rank by, and no bound is kept; those answered
// may still break it. A copy that lacks the exchanges does not tell.
func TestAFigureThatIsARequestThatFailed(t *testing.T) {
	fails, none := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		all   float64
		bound string
		want  stat.Verdict
		doubt string
	}{
		{fails, "rtt.p95 < 100ms", stat.Undecided, "of a: among all requests the p95 of rtt is one that failed"},
		{fails, "rtt.p95 < 10ms", stat.Contradicted, ""},
		{fails, "rtt.p95 > 10ms", stat.Confirmed, ""},
		{fails, "rtt.p95 > 100ms", stat.Undecided, "one that failed"},
		{none, "rtt.p95 < 100ms", stat.Undecided, "this copy lacks the exchanges"},
		{0.15, "rtt.p95 < 100ms", stat.Contradicted, ""},
		{0.05, "rtt.p95 < 100ms", stat.Confirmed, ""},
	} {
		s, other := series("a", "rtt", 0.010, 0.011, 0.0105), series("b", "rtt", 0.020, 0.021, 0.0205)
		s.Failed, s.Requests = 0.01, 3000
		for i := range s.Trials {
			s.Trials[i].AllMedian, s.Trials[i].AllP95 = s.Trials[i].Median, tt.all*(1+0.01*float64(i))
		}
		c, err := Choose([]Series{s, other}, []Objective{{Term: mustTerm(t, "rtt")}},
			[]Condition{mustRequire(t, tt.bound)}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Candidates, func(x Candidate) bool { return x.Name == "a" })
		if k := c.Candidates[i].Checks[0]; k.Verdict != tt.want || (tt.doubt == "") != (k.Doubt == "") ||
			!strings.Contains(k.Doubt, tt.doubt) {
			t.Errorf("%g, %s: %s %q, want %s %q", tt.all, tt.bound, k.Verdict, k.Doubt, tt.want, tt.doubt)
		}
		c, err = Choose([]Series{s, other}, []Objective{{Term: mustTerm(t, "rtt.p95")}}, nil, 0.95)
		if finite := tt.all < fails; err != nil || (len(c.Left) == 0) != finite || finite != (len(c.Candidates) == 2) {
			t.Errorf("%g: ranked %s, left out %q, %v", tt.all, names(c), c.Left, err)
		}
	}
}

// Of equals the old version gave up its slowest requests, and the new one answers them: the mean of those that it
// answers is higher, and it is not slower. The other way round fewer are answered, which is no gain. A version that
// takes half as long again is found all the same. What is said without a condition is the same.
func TestWhoAnswersTheSlowOnesIsNotSlower(t *testing.T) {
	const studies, trials, requests = 200, 8, 200
	worse, better := mustChange(t, "rtt > 5%"), mustChange(t, "rtt < -5%")
	for _, tt := range []struct {
		times       float64 // how long the version takes that answers all
		gate        Condition
		turned      bool // the new version loses them
		least, most float64
	}{
		{1, worse, false, 0, 0.05},
		{1, better, true, 0, 0.05},
		{1.5, worse, false, 0.95, 1},
	} {
		r, met, said := rand.New(rand.NewPCG(29, 33)), 0, 0
		word := map[bool]Change{false: Higher, true: Lower}[tt.turned]
		for range studies {
			one := func(scale, limit float64) Series {
				s := series("x", "rtt")
				s.Side = measure.Client
				failed := 0
				for i := range trials {
					base := 0.01 * scale * math.Exp(0.03*r.NormFloat64())
					times := make([]float64, requests)
					for j := range times {
						times[j] = base * math.Exp(0.3*r.NormFloat64())
						if r.IntN(100) < 3 {
							times[j] = 0.1 + 0.03*r.Float64()
						}
					}
					x, lost := trialOf(t, i+1, times, limit, true)
					s.Trials, failed = append(s.Trials, x), failed+lost
				}
				s.Requests, s.Failed = trials*requests, float64(failed)/(trials*requests)
				return s
			}
			old, new := one(1, 0.09), one(tt.times, 1)
			if tt.turned {
				old, new = new, old
			}
			c, err := Compare([]Series{old}, []Series{new}, []Condition{tt.gate}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Outcomes[0].Verdict == stat.Confirmed {
				met++
			}
			k := c.Contrasts[0]
			if k.Change == word {
				said++
			}
			if k.Answered != (k.Change == Unknown) { // of the answered ones it would be decided in each
				t.Errorf("%g times as long: %s, %v", tt.times, k.Change, k.Answered)
			}
		}
		t.Logf("%g times as long, %s: met in %d, %s in %d of %d studies", tt.times, tt.gate.Text, met, word, said, studies)
		for _, n := range []int{met, said} {
			if float64(n) < tt.least*studies || tt.most < 1 && tooOften(n, studies, tt.most) {
				t.Errorf("%g times as long, %s: met in %d, %s in %d of %d studies", tt.times, tt.gate.Text, met, word, said,
					studies)
			}
		}
	}
}

// A version that takes longer and gives up its slow requests is not equal, however alike the means of the answered ones
// are; one whose medians among all requests are alike, too, is.
func TestMeansOfTheAnsweredAloneAreNotEqual(t *testing.T) {
	for _, x := range []struct {
		allMedian float64
		want      Change
	}{{0.013, Unknown}, {0.01, Equal}} {
		old, new := series("x", "rtt", 0.0099, 0.0101, 0.01, 0.0099, 0.0101), series("x", "rtt", 0.01, 0.0101, 0.0099,
			0.0101, 0.0099)
		old.Side, new.Side, new.Failed, new.Requests = measure.Client, measure.Client, 0.05, 1000
		for i := range new.Trials {
			new.Trials[i].AllMedian = x.allMedian * (1 + 0.001*float64(i))
		}
		c, err := Compare([]Series{old}, []Series{new}, nil, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if k := c.Contrasts[0]; k.Change != x.want || k.Answered != (x.want == Unknown) {
			t.Errorf("medians among all of %g: %s, %v", x.allMedian, k.Change, k.Answered)
		}
	}
}
