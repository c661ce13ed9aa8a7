package advise

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

func shares(n int, hits ...int) []stat.Share {
	var out []stat.Share
	for _, h := range hits {
		out = append(out, stat.Share{Hits: h, N: n})
	}
	return out
}

func TestJudgeFailures(t *testing.T) {
	for _, tt := range []struct {
		what     string
		old, new []stat.Share
		want     stat.Verdict
	}{
		{"30 % in every run", shares(200, 0, 0, 0, 0, 0, 0, 0, 0), shares(200, 60, 60, 60, 60, 60, 60, 60, 60),
			stat.Confirmed},
		{"an outage in one of six runs", shares(200, 0, 0, 0, 0, 0, 0), shares(200, 0, 0, 200, 0, 0, 0), stat.Undecided},
		{"one request in 1600", shares(200, 0, 0, 0, 0, 0, 0, 0, 0), shares(200, 0, 1, 0, 0, 0, 0, 0, 0), stat.Contradicted},
		{"fewer than before", shares(200, 9, 9, 9, 9), shares(200, 0, 0, 0, 0), stat.Contradicted},
		{"one run each, 30 %: it may be an outage", shares(1000, 0), shares(1000, 300), stat.Undecided},
		{"two runs each, 30 %, none before", shares(1000, 0, 0), shares(1000, 300, 310), stat.Undecided},
		{"two runs each, from 1 % to 30 %", shares(1000, 10, 12), shares(1000, 300, 310), stat.Confirmed},
		{"three runs each, 30 %", shares(1000, 0, 0, 0), shares(1000, 300, 310, 305), stat.Confirmed},
		{"one run each, 3 of 1000", shares(1000, 0), shares(1000, 3), stat.Contradicted},
		{"three runs, one outage", shares(100, 0, 0, 0), shares(100, 0, 90, 0), stat.Undecided},
		{"all of three requests", shares(3, 0), shares(3, 3), stat.Confirmed},
		{"nothing failed", shares(10, 0), shares(10, 0), stat.Contradicted},
	} {
		if got := JudgeFailures(Attempts{Failed: tt.old}, Attempts{Failed: tt.new}, 0.95); got.Verdict != tt.want {
			t.Errorf("%s: got %s (%s), want %s", tt.what, got.Verdict, got, tt.want)
		}
	}
}

// Equal services are called worse in at most 2.5 % of comparisons (the rise is one
// side of a two-sided test), whether requests fail alone or a run's together.
func TestJudgeFailuresOfEquals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alone := func() int {
		n := 0
		for range 100 {
			if r.Float64() < 0.05 {
				n++
			}
		}
		return n
	}
	together := func() int {
		if r.Float64() < 0.3 {
			return 20 + r.IntN(60)
		}
		return r.IntN(3)
	}
	own := func() int { return 5 + r.IntN(60) } // of each run, as of a service that now and then is overloaded
	for _, tt := range []struct {
		what          string
		runs, repeats int
		draw          func() int
	}{{"alone, 6 runs", 6, 400, alone}, {"together, 6 runs", 6, 400, together}, {"together, 4 runs", 4, 400, together},
		{"together, 12 runs", 12, 40, together}, {"each its own, 1 run", 1, 400, own}, {"each its own, 2 runs", 2, 1000, own},
		{"each its own, 3 runs", 3, 1000, own}, {"together, 1 run", 1, 1000, together},
		{"together, 2 runs", 2, 1000, together}, {"together, 3 runs", 3, 1000, together}} {
		worse := 0
		for range tt.repeats {
			var a, b []int
			for range tt.runs {
				a, b = append(a, tt.draw()), append(b, tt.draw())
			}
			before, now := attempts("", shares(100, a...)...), attempts("", shares(100, b...)...)
			if JudgeFailures(before, now, 0.95).Verdict == stat.Confirmed {
				worse++
			}
		}
		if share := float64(worse) / float64(tt.repeats); share > 0.025+4*math.Sqrt(0.025/float64(tt.repeats)) {
			t.Errorf("%s: worse in %.1f %% of equals", tt.what, 100*share)
		}
	}
}

func attempts(name string, failed ...stat.Share) Attempts {
	return Attempts{Factors: []string{"stack"}, Levels: []string{name}, Name: name, Wanted: len(failed),
		Valid: len(failed), Failed: failed}
}

