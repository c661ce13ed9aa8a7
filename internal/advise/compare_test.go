package advise

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// series of one treatment; block by block.
func series(name, response string, means ...float64) Series {
	r, ok := measure.FindResponse(response)
	if !ok {
		panic(response)
	}
	s := Series{Factors: []string{"stack"}, Levels: []string{name}, Stack: name, Side: r.Sides[0],
		Response: response, Unit: r.Unit}
	for i, m := range means {
		s.Trials = append(s.Trials, TrialSummary{ID: i + 1, Block: i + 1, Mean: m, Median: m, P95: 2 * m})
	}
	return s
}

// around draws n trials with the given mean and relative spread.
func around(r *rand.Rand, center, spread float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = center * math.Exp(spread*r.NormFloat64())
	}
	return out
}

func mustChange(t *testing.T, text string) Condition {
	t.Helper()
	c, err := ParseChange(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConditions(t *testing.T) {
	base := []float64{10, 10.1, 9.9, 10.05, 9.95, 10}
	times := func(f float64) []float64 {
		out := make([]float64, len(base))
		for i, v := range base {
			out[i] = f * v
		}
		return out
	}
	for _, tt := range []struct {
		what string
		new  []float64
		cond string
		want stat.Verdict
	}{
		{"20 % slower is more than 5 %", times(1.2), "rtt > 5%", stat.Confirmed},
		{"the same is not more than 5 %", times(1), "rtt > 5%", stat.Contradicted},
		{"quicker is not slower", times(0.5), "rtt > 5%", stat.Contradicted},
		{"5.2 % slower cannot be told from 5 %", times(1.052), "rtt > 5%", stat.Undecided},
		{"fell by more than 5 %", times(0.9), "rtt < -5%", stat.Confirmed},
		{"did not fall", times(1.1), "rtt < -5%", stat.Contradicted},
		{"p95 as well", times(1.2), "rtt.p95 > 5%", stat.Confirmed},
		{"the client's", times(1.2), "client.rtt >= 5%", stat.Confirmed},
		{"one trial decides nothing", []float64{99}, "rtt > 5%", stat.Undecided},
		{"NaN decides nothing", []float64{99, math.NaN(), 99}, "rtt > 5%", stat.Undecided},
		{"what is 0 did not rise", []float64{0, 0, 0}, "rtt > 5%", stat.Contradicted},
	} {
		c, err := Compare([]Series{series("rest", "rtt", base...)}, []Series{series("rest", "rtt", tt.new...)},
			[]Condition{mustChange(t, tt.cond)}, 0.95, 0.05)
		if err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		if got := c.Verdict(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.what, got, tt.want)
		}
	}
}

// One treatment beyond doubt is enough to fail; all must be excluded to pass.
func TestVerdictOverTreatments(t *testing.T) {
	for _, tt := range []struct {
		vs   []stat.Verdict
		want stat.Verdict
	}{
		{nil, ""},
		{[]stat.Verdict{stat.Contradicted, stat.Contradicted}, stat.Contradicted},
		{[]stat.Verdict{stat.Undecided, stat.Contradicted}, stat.Undecided},
		{[]stat.Verdict{stat.Contradicted, stat.Undecided}, stat.Undecided},
		{[]stat.Verdict{stat.Undecided, stat.Confirmed, stat.Contradicted}, stat.Confirmed},
	} {
		var c Comparison
		for _, v := range tt.vs {
			c.Outcomes = append(c.Outcomes, Outcome{Verdict: v})
		}
		if got := c.Verdict(); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.vs, got, tt.want)
		}
	}
}

func TestChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	old := []Series{
		series("up", "rtt", around(r, 10, 0.01, 10)...), series("down", "rtt", around(r, 10, 0.01, 10)...),
		series("equal", "rtt", around(r, 10, 0.01, 10)...), series("wide", "rtt", around(r, 10, 0.4, 4)...),
		series("fixed", "message_size", 100, 100, 100), series("grown", "message_size", 100, 100, 100),
		series("gone", "rtt", 1, 2),
	}
	new := []Series{
		series("up", "rtt", around(r, 12, 0.01, 10)...), series("down", "rtt", around(r, 8, 0.01, 10)...),
		series("equal", "rtt", around(r, 10, 0.01, 10)...), series("wide", "rtt", around(r, 10, 0.4, 4)...),
		series("fixed", "message_size", 100, 100, 100), series("grown", "message_size", 101, 101, 101),
		series("come", "rtt", 1, 2),
	}
	c, err := Compare(old, new, nil, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Change{"up": Higher, "down": Lower, "equal": Equal, "wide": Unknown, "fixed": Same, "grown": Higher}
	for _, x := range c.Contrasts {
		if x.Change != want[x.Treatment] {
			t.Errorf("%s: got %s, want %s (ratio %v, p %v)", x.Treatment, x.Change, want[x.Treatment], x.Ratio.Estimate, x.PHolm)
		}
	}
	if len(c.Contrasts) != len(want) || strings.Join(c.OnlyOld, "") != "gone" || strings.Join(c.OnlyNew, "") != "come" {
		t.Errorf("got %d contrasts, only old %v, only new %v", len(c.Contrasts), c.OnlyOld, c.OnlyNew)
	}
	// Swapping old and new turns the answer round.
	s, err := Compare(new, old, nil, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	turned := map[Change]Change{Higher: Lower, Lower: Higher, Equal: Equal, Same: Same, Unknown: Unknown}
	for _, x := range s.Contrasts {
		if x.Change != turned[want[x.Treatment]] {
			t.Errorf("swapped, %s: got %s, want %s", x.Treatment, x.Change, turned[want[x.Treatment]])
		}
	}
}

// A version that takes a thousandth is no worse for a trial that took three times as long as its own others: that is
// still far below what the old one takes. One that takes as long as the old one is not cleared so.
func TestASpikeBelowTheOldVersionIsNoRegression(t *testing.T) {
	old := []float64{1000, 1003, 998, 1001}
	for _, tt := range []struct {
		times float64
		want  bool
	}{{0.001, false}, {0.3, false}, {0.6, true}, {1, true}} {
		var took []float64
		for _, v := range old {
			took = append(took, v*tt.times)
		}
		took[2] *= 3
		a, b := series("A", "rtt", old...), series("A", "rtt", took...)
		a.Unit, b.Unit = "s", "s"
		o := Outcome{Condition: mustChange(t, "rtt > 5%"), Contrast: Contrast{Allowance: 1}}
		o.spikes(a, b)
		if (o.Spikes.New > 0) != tt.want {
			t.Errorf("%v times as long: got %+v, want spikes: %v", tt.times, o.Spikes, tt.want)
		}
	}
}

// A block that is slow for both of two interleaved versions is no spike of the quicker one, whose
// median it may pass by more; a trial that is slow alone is one.
func TestSlowBlocksAreNoSpikes(t *testing.T) {
	took := []float64{10, 10.2, 9.9, 10.1, 9.8, 10, 10.3, 9.7, 10.1, 14.9}
	var quicker []float64
	for i, v := range took {
		quicker = append(quicker, v*(0.9+0.001*float64(i%3)))
	}
	quicker[9] = 14.5 // 1.6 times its median, and 3 % less than its fellow
	for _, interleaved := range []bool{true, false} {
		for _, alone := range []bool{true, false} {
			old, new := series("A", "rtt", took...), series("A", "rtt", quicker...)
			if alone {
				new.Trials[4].Mean, new.Trials[9].Mean = 40, 13.3
			}
			old.Interleaved, new.Interleaved = interleaved, interleaved
			o := Outcome{Contrast: Contrast{Allowance: 1}}
			o.spikes(old, new)
			if want := alone || !interleaved; (o.Spikes.New > 0) != want {
				t.Errorf("interleaved %v, one trial slow alone %v: got %+v", interleaved, alone, o.Spikes)
			}
		}
	}
}

// Nothing changed in 40 treatments: Holm keeps false alarms at 5 % of the comparisons.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const runs = 200
	alarms := 0
	for range runs {
		var old, new []Series
		for i := range 40 {
			name := string(rune('A' + i))
			old = append(old, series(name, "rtt", around(r, 10, 0.05, 6)...))
			new = append(new, series(name, "rtt", around(r, 10, 0.05, 6)...))
		}
		c, err := Compare(old, new, nil, 0.95, 0.001)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Contrasts {
			if x.Change != Unknown {
				alarms++
				break
			}
		}
	}
	// 95 % of binomial(200, 0.05) is 4 to 16; without Holm it would be 174.
	if alarms > 20 {
		t.Errorf("%d of %d comparisons of equal results told a change", alarms, runs)
	}
}

