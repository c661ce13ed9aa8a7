package advise

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Each reason for "undecided" is made on purpose, and is the one that is told.
func TestWhyUndecided(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	steady := func(center float64, n int) Series { return series("A", "rtt", around(r, center, 0.01, n)...) }
	spiked := func(s Series, to float64, at ...int) Series {
		for _, i := range at {
			s.Trials[i].Mean, s.Trials[i].P95 = to, 2*to
		}
		return s
	}
	p95 := func(s Series, times float64) Series {
		for i := range s.Trials {
			s.Trials[i].P95 *= times * (1 + 0.2*float64(i%3))
		}
		return s
	}
	waiting := func(s Series, w float64) Series { s.Waiting = w; return s }
	paired := func(s Series) Series { s.Interleaved = true; return s }
	names := func(parts []Part) (out []string) {
		for _, p := range parts {
			out = append(out, p.Name)
		}
		return out
	}
	gate, detect := mustChange(t, "rtt > 5%"), mustChange(t, "rtt > 5%")
	detect.Detect = true
	for _, tt := range []struct {
		what     string
		old, new Series
		k        Condition
		why      Why
		open     []string // nil: not looked at
		counted  bool     // a number of trials is told
	}{
		{"one trial", steady(10, 10), steady(12, 1), gate, Untested, nil, false},
		{"5.2 % slower, bound 5 %", steady(10, 10), steady(10.52, 10), gate, Straddles, nil, true},
		{"one spike, quicker by 30 %", steady(10, 30), spiked(steady(7, 30), 12, 3), gate, Tails, []string{"spikes"}, true},
		{"one spike that carries the mean over the bound", steady(10, 10), spiked(steady(10, 10), 30, 3), gate,
			Straddles, nil, true},
		{"one spike, looked for", paired(steady(10, 30)), spiked(paired(steady(7, 30)), 12, 3), detect, Tails,
			[]string{"spikes"},
			false},
		{"p95 doubled, looked for", paired(steady(10, 10)), p95(paired(steady(9, 10)), 2), detect, Tails,
			[]string{"p95"}, false},
		{"2 % slower and wide, looked for", paired(series("A", "rtt", around(r, 10, 0.1, 6)...)),
			paired(series("A", "rtt", around(r, 10.2, 0.1, 6)...)), detect, Straddles, nil, true},
		{"busy, 40 % slower", steady(10, 10), waiting(steady(14, 10), 0.4), gate, Waited, nil, false},
		{"busy, alike", waiting(steady(10, 10), 0.4), waiting(steady(10, 10), 0.4), gate, Waited, nil, false},
		{"a little busy, four times as quick, and wide", series("A", "rtt", 2, 10, 50), waiting(series("A", "rtt",
			1, 3, 9), 0.15),
			gate, Straddles, nil, true},
		{"busy, quicker, a spike", waiting(steady(10, 30), 0.11), spiked(waiting(steady(2, 30), 0.11), 12, 3), gate,
			Waited, nil,
			false},
	} {
		c, err := Compare([]Series{tt.old}, []Series{tt.new}, []Condition{tt.k}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Outcomes[0]
		if o.Verdict != stat.Undecided {
			t.Errorf("%s: %s", tt.what, o.Verdict)
			continue
		}
		d := o.Doubt
		if d.Why != tt.why || tt.open != nil && !slices.Equal(names(d.Open), tt.open) || (d.Needed > 0) != tt.counted {
			t.Errorf("%s: got %s, %v, %d trials", tt.what, d.Why, names(d.Open), d.Needed)
		}
	}
}

// Where the interval excludes the bound, and only what waiting for a CPU may explain reaches it, waiting is what keeps
// the condition undecided, and no number of trials is told; where the interval contains the bound, that does. A number
// that is told lets the ratio pass what waiting may explain, too.
func TestWaitingThatReachesTheBound(t *testing.T) {
	const waiting = 0.4
	wide := Allowance(waiting, waiting)
	alike := []float64{10, 10.6, 9.4, 10.2, 9.8, 10}
	times := func(f float64, xs []float64, waits float64) Series {
		var out []float64
		for _, x := range xs {
			out = append(out, f*x)
		}
		s := series("A", "rtt", out...)
		s.Waiting = waits
		return s
	}
	for _, tt := range []struct {
		what  string
		times float64
		bound float64
		less  bool
		waits float64
		why   Why
	}{
		{"alike, slower than the allowance", 1, 1.01 * wide, false, waiting, Widened},
		{"slower by more than the allowance", 1.51 * wide, 1.5, false, waiting, Widened},
		{"alike, quicker than the allowance", 1, 1 / (1.01 * wide), true, waiting, Widened},
		{"quicker by more than the allowance", 1 / (1.51 * wide), 1 / 1.5, true, waiting, Widened},
		{"idle, about the bound", 1, 1.02, false, 0, Straddles},
		{"about the bound", 1, 1.02, false, waiting, Waited},
	} {
		k := mustChange(t, "rtt > 5%")
		k.Bound, k.Less, k.Tails = tt.bound, tt.less, false
		c, err := Compare([]Series{times(1, alike, tt.waits)}, []Series{times(tt.times, alike, tt.waits)}, []Condition{k},
			0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Outcomes[0]
		if o.Verdict != stat.Undecided || o.Doubt.Why != tt.why || tt.why != Straddles && o.Doubt.Needed != 0 {
			t.Errorf("%s: got %s, %+v", tt.what, o.Verdict, o.Doubt)
		}
	}

	// Few and wide trials that waited: as many as are told decide, with the waiting.
	few := []float64{8, 10, 12.5}
	k := mustChange(t, "rtt.mean > 5%")
	judge := func(xs []float64) Outcome {
		c, err := Compare([]Series{times(1, xs, 0.15)}, []Series{times(0.8, xs, 0.15)}, []Condition{k}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return c.Outcomes[0]
	}
	o := judge(few)
	if o.Verdict != stat.Undecided || o.Doubt.Why != Straddles || o.Doubt.Needed == 0 {
		t.Fatalf("few and wide: %s, %+v", o.Verdict, o.Doubt)
	}
	var many []float64
	for len(many) < o.Doubt.Needed {
		many = append(many, few...)
	}
	if more := judge(many); more.Verdict != stat.Contradicted {
		t.Errorf("with %d trials: %s, %+v", len(many), more.Verdict, more.Doubt)
	}
}

// No number of trials carries a ratio beyond what waiting may explain that lies within it.
func TestNoTrialsAreTheNumberWithinTheAllowance(t *testing.T) {
	old := []float64{10, 10.6, 9.4, 10.2, 9.8, 10}
	for times, counted := range map[float64]bool{1.5: false, 0.9: false, 2.5: true, 0.4: true} {
		var new []float64
		for _, x := range old {
			new = append(new, times*x)
		}
		ratio, err := stat.RatioWelch(new, old, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		o := Outcome{Condition: mustChange(t, "rtt > 5%"), Contrast: Contrast{Allowance: 2}}
		if n := o.neededBy(Part{Name: typicalPart, Ratio: ratio}, 0.05); n > 0 != counted {
			t.Errorf("%g times as much: %d trials", times, n)
		}
	}
}

// Of many conditions one is met by itself, and not beyond chance among all.
func TestDecidedAloneButNotTogether(t *testing.T) {
	var old, new []Series
	for i := range 30 {
		r := rand.New(rand.NewPCG(13, uint64(i)))
		name := string(rune('A' + i))
		old = append(old, series(name, "rtt", around(r, 10, 0.05, 6)...))
		new = append(new, series(name, "rtt", around(r, 11.1, 0.05, 6)...))
	}
	c, err := Compare(old, new, []Condition{mustChange(t, "rtt.mean > 5%")}, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Why]int{}
	for _, o := range c.Outcomes {
		if o.Verdict != stat.Undecided {
			continue
		}
		seen[o.Doubt.Why]++
		if alone := o.Doubt.P < 0.05; alone != (o.Doubt.Why == Together) || o.Doubt.Holm < 0.05 ||
			o.Doubt.Among != len(old) {
			t.Errorf("%s: %+v", o.Contrast.Treatment, o.Doubt)
		}
	}
	if seen[Together] == 0 || seen[Straddles] == 0 {
		t.Errorf("got %v", seen)
	}
}

// As many spikes again as trials are told to be needed decide.
func TestSpikesNeededDecide(t *testing.T) {
	spiky := func(n, each int) Series {
		r := rand.New(rand.NewPCG(17, uint64(n)))
		s := series("A", "rtt", around(r, 7, 0.01, n)...)
		for i := 0; each > 0 && i < n; i += each {
			s.Trials[i].Mean = 12
		}
		return s
	}
	k := mustChange(t, "rtt > 5%")
	judge := func(n int) Outcome {
		c, err := Compare([]Series{spiky(n, 0)}, []Series{spiky(n, 30)}, []Condition{k}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return c.Outcomes[0]
	}
	// A condition that spikes alone meet is met by the count of spikes, whatever the typical trial does.
	o := judge(30)
	if o.Verdict != stat.Undecided || o.Doubt.Needed == 0 {
		t.Fatalf("got %s, %+v", o.Verdict, o.Doubt)
	}
	if more := judge(o.Doubt.Needed); more.Verdict != stat.Confirmed {
		t.Errorf("with %d trials: %s, %+v", o.Doubt.Needed, more.Verdict, more.Doubt)
	}
	if fewer := judge(o.Doubt.Needed / 2); fewer.Verdict != stat.Undecided {
		t.Errorf("with half of them: %s", fewer.Verdict)
	}
}

// A requirement is not missed by trials that waited for a CPU, where waiting may explain
// it; it is where nothing waited, or where it is missed by far.
func TestBusyTrialsMissNoRequirement(t *testing.T) {
	k, err := ParseRequirement("rtt < 10s")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		center, waiting float64
		want            stat.Verdict
	}{{12, 0, stat.Contradicted}, {12, 0.3, stat.Undecided}, {100, 0.3, stat.Contradicted}, {8, 0.3, stat.Confirmed}} {
		s := series("A", "rtt", around(rand.New(rand.NewPCG(19, 1)), tt.center, 0.01, 10)...)
		s.Waiting = tt.waiting
		c, err := Choose([]Series{s}, []Objective{{Term: k.Term}}, []Condition{k}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		check := c.Candidates[0].Checks[0]
		if check.Verdict != tt.want || (check.Doubt != "") != (tt.want == stat.Undecided) {
			t.Errorf("%g s, waiting %g: %+v", tt.center, tt.waiting, check)
		}
	}
}

// Two treatments that few and wide trials cannot tell apart are not called equal.
func TestWideIsNotEqual(t *testing.T) {
	wide := []float64{5, 20, 9, 11, 14, 7}
	near := make([]float64, len(wide))
	tight := make([]float64, len(wide))
	for i, v := range wide {
		near[i] = wide[(i+3)%6] * 1.00001
		tight[i] = v * (1 + 1e-6*float64(i%2))
	}
	for _, tt := range []struct {
		b    []float64
		want string
	}{{near, "more trials would narrow that"},
		{tight, "practically equal, they differ by at most 0.00"}} {
		term := mustChange(t, "rtt > 5%").Term
		c, err := Choose([]Series{series("A", "rtt", wide...), series("B", "rtt", tt.b...)}, []Objective{{Term: term}}, nil,
			0.95)
		if err != nil {
			t.Fatal(err)
		}
		x := c.Candidates[1]
		if got := x.alike(); !strings.Contains(got, tt.want) || x.Needed != 0 {
			t.Errorf("%+v: %s, %d trials", x.Ratio, got, x.Needed)
		}
	}
}

// Equals are seldom told that so many trials would tell them apart: where all that was seen is less than matters, they
// are told by how much they differ at most, which holds. Who differs by more is told a number.
func TestEqualsAreNotToldToMeasureOn(t *testing.T) {
	const runs = 400
	r := rand.New(rand.NewPCG(9, 30))
	term := mustChange(t, "rtt > 5%").Term
	for _, tt := range []struct {
		apart, spread float64
		trials        int
		least, most   float64 // share that is told a number
	}{
		{1, 0.01, 6, 0, 0}, {1, 0.02, 10, 0, 0}, {1, 0.05, 10, 0, 0.1}, {1, 0.05, 20, 0, 0.01}, {1, 0.2, 20, 0, 0.6},
		{1.07, 0.05, 6, 0.15, 1},
	} {
		told, wrong := 0, 0
		for range runs {
			c, err := Choose([]Series{series("A", "rtt", around(r, 10, tt.spread, tt.trials)...),
				series("B", "rtt", around(r, 10*tt.apart, tt.spread, tt.trials)...)}, []Objective{{Term: term}}, nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			x := c.Candidates[1]
			if next := strings.Join(c.Next(), " "); strings.Contains(next, "trials each would") {
				told++
			} else if ratio := tt.apart; x.Noise && strings.Contains(next, "at most") &&
				(max(ratio, 1/ratio) > max(x.Ratio.Hi, 1/x.Ratio.Lo)) {
				wrong++
			}
		}
		share := float64(told) / runs
		t.Logf("%g times, spread %g, %d trials: %.1f %% are told a number, %.1f %% a bound that does not hold", tt.apart, tt.spread,
			tt.trials, 100*share, 100*float64(wrong)/runs)
		if share < tt.least || share > tt.most || float64(wrong)/runs > 0.08 {
			t.Errorf("%g times, spread %g, %d trials: %.3f are told a number, want %g to %g; %d of %d bounds do not hold", tt.apart,
				tt.spread, tt.trials, share, tt.least, tt.most, wrong, runs)
		}
	}
}

// Tails that the old results tell of all trials are not excluded where the new ones do not tell them of all.
func TestTailsThatAreNotKnownAreNotExcluded(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 17))
	full, lacking := series("A", "rtt", around(r, 10, 0.01, 10)...), series("A", "rtt", around(r, 9, 0.01, 10)...)
	lacking.Trials[4].P95 = math.NaN()
	for _, x := range []struct {
		old, new  Series
		condition string
		want      stat.Verdict
	}{
		{full, lacking, "rtt > 20%", stat.Undecided},
		{full, lacking, "rtt.mean > 20%", stat.Contradicted},
		{lacking, full, "rtt > 20%", stat.Contradicted},
	} {
		c, err := Compare([]Series{x.old}, []Series{x.new}, []Condition{mustChange(t, x.condition)}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Outcomes[0]
		if o.Verdict != x.want || x.want == stat.Undecided && (o.Doubt.Why != Tails || len(o.Doubt.Open) != 1 ||
			o.Doubt.Needed != 0) {
			t.Errorf("%s: %s, %+v", x.condition, o.Verdict, o.Doubt)
		}
	}
}

// As many trials as are named decide in four of five studies of the same truth, be it a condition of compare, a
// requirement or the difference of two treatments: numbers at which every other study decides would send half of their
// readers back.
func TestTrialsNamedDecideInFourOfFive(t *testing.T) {
	const studies = 300
	like := func(r *rand.Rand, pilot []float64, n int) []float64 {
		mean, sd := mean(logs(pilot)), stat.SD(logs(pilot))
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Exp(mean + sd*r.NormFloat64())
		}
		return out
	}
	gate, need := mustChange(t, "rtt.mean > 5%"), mustRequire(t, "rtt < 10s")
	compared := func(a, b []float64) (int, bool) {
		c, err := Compare([]Series{series("x", "rtt", a...)}, []Series{series("x", "rtt", b...)}, []Condition{gate}, 0.95,
			0.05)
		if err != nil {
			t.Fatal(err)
		}
		o := c.Outcomes[0]
		return o.Doubt.Needed, o.Verdict != stat.Undecided
	}
	chosen := func(a, b []float64) Choice {
		c, err := Choose([]Series{series("x", "rtt", a...), series("y", "rtt", b...)}, []Objective{{Term: need.Term}},
			[]Condition{need}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	required := func(a, _ []float64) (int, bool) {
		c := chosen(a, []float64{1, 1.1, 1.05})
		for _, x := range c.Candidates {
			if x.Name == "x" {
				return x.Checks[0].Needed, x.Checks[0].Verdict != stat.Undecided
			}
		}
		return 0, false
	}
	apart := func(a, b []float64) (int, bool) {
		x := chosen(a, b).Candidates[1]
		return x.Needed, !x.Noise
	}
	for _, tt := range []struct {
		what  string
		ratio float64
		judge func(a, b []float64) (needed int, decided bool)
	}{{"condition", 1.12, compared}, {"requirement", 1, required}, {"difference", 1.06, apart}} {
		r := rand.New(rand.NewPCG(29, 16))
		decided := 0
		for n := 0; n < studies; {
			a, b := around(r, 9.5, 0.08, 8), around(r, 9.5*tt.ratio, 0.08, 8)
			needed, done := tt.judge(a, b)
			if done || needed == 0 || needed > 1000 {
				continue
			}
			n++
			if _, done = tt.judge(like(r, a, needed), like(r, b, needed)); done {
				decided++
			}
		}
		t.Logf("%s: as many trials as named decide in %.1f %%", tt.what, 100*float64(decided)/studies)
		if tooOften(studies-decided, studies, 1-leastPower) {
			t.Errorf("%s: as many trials as named decide in %d of %d studies", tt.what, decided, studies)
		}
	}
}

// Likewise of spikes, which stay as frequent on both sides.
func TestTrialsNamedForSpikesDecideInFourOfFive(t *testing.T) {
	const studies, own = 1000, 0.05
	r := rand.New(rand.NewPCG(29, 17))
	drawn := func(n, hits, of int) (k int) {
		for range n {
			if r.IntN(of) < hits {
				k++
			}
		}
		return k
	}
	for _, s := range []Spikes{{New: 2, Trials: [2]int{20, 20}}, {New: 3, Trials: [2]int{40, 20}},
		{Old: 1, New: 5, Trials: [2]int{20, 20}}, {Old: 2, New: 6, Trials: [2]int{30, 30}}} {
		needed := (&Outcome{Spikes: s}).neededBy(Part{Name: spikesPart}, own)
		k := needed / max(s.Trials[0], s.Trials[1])
		decided := 0
		for range studies {
			n, m := k*s.Trials[1], k*s.Trials[0]
			if 2*stat.FisherMore(drawn(n, s.New, s.Trials[1]), n, drawn(m, s.Old, s.Trials[0]), m) < own {
				decided++
			}
		}
		t.Logf("%+v: %d trials decide in %.1f %%", s, needed, 100*float64(decided)/studies)
		if tooOften(studies-decided, studies, 1-leastPower) {
			t.Errorf("%+v: %d trials decide in %d of %d studies", s, needed, decided, studies)
		}
	}
}

// Likewise of the best of four treatments, which all pairs share a level with.
func TestTrialsNamedForTheBestOfFourDecideInFourOfFive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const studies = 300
	names := []string{"x", "y", "z", "w"}
	r := rand.New(rand.NewPCG(29, 18))
	need := mustRequire(t, "rtt < 10s")
	choose := func(of func(name string) []float64) Choice {
		var all []Series
		for _, name := range names {
			all = append(all, series(name, "rtt", of(name)...))
		}
		c, err := Choose(all, []Objective{{Term: need.Term}}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	asked, decided := 0, 0
	for asked < studies {
		pilot := map[string][]float64{}
		c := choose(func(name string) []float64 {
			center := 1.06
			if name == "x" {
				center = 1
			}
			pilot[name] = around(r, center, 0.08, 8)
			return pilot[name]
		})
		second := c.Candidates[1]
		if !second.Noise || second.Needed == 0 || second.Needed > 1000 {
			continue
		}
		asked++
		again := choose(func(name string) []float64 {
			mean, sd := mean(logs(pilot[name])), stat.SD(logs(pilot[name]))
			out := make([]float64, second.Needed)
			for i := range out {
				out[i] = math.Exp(mean + sd*r.NormFloat64())
			}
			return out
		})
		for _, x := range again.Candidates {
			if (x.Name == second.Name || again.Candidates[0].Name == second.Name && x.Name == c.Candidates[0].Name) && !x.Noise {
				decided++
				break
			}
		}
	}
	t.Logf("as many trials as named decide in %.1f %%", 100*float64(decided)/studies)
	if tooOften(studies-decided, studies, 1-leastPower) {
		t.Errorf("as many trials as named decide in %d of %d studies", decided, studies)
	}
}