func TestFailuresOfTrials(t *testing.T) {
	for _, tt := range []struct {
		what     string
		old, new []stat.Share
		want     stat.Verdict
	}{
		{"40 % in each of 5", shares(200, 0, 0, 0, 0, 0), shares(200, 80, 81, 79, 82, 80), stat.Confirmed},
		{"40 % in each of 3", shares(200, 0, 0, 0), shares(200, 80, 81, 79), stat.Confirmed},
		{"one trial shows no spread", shares(200, 0), shares(200, 80), stat.Undecided},
		{"an outage in one of 5", shares(200, 0, 0, 0, 0, 0), shares(200, 0, 0, 150, 0, 0), stat.Undecided},
		{"one request", shares(200, 0, 0, 0, 0, 0), shares(200, 0, 0, 1, 0, 0), stat.Contradicted},
		{"fewer", shares(200, 9, 8, 9, 10, 9), shares(200, 0, 0, 0, 0, 0), stat.Contradicted},
		{"from 2 % to 40 %", shares(200, 3, 4, 5, 4, 4), shares(200, 80, 81, 79, 82, 80), stat.Confirmed},
	} {
		floor := attempts("floor", tt.new...)
		floor.Floor = true
		got := FailuresOfTrials([]Attempts{attempts("a", tt.old...), attempts("quiet", shares(200, 0, 0, 0)...),
			attempts("floor", tt.old...)}, []Attempts{attempts("a", tt.new...), attempts("quiet", shares(200, 0, 0, 0)...),
			floor}, 0.95)
		if len(got) != 1 || got[0].Verdict != tt.want || got[0].Treatment != "a" {
			t.Errorf("%s: got %v, want %s", tt.what, got, tt.want)
		}
		whole := tt.want
		if whole == stat.Contradicted { // which alone is no verdict
			whole = ""
		}
		if c := (Comparison{Failed: got}); c.Verdict() != whole {
			t.Errorf("%s: the whole is %s", tt.what, c.Verdict())
		}
	}
	waited := attempts("a", shares(200, 80, 81, 79, 82, 80)...)
	for _, tt := range []struct {
		new     []stat.Share
		waiting float64
		want    stat.Verdict
	}{
		{shares(200, 80, 81, 79, 82, 80), 0.01, stat.Confirmed},
		{shares(200, 80, 81, 79, 82, 80), 0.5, stat.Undecided}, // they may have been late, and no more
		{shares(200, 200, 200, 200, 200, 200), 0.5, stat.Confirmed},
		{shares(200, 0, 0, 0, 0, 1), 0.5, stat.Contradicted},
	} {
		waited.Failed, waited.Waiting = tt.new, tt.waiting
		got := FailuresOfTrials([]Attempts{attempts("a", shares(200, 0, 0, 0, 0, 0)...)}, []Attempts{waited}, 0.95)
		if len(got) != 1 || got[0].Verdict != tt.want {
			t.Errorf("waiting %v s in each: got %v, want %s", tt.waiting, got, tt.want)
		}
		if tt.want == stat.Undecided && !strings.Contains(got[0].String(), "on a quieter machine") {
			t.Errorf("got %s", got[0])
		}
	}
	said := Failures{Treatment: "a", New: stat.Share{Hits: 3, N: 9}, Verdict: stat.Undecided, Test: "t", P: 0.2,
		trials: true}
	if got := said.String(); !strings.HasPrefix(got, "a: 3 of 9 requests") || !strings.Contains(got, "more trials would") {
		t.Errorf("got %s", got)
	}
}