// With the number of trials named, the same figures are decided.
func TestNeededDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := around(r, 10, 0.08, 6), around(r, 10.9, 0.08, 6)
	k := []Condition{mustChange(t, "rtt > 5%")}
	c, err := Compare([]Series{series("x", "rtt", a...)}, []Series{series("x", "rtt", b...)}, k, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Outcomes[0]
	if o.Verdict != stat.Undecided || o.Doubt.Needed <= 6 {
		t.Fatalf("got %s, %d trials needed", o.Verdict, o.Doubt.Needed)
	}
	again := func(xs []float64) []float64 {
		var out []float64
		for len(out) < o.Doubt.Needed*11/10 { // a tenth more: the sd of repeated values is a little smaller or larger
			out = append(out, xs...)
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] }) // else they would follow each other
		return out
	}
	c, err = Compare([]Series{series("x", "rtt", again(a)...)}, []Series{series("x", "rtt", again(b)...)}, k, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if c.Outcomes[0].Verdict == stat.Undecided {
		t.Errorf("still undecided with %d trials", len(again(a)))
	}
}

func TestNothingInCommon(t *testing.T) {
	_, err := Compare([]Series{series("a", "rtt", 1, 2)}, []Series{series("b", "rtt", 1, 2)}, nil, 0.95, 0.05)
	if !errors.Is(err, ErrNothingInCommon) || strings.Count(err.Error(), "in common") != 1 {
		t.Errorf("got %v", err)
	}
	_, err = Compare([]Series{series("a", "rtt", 1, 2)}, []Series{series("a", "rtt", 1, 2)},
		[]Condition{mustChange(t, "cpu > 5%")}, 0.95, 0.05)
	if !errors.Is(err, ErrNothingInCommon) || !strings.HasPrefix(err.Error(), `"cpu > 5%": cpu is not in both`) {
		t.Errorf("got %v", err)
	}
}

// A figure that only the old results have excludes nothing, and decides nothing.
func TestAFigureThatIsGone(t *testing.T) {
	base := []float64{10, 10.1, 9.9, 10.05, 9.95, 10}
	all := []Series{series("a", "rtt", base...), series("b", "rtt", base...)}
	with := append(slices.Clone(all), series("a", "cpu", base...), series("b", "cpu", base...))
	lacks := append(slices.Clone(all), series("a", "cpu", base...))
	for _, tt := range []struct {
		what     string
		old, new []Series
		cond     string
		want     stat.Verdict
		judged   int
	}{
		{"both have all", with, with, "cpu > 5%", stat.Contradicted, 2},
		{"one treatment's is gone", with, lacks, "cpu > 5%", stat.Undecided, 2},
		{"another figure's condition", with, lacks, "rtt > 5%", stat.Contradicted, 2},
		{"one treatment's is new", lacks, with, "cpu > 5%", stat.Contradicted, 1},
	} {
		c, err := Compare(tt.old, tt.new, []Condition{mustChange(t, tt.cond)}, 0.95, 0.05)
		if err != nil {
			t.Errorf("%s: %v", tt.what, err)
			continue
		}
		if got := c.Verdict(); got != tt.want || len(c.Outcomes) != tt.judged {
			t.Errorf("%s: got %s of %d outcomes, want %s of %d", tt.what, got, len(c.Outcomes), tt.want, tt.judged)
		}
	}
}

