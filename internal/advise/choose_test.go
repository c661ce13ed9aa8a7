package advise

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

func mustRequire(t *testing.T, text string) Condition {
	t.Helper()
	c, err := ParseRequirement(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustTerm(t *testing.T, text string) Term {
	t.Helper()
	x, err := ParseTerm(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func names(c Choice) string {
	var out []string
	for _, x := range c.Candidates {
		out = append(out, x.Name)
	}
	return strings.Join(out, " ")
}

func TestChooseRanksWhatMeetsFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	all := []Series{
		series("quick", "rtt", around(r, 0.010, 0.02, 10)...), series("quick", "message_size", around(r, 500, 0.001, 10)...),
		series("small", "rtt", around(r, 0.050, 0.02, 10)...), series("small", "message_size", around(r, 50, 0.001, 10)...),
		series("worse", "rtt", around(r, 0.060, 0.02, 10)...), series("worse", "message_size", around(r, 60, 0.001, 10)...),
		series("slow", "rtt", around(r, 0.300, 0.02, 10)...), series("slow", "message_size", around(r, 10, 0.001, 10)...),
		series("edge", "rtt", around(r, 0.100, 0.02, 10)...), series("edge", "message_size", around(r, 20, 0.001, 10)...),
	}
	floor := series("floor-tcp", "rtt", around(r, 0.001, 0.02, 10)...)
	floor.Floor = true
	all = append(all, floor)
	objectives := []Objective{{Term: mustTerm(t, "message_size")}, {Term: mustTerm(t, "rtt")}}
	c, err := Choose(all, objectives, []Condition{mustRequire(t, "rtt < 100ms")}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "small worse quick edge slow" {
		t.Errorf("got %s", got)
	}
	for _, tt := range []struct {
		name  string
		meets stat.Verdict
		front bool
	}{
		{"small", stat.Confirmed, true},    // the smallest of those that meet
		{"worse", stat.Confirmed, false},   // larger and slower than small
		{"quick", stat.Confirmed, true},    // larger, but the quickest
		{"edge", stat.Undecided, true},     // on the bound: may meet, and is smaller than all that do
		{"slow", stat.Contradicted, false}, // the smallest, and refused
	} {
		i := slices.IndexFunc(c.Candidates, func(x Candidate) bool { return x.Name == tt.name })
		if x := c.Candidates[i]; x.Meets != tt.meets || x.Front != tt.front {
			t.Errorf("%s: got meets %s, front %v, want %s, %v", tt.name, x.Meets, x.Front, tt.meets, tt.front)
		}
	}
	if best, ok := c.Best(); !ok || best.Name != "small" {
		t.Errorf("got %s", best.Name)
	}
	if next := strings.Join(c.Next(), "\n"); !strings.Contains(next, "edge, rtt < 100ms: ") ||
		strings.Contains(next, "slow") {
		t.Errorf("next: %s", next)
	}
	c, err = Choose(all, []Objective{{Term: mustTerm(t, "rtt"), Maximize: true}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(c); got != "slow edge worse small quick" {
		t.Errorf("maximized: got %s", got)
	}
}

// Blocks that are slow for both are no noise: the pairs tell.
func TestNoiseIsJudgedByBlock(t *testing.T) {
	var a, b, wide []float64
	for i := range 8 {
		block := math.Exp(float64(i%4) - 1.5) // a factor of 20 between blocks
		a, b = append(a, 10*block), append(b, 10.5*block*(1+0.002*float64(i%3)))
		wide = append(wide, 18*math.Exp(float64((i*3)%8-4)/4))
	}
	c, err := Choose([]Series{series("a", "rtt", a...), series("b", "rtt", b...), series("wide", "rtt", wide...)},
		[]Objective{{Term: mustTerm(t, "rtt")}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Candidates[1:] {
		if want := x.Name == "wide"; x.Noise != want {
			t.Errorf("%s: within noise %v (p %v)", x.Name, x.Noise, x.PAdjusted)
		}
	}
}

func TestChooseOnBadFigures(t *testing.T) {
	rtt := []Objective{{Term: mustTerm(t, "rtt")}}
	// One trial each: a rank by value, all within noise, nothing required is met.
	c, err := Choose([]Series{series("a", "rtt", 1), series("b", "rtt", 2)}, rtt,
		[]Condition{mustRequire(t, "rtt < 10s")}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Best(); ok || !c.Candidates[1].Noise || len(c.Next()) == 0 {
		t.Errorf("one trial each: %+v", c.Candidates)
	}
	// NaN leaves a treatment out and says so.
	c, err = Choose([]Series{series("a", "rtt", 1, 2), series("b", "rtt", 1, math.NaN())}, rtt, nil, 0.95)
	if err != nil || names(c) != "a" || !strings.Contains(strings.Join(c.Left, ""), "b: trial 2 of b has no mean of rtt") {
		t.Errorf("got %s, left %v, %v", names(c), c.Left, err)
	}
	if _, err = Choose([]Series{series("a", "rtt", 1, 2)}, []Objective{{Term: mustTerm(t, "cpu")}}, nil,
		0.95); !errors.Is(err, ErrNotMeasured) {
		t.Errorf("got %v", err)
	}
	if _, err = Choose([]Series{series("b", "rtt", math.NaN())}, rtt, nil, 0.95); !errors.Is(err, ErrNotMeasured) {
		t.Errorf("all failed: got %v", err)
	}
	// Values that never vary are judged by their value.
	c, err = Choose([]Series{series("a", "message_size", 10, 10, 10), series("b", "message_size", 11, 11, 11)},
		[]Objective{{Term: mustTerm(t, "message_size")}}, []Condition{mustRequire(t, "message_size < 11B")}, 0.95)
	if err != nil || c.Candidates[0].Meets != stat.Confirmed || c.Candidates[1].Meets != stat.Contradicted ||
		c.Candidates[1].Noise {
		t.Errorf("constant: %+v, %v", c.Candidates, err)
	}
}

// Where no side is named the worse one counts.
func TestWorseSideCounts(t *testing.T) {
	client, server := series("a", "peak_rss", 20e6, 20e6, 20e6), series("a", "peak_rss", 40e6, 41e6, 40e6)
	server.Side = "server"
	c, err := Choose([]Series{client, server}, []Objective{{Term: mustTerm(t, "client.peak_rss")}},
		[]Condition{mustRequire(t, "peak_rss < 32MB")}, 0.95)
	if err != nil || c.Candidates[0].Meets != stat.Contradicted || c.Candidates[0].Objectives[0].Center.Center != 20e6 {
		t.Errorf("got %+v, %v", c.Candidates, err)
	}
}

// Of a server that takes 5 % more than is allowed and scatters by 20 %, and a client that keeps to the bound by 1 % in
// every trial, the pair does not keep to it. By the means of six trials the client is the worse side in a quarter of
// the studies, and it alone was judged.
func TestARequirementOnBothSidesIsMetByBoth(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const studies = 300
	wrong, clientWorse := 0, 0
	for range studies {
		steady, far := around(r, 0.0099, 0.0005, 6), around(r, 0.0105, 0.2, 6)
		client, server := series("a", "cpu", steady...), series("a", "cpu", far...)
		server.Side = measure.Server
		c, err := Choose([]Series{client, server}, []Objective{{Term: mustTerm(t, "client.cpu")}},
			[]Condition{mustRequire(t, "cpu < 10ms")}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		k := c.Candidates[0].Checks[0]
		if mean(far) < mean(steady) {
			clientWorse++
		}
		if k.Verdict == stat.Confirmed {
			wrong++
		}
		if k.Verdict != stat.Confirmed && k.Figure.Side != measure.Server {
			t.Fatalf("the %s is said to keep the requirement from being met: %+v", k.Figure.Side, k)
		}
	}
	t.Logf("confirmed in %d of %d; the client is the worse side in %d", wrong, studies, clientWorse)
	if wrong > studies*5/100 || clientWorse < studies/10 {
		t.Errorf("confirmed in %d of %d; the client is the worse side in %d", wrong, studies, clientWorse)
	}
}

// A requirement whose bound is the truth is decided wrongly, whichever way, in at most 5 of 100 studies of four
// treatments and two requirements; one that is kept to, or broken, by twice the scatter is decided.
func TestRequirementsAreSeldomDecidedWrongly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	r := rand.New(rand.NewPCG(13, 14))
	const studies = 200
	wrong, decided := 0, 0
	for range studies {
		var all []Series
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, series(name, "rtt", around(r, 0.1, 0.1, 8)...), series(name, "message_size",
				around(r, 100, 0.01, 8)...))
		}
		all = append(all, series("far", "rtt", around(r, 0.12, 0.1, 8)...), series("far", "message_size",
			around(r, 98, 0.01, 8)...))
		// of a logarithmic scatter the mean is larger than the median, by its variance's half
		rtt, size := mustRequire(t, "rtt < 100ms"), mustRequire(t, "message_size < 100B")
		rtt.Bound, size.Bound = 0.1*math.Exp(0.005), 100*math.Exp(0.5e-4)
		c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, []Condition{rtt, size}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		bad := false
		for _, x := range c.Candidates {
			for i, k := range x.Checks {
				right := []stat.Verdict{stat.Contradicted, stat.Confirmed}[i]
				bad = bad || k.Verdict != stat.Undecided && (x.Name != "far" || k.Verdict != right)
				if x.Name == "far" && k.Verdict == right {
					decided++
				}
			}
		}
		if bad {
			wrong++
		}
	}
	text := fmt.Sprintf("a wrong verdict in %d of %d studies; %d of %d of what is plain are decided", wrong, studies,
		decided, 2*studies)
	if t.Log(text); wrong > studies*7/100 || decided < studies {
		t.Error(text)
	}
}

// On a machine that drifts, so that a trial says something of the next (correlation 0.7), a requirement whose bound is
// the truth is decided, which is wrong, in at most 8 of 100 studies of 32 blocks; by trials that were taken for
// independent it was in 40. What is kept to by far is decided all the same.
func TestRequirementsOnAMachineThatDrifts(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const studies, blocks = 500, 32
	for _, tt := range []struct {
		correlation float64
		most        float64
	}{{0, 0.07}, {0.7, 0.08}} {
		wrong, taken, decided := 0, 0, 0
		for range studies {
			xs, drift := make([]float64, blocks), r.NormFloat64()
			for i := range xs {
				xs[i] = 0.1 * (1 + 0.02*drift)
				drift = tt.correlation*drift + math.Sqrt(1-tt.correlation*tt.correlation)*r.NormFloat64()
			}
			c, err := Choose([]Series{series("a", "rtt", xs...)}, []Objective{{Term: mustTerm(t, "rtt")}},
				[]Condition{mustRequire(t, "rtt < 100ms"), mustRequire(t, "rtt < 130ms")}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			at, far := c.Candidates[0].Checks[0], c.Candidates[0].Checks[1]
			if at.Verdict != stat.Undecided {
				wrong++
			}
			if far.Verdict == stat.Confirmed {
				decided++
			}
			if m, err := stat.Mean(xs, 0.95); err == nil && (m.Lo > 0.1 || m.Hi < 0.1) {
				taken++
			}
		}
		t.Logf("correlation %g: decided in %d of %d, %d were they independent; what is far in %d", tt.correlation, wrong,
			studies, taken, decided)
		if float64(wrong) > tt.most*studies || decided < studies*98/100 || tt.correlation > 0 && taken < studies*3/10 {
			t.Errorf("correlation %g: decided in %d of %d, %d were they independent; what is far in %d", tt.correlation,
				wrong, studies, taken, decided)
		}
	}
}

// The p95 of requests of which more than one in twenty fails is that of those that were answered: among all it is one
// that was not. A bound that even those break is broken.
func TestAQuantileOfAnsweredRequestsMeetsNoBound(t *testing.T) {
	for _, tt := range []struct {
		failed float64
		bound  string
		want   stat.Verdict
	}{
		{0.04, "rtt.p95 < 100ms", stat.Confirmed}, {0.06, "rtt.p95 < 100ms", stat.Undecided},
		{0.06, "rtt.p95 < 10ms", stat.Contradicted}, {0.06, "rtt.median < 100ms", stat.Confirmed},
		{0.6, "rtt.median < 100ms", stat.Undecided}, {0.6, "rtt.p95 > 10ms", stat.Confirmed},
		{0.6, "serialization.p95 < 100ms", stat.Confirmed},
	} {
		all := []Series{series("a", "rtt", 0.010, 0.011, 0.0105), series("a", "serialization", 0.010, 0.011, 0.0105)}
		for i := range all {
			all[i].Failed = tt.failed
		}
		c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, []Condition{mustRequire(t, tt.bound)}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if k := c.Candidates[0].Checks[0]; k.Verdict != tt.want || strings.Contains(k.Doubt, "failed") !=
			(tt.want == stat.Undecided) {
			t.Errorf("%g of the requests failed, %s: %s %q, want %s", tt.failed, tt.bound, k.Verdict, k.Doubt, tt.want)
		}
	}
}

// What a meter read and what a model says are not compared, however far they are apart.
func TestChooseComparesNothingMeasuredWithAModel(t *testing.T) {
	all := []Series{series("metered", "energy", 1, 1.01, 1), series("metered too", "energy", 2, 2.01, 2),
		series("modelled", "energy", 3, 3.01, 3)}
	all[2].Modelled = true
	c, err := Choose(all, []Objective{{Term: mustTerm(t, "energy")}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	too, model := c.Candidates[1], c.Candidates[2]
	if too.Noise || too.Front || model.Name != "modelled" || !model.Noise || !math.IsNaN(model.Ratio.Estimate) ||
		!model.Unsure {
		t.Errorf("got %+v and %+v", too, model)
	}
	if next := strings.Join(c.Next(), "\n"); next != "modelled vs metered: one is measured, the other modelled; measure "+
		"both with a meter" {
		t.Errorf("next: %s", next)
	}
}

// What choose ranks by is what report shows: of trial medians the median, though a trial far off makes their mean
// larger.
func TestChooseRanksMediansByTheirMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	far := around(r, 0.010, 0.02, 10)
	far[9] = 0.5
	c, err := Choose([]Series{series("far once", "rtt", far...), series("steady", "rtt", around(r, 0.020, 0.02, 10)...)},
		[]Objective{{Term: mustTerm(t, "rtt.median")}}, nil, 0.95)
	if err != nil || c.Candidates[0].Name != "far once" || c.Candidates[0].Objectives[0].Center.Center > 0.011 {
		t.Errorf("got %+v, %v", c.Candidates, err)
	}
}

// A need is judged by its model, and ranks like a requirement.
func TestNeeds(t *testing.T) {
	all := []Series{series("quick", "rtt", 1, 1.1, 1), series("slow", "rtt", 2, 2.1, 2),
		series("open", "rtt", 1.5, 1.4, 1.5)}
	verdicts := map[string]stat.Verdict{"quick": stat.Contradicted, "slow": stat.Confirmed, "open": stat.Undecided}
	need := Need{Judge: func(levels []string) Check { return Check{Verdict: verdicts[levels[0]], Doubt: "modelled"} }}
	c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, []Condition{mustRequire(t, "rtt < 10s")}, 0.95, need)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, x := range c.Candidates {
		order = append(order, x.Name)
		if x.Meets != verdicts[x.Name] || len(x.Checks) != 2 || x.Checks[0].Verdict != stat.Confirmed {
			t.Errorf("%s: got %v, %+v", x.Name, x.Meets, x.Checks)
		}
	}
	if got := strings.Join(order, " "); got != "slow open quick" {
		t.Errorf("got %s", got)
	}
}

// Who has one side of a figure is not ranked by it beside others' worse side.
func TestASideThatIsNotKnownMayBeTheWorse(t *testing.T) {
	at := func(side measure.Side, s Series) Series {
		s.Side = side
		return s
	}
	all := []Series{at("client", series("ours", "cpu", 1, 1.1, 1)), at("server", series("ours", "cpu", 5, 5.1, 5)),
		at("client", series("theirs", "cpu", 2, 2.1, 2))}
	c, err := Choose(all, []Objective{{Term: mustTerm(t, "cpu")}}, nil, 0.95)
	if err != nil || names(c) != "ours" || len(c.Left) != 1 ||
		!strings.Contains(c.Left[0], "theirs: it has no cpu of the server, as others have") ||
		!strings.Contains(c.Left[0], "client.cpu is of all") {
		t.Errorf("got %s, left out %q, %v", names(c), c.Left, err)
	}
	if c, err = Choose(all, []Objective{{Term: mustTerm(t, "client.cpu")}}, []Condition{mustRequire(t, "cpu < 9s")},
		0.95); err != nil || names(c) != "ours theirs" || c.Candidates[1].Meets != stat.Undecided {
		t.Errorf("by the client, with a bound on both: got %s, left out %q, %v", names(c), c.Left, err)
	}
}

// A difference is said as it is tested, over the blocks; where the figures shown, medians of trials, differ otherwise,
// that is said, too.
func TestNextSaysWhichDifferenceItMeans(t *testing.T) {
	equal := series("equal", "rtt", 5.33, 5.6, 5.27, 5.24, 5.38, 5.5, 5.29, 5.32, 5.24, 5.38)
	for want, x := range map[string]Series{
		"tail vs equal, 8.1 % apart on average over the blocks (3.9 % by the figures above, of the typical trial): " +
			"about ": series("tail", "rtt", 5.31, 5.32, 5.72, 5.29, 5.28, 8.5, 6.13, 5.59, 5.88, 5.48),
		"level vs equal, 6.2 % apart: about ": series("level", "rtt", 4.6, 7, 5, 6.5, 5.68, 5.7, 4.9, 6.6, 5.3, 6.1),
	} {
		c, err := Choose([]Series{equal, x}, []Objective{{Term: mustTerm(t, "rtt.median")}}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Next(), "\n"); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of two that are exactly as much there is no difference that waiting for a CPU may explain; of others there may be.
func TestNothingExplainsNoDifference(t *testing.T) {
	all := []Series{series("tie1", "rtt", 2, 2.1, 2, 2.1, 2, 2.1), series("tie2", "rtt", 2.1, 2, 2.1, 2, 2.1, 2),
		series("slow", "rtt", 2.1, 2.2, 2.1, 2.2, 2.1, 2.2)}
	for i := range all {
		all[i].Waiting = 0.3
	}
	c, err := Choose(all, []Objective{{Term: mustTerm(t, "rtt")}}, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Candidates[1]; x.Name != "tie2" || !x.Same || !x.waited {
		t.Fatalf("got %+v", x)
	}
	for _, says := range c.Next() {
		if explains := strings.Contains(says, "may explain the difference"); explains != strings.HasPrefix(says, "slow vs ") {
			t.Errorf("got %q", says)
		}
	}
}