// Of equal versions at most 2.5 % of the comparisons of three treatments call one worse, whether requests fail alone or
// a trial's together; of those that drop a tenth more, nine in ten are found.
func TestFailuresOfTrialsOfEquals(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	alone := func(share float64) int {
		n := 0
		for range 100 {
			if r.Float64() < share {
				n++
			}
		}
		return n
	}
	together := func(share float64) int {
		if r.Float64() < share {
			return 20 + r.IntN(60)
		}
		return r.IntN(3)
	}
	const repeats = 500
	for _, tt := range []struct {
		what  string
		draw  func(float64) int
		share float64
	}{{"alone, 5 %", alone, 0.05}, {"alone, 0.2 %", alone, 0.002}, {"together, 3 of 10 trials", together, 0.3},
		{"together, half of the trials", together, 0.5}} {
		for _, trials := range []int{2, 3, 5, 10} {
			worse := 0
			for range repeats {
				var old, new []Attempts
				for _, name := range []string{"a", "b", "c"} {
					var a, b []int
					for range trials {
						a, b = append(a, tt.draw(tt.share)), append(b, tt.draw(tt.share))
					}
					old, new = append(old, attempts(name, shares(100, a...)...)), append(new, attempts(name, shares(100, b...)...))
				}
				if (Comparison{Failed: FailuresOfTrials(old, new, 0.95)}).Verdict() == stat.Confirmed {
					worse++
				}
			}
			share := float64(worse) / repeats
			if t.Logf("%s, %d trials: worse in %.1f %% of equals", tt.what, trials, 100*share); share >
				0.025+4*math.Sqrt(0.025/repeats) {
				t.Errorf("%s, %d trials: worse in %.1f %% of equals", tt.what, trials, 100*share)
			}
		}
	}
	for _, from := range []float64{0, 0.02} {
		found := 0
		for range repeats {
			var a, b []int
			for range 5 {
				a, b = append(a, alone(from)), append(b, alone(from+0.1))
			}
			if FailuresOfTrials([]Attempts{attempts("a", shares(100, a...)...)},
				[]Attempts{attempts("a", shares(100, b...)...)}, 0.95)[0].Verdict == stat.Confirmed {
				found++
			}
		}
		if t.Logf("from %g: found %d of %d", from, found, repeats); found < 9*repeats/10 {
			t.Errorf("10 %% more than %g: found in %d of %d", from, found, repeats)
		}
	}
}

// drawWaited draws trials of 60 requests of a version of which a share is answered with an error, and, if late, others
// have no answer in time, in trials that wait for a CPU.
func drawWaited(r *rand.Rand, trials int, answered float64, late bool) Attempts {
	a := attempts("a")
	for range trials {
		of, none := 0.0, 0
		if late {
			of = 0.3 * r.Float64()
		}
		wrong := drawnHits(r, 60, answered)
		none = drawnHits(r, 60-wrong, of)
		a.Failed, a.Late = append(a.Failed, stat.Share{Hits: wrong + none, N: 60}), append(a.Late, none)
	}
	if late {
		a.Waiting = 0.3
	}
	return a
}

// Waiting for a CPU excuses requests without an answer in time and no others, of results, of probes, and of a
// condition on the share, alike: a version that answers a tenth of its requests with an error is worse on a busy
// machine, too, and one whose requests are late there is not. Where nobody knows how they failed, nothing is said.
func TestWaitingExcusesLateRequestsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const repeats = 200
	r := rand.New(rand.NewPCG(30, 1))
	rose := mustChange(t, "failed_share > 10%")
	asSeries := func(a Attempts) Series {
		s := series("rest", "failed_share")
		for i, x := range a.Failed {
			v := x.Of()
			one := TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: math.NaN(), SD: math.NaN(), Late: v}
			if a.Late != nil {
				one.Late = float64(a.Late[i]) / float64(x.N)
			}
			s.Trials = append(s.Trials, one)
		}
		s.Waiting = a.Waiting
		return s
	}
	for _, tt := range []struct {
		what               string
		before, now        float64 // share that is answered with an error
		lateThen, lateNow  bool
		untold             bool
		leastSaid, mostRun float64 // share of comparisons that call it worse
	}{
		{"errors, and nobody is late", 0, 0.1, false, false, false, 0.95, 1},
		{"errors, and others are late", 0, 0.1, false, true, false, 0.95, 1},
		{"late alone", 0, 0, false, true, false, 0, 0},
		{"late alone, beside as many errors", 0.05, 0.05, false, true, false, 0, 0.025},
		{"errors, late before", 0, 0.1, true, false, false, 0, 0.05},
		{"errors, and nobody knows", 0, 0.1, false, true, true, 0, 0},
	} {
		worse := map[string]int{}
		for range repeats {
			old, new := drawWaited(r, 8, tt.before, tt.lateThen), drawWaited(r, 8, tt.now, tt.lateNow)
			new.Waiting = 0.3
			if tt.untold {
				new.Late = nil
			}
			for kind, v := range map[string]stat.Verdict{
				"results": (Comparison{Failed: FailuresOfTrials([]Attempts{old}, []Attempts{new}, 0.95)}).Verdict(),
				"probes":  JudgeFailures(old, new, 0.95).Verdict,
			} {
				if v == stat.Confirmed {
					worse[kind]++
				}
			}
			c, err := Compare([]Series{asSeries(old)}, []Series{asSeries(new)}, []Condition{rose}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict() == stat.Confirmed {
				worse["condition"]++
			}
			if c.Contrasts[0].Change == Higher != (c.Contrasts[0].PHolm < 0.05) {
				t.Fatalf("%s: %s, p %g", tt.what, c.Contrasts[0].Change, c.Contrasts[0].PHolm)
			}
		}
		for _, kind := range []string{"results", "probes", "condition"} {
			said := float64(worse[kind]) / repeats
			t.Logf("%s, %s: worse in %.1f %%", tt.what, kind, 100*said)
			if said < tt.leastSaid || said > tt.mostRun+4*math.Sqrt(tt.mostRun/repeats) {
				t.Errorf("%s, %s: worse in %.1f %%", tt.what, kind, 100*said)
			}
		}
	}
}