func TestParseConditions(t *testing.T) {
	for _, tt := range []struct {
		text  string
		less  bool
		bound float64
		side  measure.Side
		want  string // of the error
	}{
		{"rtt.p95 < 100ms", true, 0.1, "", ""},
		{"peak_rss<32MB", true, 32e6, "", ""},
		{"server.peak_rss <= 32 MiB", true, 32 << 20, "server", ""},
		{"throughput > 1e3", false, 1000, "", ""},
		{"server.energy > 100nJ", false, 100e-9, "server", ""},
		{"rtt < 5 μs", true, 5e-6, "", ""}, // the letter mu
		{"rtt < 100", true, 0, "", "write, for example, 'rtt < 100ms'"},
		{"rtt < 5%", true, 0, "", "write the bound as one of"},
		{"rtt 5ms", true, 0, "", "is not a condition"},
		{"rtx < 5ms", true, 0, "", `unknown response "rtx"; did you mean rtt`},
		{"rtt.p99 < 5ms", true, 0, "", `unknown figure "p99"; available: mean, median, p95`},
		{"server.rtt < 5ms", true, 0, "", "the server does not measure rtt"},
		{"rtt < 1.2.3ms", true, 0, "", "is not a number"},
		{"", true, 0, "", "is not a condition"},
	} {
		c, err := ParseRequirement(tt.text)
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.text, err)
		case c.Less != tt.less || math.Abs(c.Bound-tt.bound) > 1e-12*tt.bound || c.Side != tt.side:
			t.Errorf("%q: got %+v", tt.text, c)
		}
	}
	for text, want := range map[string]string{"rtt > 5ms": "is a percentage", "rtt < -100%": "cannot fall by"} {
		if _, err := ParseChange(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// What is detected is a change for the worse.
func TestParseDetect(t *testing.T) {
	for text, good := range map[string]bool{"5%": true, "rtt > 5%": true, "rtt < -5%": false, "throughput < -5%": true,
		"throughput > 5%": false, "notification_rate < -5%": true, "sent_rate > 5%": true, "sent_rate < -5%": true,
		"rtt > -5%": false} {
		if _, err := ParseDetect(text); (err == nil) != good {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func FuzzParseRequirement(f *testing.F) {
	f.Add("rtt.p95 < 100ms")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseRequirement(text); err == nil && (c.Response == "" || math.IsNaN(c.Bound)) {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// What a user pays is the mean: where the typical trial is quicker and the mean slower beyond doubt, a condition on the
// mean is met, whatever tails and spikes say.
func TestAMeanThatRoseIsMet(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 3))
	old, new := around(r, 1, 0.02, 100), around(r, 0.4, 0.02, 100)
	for i := range new {
		if i%2 == 0 {
			new[i] *= 5.5 // the typical trial takes 0.94 times as long, the mean 1.3
		}
	}
	for text, want := range map[string]stat.Verdict{"rtt.mean > 5%": stat.Confirmed, "rtt > 5%": stat.Confirmed,
		"rtt.mean > 60%": stat.Contradicted} {
		c, err := Compare([]Series{series("x", "rtt", old...)}, []Series{series("x", "rtt", new...)},
			[]Condition{mustChange(t, text)}, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if x := c.Outcomes[0]; x.Verdict != want || x.Contrast.Ratio.Estimate > 1 {
			t.Errorf("%s: got %s, typical ratio %g; want %s", text, x.Verdict, x.Contrast.Ratio.Estimate, want)
		}
	}
}

func TestLosses(t *testing.T) {
	of := func(name string, valid, wanted int) Attempts {
		return Attempts{Factors: []string{"stack"}, Levels: []string{name}, Name: name, Valid: valid, Wanted: wanted}
	}
	floor := of("floor", 5, 5)
	floor.Floor = true
	old := []Attempts{of("fails", 10, 10), of("shorter", 10, 10), of("gone", 7, 10), of("same", 8, 10), of("never", 0, 10),
		of("better", 5, 10), floor}
	new := []Attempts{of("fails", 2, 10), of("shorter", 5, 5), of("same", 8, 10), of("never", 0, 10), of("better", 9, 10)}
	var got []string
	for _, l := range Losses(old, new, 0.95) {
		got = append(got, l.String())
	}
	// the p of one by itself is doubled: all treatments together have half of the error
	want := []string{"fails: 2 of 10 trials are valid (before: 10 of 10): chance does not explain it (p 0.0043, Fisher's " +
		"exact test)", "gone is missing (before: 7 valid trials)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Equal versions lose a trial now and then, by chance: of three treatments none is said to have lost trials, in all but
// one comparison of forty. That none is left is said, and so is that most are gone.
func TestLostTrialsOfEquals(t *testing.T) {
	const comparisons = 2000
	r := rand.New(rand.NewPCG(29, 22))
	drawn := func(trials int, lost float64) []Attempts {
		var out []Attempts
		for _, name := range []string{"a", "b", "c"} {
			x := attempts(name)
			x.Wanted, x.Valid = trials, trials-drawnHits(r, trials, lost)
			out = append(out, x)
		}
		return out
	}
	verdict := func(old, new []Attempts) stat.Verdict {
		return Comparison{Lost: Losses(old, new, 0.95)}.Verdict()
	}
	for _, trials := range []int{5, 10, 20} {
		for _, lost := range []float64{0.01, 0.05, 0.2} {
			worse, fewer := 0, 0
			for range comparisons {
				old, new := drawn(trials, lost), drawn(trials, lost)
				if verdict(old, new) == stat.Confirmed {
					worse++
				}
				if len(Losses(old, new, 0.95)) > 0 {
					fewer++
				}
			}
			t.Logf("%d trials, %g %% lost: worse in %.1f %% of equals, fewer valid in %.1f %%", trials, 100*lost,
				100*float64(worse)/comparisons, 100*float64(fewer)/comparisons)
			if tooOften(worse, comparisons, 0.025) {
				t.Errorf("%d trials, %g %% lost: worse in %d of %d", trials, 100*lost, worse, comparisons)
			}
		}
		if v := verdict(drawn(trials, 0), drawn(trials, 1)); v != stat.Confirmed {
			t.Errorf("none of %d left: %s", trials, v)
		}
		if v := verdict(drawn(20, 0), drawn(20, 0.8)); v != stat.Confirmed {
			t.Errorf("most of 20 lost: %s", v)
		}
	}
	nine, ten := drawn(10, 0), drawn(10, 0)
	nine[0].Valid = 9
	lost := Losses(ten, nine, 0.95)
	if len(lost) != 1 || lost[0].Verdict() != stat.Undecided || lost[0].String() != "a: 9 of 10 trials are valid "+
		"(before: 10 of 10): chance may explain it; more trials would decide (p 1, Fisher's exact test)" {
		t.Errorf("one trial of ten less: got %v", lost)
	}
}

// Two versions of which each pair is equal are the same, though blocks differ: messages of each block are others.
func TestPairsThatAreEqualAreTheSame(t *testing.T) {
	for _, interleaved := range []bool{true, false} {
		old, new := series("A", "message_size", 100, 120, 110), series("A", "message_size", 100, 120, 110)
		old.Interleaved, new.Interleaved = interleaved, interleaved
		c, err := Compare([]Series{old}, []Series{new}, nil, 0.95, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Contrasts[0].Change; (got == Same) != interleaved {
			t.Errorf("interleaved %v: got %s", interleaved, got)
		}
	}
}

// Trials whose devices did not recover are no trials of which the rest can be compared, or chosen.
func TestTrialsThatDidNotRecover(t *testing.T) {
	old, new := series("a", "recovery_time", 30, 31, 29, 30, 30), series("a", "recovery_time", 10, 11)
	new.Longer = 3
	c, err := Compare([]Series{old}, []Series{new}, []Condition{mustChange(t, "recovery_time > 5%")}, 0.95, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Contrasts[0]; x.Change != Unknown || !strings.Contains(x.Doubt, "3 of 5 trials of a ended before") ||
		c.Verdict() != stat.Undecided {
		t.Errorf("got %s, %s, %+v", c.Verdict(), x.Change, x)
	}
	before, now := attempts("a"), attempts("a")
	before.Wanted, before.Valid, before.Recovered = 5, 5, [2]int{5, 5}
	now.Wanted, now.Valid, now.Recovered = 5, 5, [2]int{2, 5}
	lost := Losses([]Attempts{before}, []Attempts{now}, 0.95) // the one side of Fisher's test: 10 of 120
	if len(lost) != 1 || lost[0].String() != "a: devices recovered in 2 of 5 trials (before: in 5 of 5): chance may "+
		"explain it; more trials would decide (p 0.17, Fisher's exact test)" ||
		LostWords(lost) != "devices recover in fewer trials" || (Comparison{Lost: lost}).Verdict() != stat.Undecided {
		t.Errorf("got %v", lost)
	}
	if lost := Losses([]Attempts{now}, []Attempts{before}, 0.95); len(lost) > 0 {
		t.Errorf("more recover: got %v", lost)
	}
	now.Recovered = [2]int{0, 5}
	if c := (Comparison{Lost: Losses([]Attempts{before}, []Attempts{now}, 0.95)}); c.Verdict() != stat.Confirmed {
		t.Errorf("none recovers any more: got %s, %v", c.Verdict(), c.Lost)
	}
	now.Waiting = 0.3
	if c := (Comparison{Lost: Losses([]Attempts{before}, []Attempts{now}, 0.95)}); c.Verdict() != stat.Undecided ||
		!strings.Contains(c.Lost[0].String(), "waiting for a CPU may explain it") {
		t.Errorf("none recovers while programs wait: got %s, %v", c.Verdict(), c.Lost)
	}
	chosen, err := Choose([]Series{series("b", "recovery_time", 30, 31, 29, 30, 30), new},
		[]Objective{{Term: mustTerm(t, "recovery_time")}}, nil, 0.95)
	if err != nil || names(chosen) != "b" || !strings.Contains(strings.Join(chosen.Left, ""), "a: 3 of 5 trials") {
		t.Errorf("got %s, left out %v, %v", names(chosen), chosen.Left, err)
	}
}

// Devices of equal versions recover in a trial or do not, by chance: of three treatments none is said to recover in
// fewer trials, in all but one comparison of forty. Where none recovers any more, that is said.
func TestRecoveriesOfEquals(t *testing.T) {
	const comparisons = 1000
	r := rand.New(rand.NewPCG(29, 14))
	drawn := func(trials int, share float64) []Attempts {
		var out []Attempts
		for _, name := range []string{"a", "b", "c"} {
			x := attempts(name)
			x.Wanted, x.Valid, x.Recovered = trials, trials, [2]int{drawnHits(r, trials, share), trials}
			out = append(out, x)
		}
		return out
	}
	for _, trials := range []int{3, 5, 10, 20} {
		for _, share := range []float64{0.5, 0.8, 0.95} {
			worse, found := 0, 0
			for range comparisons {
				old := drawn(trials, share)
				if (Comparison{Lost: Losses(old, drawn(trials, share), 0.95)}).Verdict() == stat.Confirmed {
					worse++
				}
				if (Comparison{Lost: Losses(drawn(trials, 1), drawn(trials, 0), 0.95)}).Verdict() == stat.Confirmed {
					found++
				}
			}
			t.Logf("%d trials, %.0f %% recover: worse in %.1f %% of equals", trials, 100*share,
				100*float64(worse)/comparisons)
			if tooOften(worse, comparisons, 0.025) {
				t.Errorf("%d trials, %.0f %% recover: worse in %d of %d equals", trials, 100*share, worse, comparisons)
			}
			if trials >= 5 && found != comparisons {
				t.Errorf("%d trials, none recovers any more: found in %d of %d", trials, found, comparisons)
			}
		}
	}
}

// Two versions are compared within blocks, the arithmetic means as well as typical trials: blocks of which each has its
// own message, and so its own time, keep nothing from being excluded.
func TestBlocksThatDifferHideNoMean(t *testing.T) {
	const studies = 300
	r := rand.New(rand.NewPCG(29, 23))
	k := mustChange(t, "rtt.mean > 5%")
	for _, tt := range []struct {
		slower float64
		want   stat.Verdict
		most   float64 // share of the studies that do not say so; of a bound that is met exactly, that say it
	}{{1, stat.Contradicted, 0.05}, {1.15, stat.Confirmed, 0.05}, {1.05, stat.Undecided, 0.05}} {
		others := 0
		for range studies {
			var old, new []float64
			for range 20 {
				block := 10 * math.Exp(0.5*r.NormFloat64())
				old = append(old, block*math.Exp(0.02*r.NormFloat64()))
				new = append(new, tt.slower*block*math.Exp(0.02*r.NormFloat64()))
			}
			a, b := series("x", "rtt", old...), series("x", "rtt", new...)
			a.Interleaved, b.Interleaved = true, true
			c, err := Compare([]Series{a}, []Series{b}, []Condition{k}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict() != tt.want {
				others++
			}
		}
		t.Logf("%g times as long: not %s in %.1f %%", tt.slower, tt.want, 100*float64(others)/studies)
		if tooOften(others, studies, tt.most) {
			t.Errorf("%g times as long: not %s in %d of %d", tt.slower, tt.want, others, studies)
		}
	}
}