// The words name what may explain a rise, and nothing else.
func TestWordsOfFailures(t *testing.T) {
	failed := func(waiting float64, late []int, hits ...int) Attempts {
		a := attempts("a", shares(200, hits...)...)
		a.Waiting, a.Late = waiting, late
		return a
	}
	none, tenth := failed(0, nil, 0, 0, 0, 0, 0), []int{20, 21, 19, 20, 20}
	for _, tt := range []struct {
		new        Attempts
		want, lack string
	}{
		{failed(0.3, []int{0, 0, 0, 0, 0}, tenth...), "neither chance nor waiting for a CPU explains it", "independently"},
		{failed(0, []int{0, 0, 0, 0, 0}, tenth...), "chance does not explain it (p", "waiting"},
		{failed(0.3, tenth, tenth...), "chance does not explain it, but waiting for a CPU may have made requests late; measure",
			"independently"},
		{failed(0.3, nil, tenth...), "nothing here says how they failed", "independently"},
		{failed(0.3, []int{0, 0, 0, 0, 0}, 0, 0, 100, 0, 0),
			"if requests fail independently, but trials differ so much, or are so few, that chance may explain it; more trials " +
				"on a quieter machine would", "late"},
		{failed(0, []int{0, 0, 0, 0, 0}, 0, 0, 100, 0, 0), "more trials would decide", "quieter"},
	} {
		got := FailuresOfTrials([]Attempts{none}, []Attempts{tt.new}, 0.95)[0].String()
		if !strings.Contains(got, tt.want) || strings.Contains(got, tt.lack) {
			t.Errorf("got %q, want %q and no %q", got, tt.want, tt.lack)
		}
	}
}

// A p95 that is a request that failed is not one of too few answers.
func TestWhyAP95IsNotKnown(t *testing.T) {
	old := series("rest", "rtt", 1, 1.01, 0.99, 1, 1.02)
	for i := range old.Trials {
		old.Trials[i].P95 = 1.2
	}
	for what, tt := range map[string]struct {
		p95, all float64
		want     string
	}{
		"failed": {1.2, math.Inf(1), "among all requests it is one that failed"},
		"unseen": {1.2, math.NaN(), "this copy lacks the exchanges"},
		"few":    {math.NaN(), 0, "too few answers"},
	} {
		new := series("rest", "rtt", 1, 1.01, 0.99, 1, 1.02)
		for i := range new.Trials {
			new.Trials[i].P95, new.Trials[i].AllP95 = tt.p95, tt.all
		}
		c, err := Compare([]Series{old}, []Series{new}, []Condition{mustChange(t, "rtt > 50%")}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Outcomes[0]
		if last := o.Parts[len(o.Parts)-1]; o.Doubt.Why != Tails || !strings.Contains(last.Unknown, tt.want) {
			t.Errorf("%s: got %+v", what, o)
		}
	}
}
