package paper

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A giver is the truth of a stack: the mean time of its requests, every fiftieth of which takes slow times as long, and
// the share of the slow ones, and of the others, that it gives up.
type giver struct{ mean, slow, slowLost, otherLost float64 }

// trial draws one: the mean of the requests that were answered, and the share of those that were not.
func (g giver) trial(r *rand.Rand) (mean, lost float64) {
	const n = 500
	ordinary := g.mean / (0.98 + 0.02*g.slow)
	trial := 1 + 0.02*r.NormFloat64()
	answered := 0
	for i := range n {
		t, gives := ordinary, g.otherLost
		if i%50 == 0 {
			t, gives = ordinary*g.slow, g.slowLost
		}
		if r.Float64() >= gives {
			mean, answered = mean+t*trial*(1+0.1*r.NormFloat64()), answered+1
		}
	}
	return mean / float64(answered), 1 - float64(answered)/n
}

// judged is the verdict on the paper's claim of a study of ten blocks, in which nobody waits longer for an answer than
// limit; before is that of the answered requests alone.
func (p Paper) judged(r *rand.Rand, rest, axis2 giver, limit float64) (before, after Judged) {
	var all, answered []advise.Series
	for i, g := range []giver{rest, axis2} {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{"rest"}, Side: measure.Client, Response: "rtt",
			Unit: "s", Limit: limit, Lost: map[int]float64{}}
		if i == 1 {
			s.Levels = []string{"axis2"}
		}
		for b := range 10 {
			mean, lost := g.trial(r)
			s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: mean, SD: mean * (0.1 + 0.01*r.Float64())})
			if s.Lost[b] = lost; lost == 0 {
				delete(s.Lost, b)
			}
		}
		all = append(all, s)
		s.Lost = nil
		answered = append(answered, s)
	}
	return p.Judge(answered, Mapping{}, 0.95).Claims[0], p.Judge(all, Mapping{}, 0.95).Claims[0]
}

// Who gives up its slow requests is not quicker for it, nor like one that answers them: what those that failed may
// turn is undecided, and what they cannot turn is decided as before. The rates are those of doc/method.md.
func TestLostRequestsDecideNothing(t *testing.T) {
	less := Claim{ID: "less", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}
	alike := Claim{ID: "alike", Response: "transmission_rtt", Equivalent: []string{"rest", "axis2"}, Within: 0.25}
	size := Claim{ID: "size", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"}, Ratio: span{1.9, 1.9}}
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	studies := 500
	if testing.Short() {
		studies = 40
	}
	for _, x := range []struct {
		words       string
		rest, axis2 giver
		limit       float64
		claim       Claim
		holds       stat.Verdict // of the truth; undecided: neither may be said
		least       float64      // of the studies that say so
	}{
		{"equals, one gives up its slowest 2 %", giver{1, 20, 1, 0}, giver{1, 20, 0, 0}, 100, less, stat.Undecided, 0},
		{"equals, the other does", giver{1, 20, 0, 0}, giver{1, 20, 1, 0}, 100, less, stat.Undecided, 0},
		{"1.4 times as long, and gives up its slowest 2 %", giver{1, 20, 0, 0}, giver{1.4, 20, 1, 0}, 100, alike,
			stat.Contradicted, 0},
		{"3.4 times as long, 1.9 times without the slow ones, which it gives up", giver{1, 1, 0, 0},
			giver{3.4, 40, 1, 0}, 100, size, stat.Contradicted, 0},
		{"half as long, both fail in 0.2 %", giver{1, 3, 0, 0.002}, giver{2, 3, 0, 0.002}, 100, less, stat.Confirmed, 1},
		{"half as long, 0.05 % fail, 1,000 times as late", giver{1, 3, 0, 0.0005}, giver{2, 3, 0, 0.0005}, 1000, less,
			stat.Confirmed, 0},
		{"half as long, the longer gives up its slowest 2 %", giver{1, 3, 0, 0}, giver{2, 3, 1, 0}, 1000, less,
			stat.Confirmed, 1},
		{"twice as long, the shorter gives up its slowest 2 %", giver{2, 3, 0, 0}, giver{1, 3, 1, 0}, 10, less,
			stat.Contradicted, 1},
		{"alike, both fail in 0.1 %", giver{1, 3, 0, 0.001}, giver{1.02, 3, 0, 0.001}, 20, alike, stat.Confirmed, 0.95},
		{"1.9 times as long, both fail in 0.1 %", giver{1, 3, 0, 0.001}, giver{1.9, 3, 0, 0.001}, 20, size,
			stat.Confirmed, 0.95},
	} {
		p.Claims = []Claim{x.claim}
		r := rand.New(rand.NewPCG(29, 35))
		var wrong, right [2]int
		why := 0
		for range studies {
			before, after := p.judged(r, x.rest, x.axis2, x.limit)
			for i, j := range []Judged{before, after} {
				switch {
				case j.Verdict == x.holds && x.holds != stat.Undecided:
					right[i]++
				case j.Verdict != stat.Undecided:
					wrong[i]++
				}
			}
			said := strings.Join(after.Why, " ") + after.Decided()
			if after.Verdict == stat.Undecided && strings.Contains(said, "failed") {
				why++
			}
			if after.Needs.Answers != strings.Contains(said, "in which no request fails") {
				t.Fatalf("%s: %+v", x.words, after.Needs)
			}
		}
		n := float64(studies)
		t.Logf("%s (%s): wrong %.1f %%, now %.1f %%; right %.1f %%, now %.1f %%; undecided for those that failed %.1f %%",
			x.words, x.claim.ID, 100*float64(wrong[0])/n, 100*float64(wrong[1])/n, 100*float64(right[0])/n,
			100*float64(right[1])/n, 100*float64(why)/n)
		if float64(wrong[1]) > 0.05*n+3 || float64(right[1]) < x.least*n || x.holds == stat.Undecided && why < studies/2 {
			t.Errorf("%s: of %d studies %d say what is wrong, %d what is right, and %d why not", x.words, studies, wrong[1],
				right[1], why)
		}
	}
}

// Every form of claim has its answer kept back where requests that failed may turn it, says whose they are, and has it
// where they are too few for that.
func TestLostRequestsOfEveryForm(t *testing.T) {
	p, err := Load("rest-versus-soap-mobile")
	if err != nil {
		t.Fatal(err)
	}
	forms := []Claim{
		{Response: "response_time", Less: []string{"rest", "soap"}},
		{Response: "response_time", Less: []string{"rest", "soap"}, Difference: new(float64), Unit: "s"},
		{Response: "response_time", Greatest: "soap"},
		{Response: "response_time", Interaction: []string{"style", "service"}},
		{Response: "response_time", SpreadLess: []string{"rest", "soap"}},
		{Response: "response_time", SlopePer: "array_elements", At: map[string]string{"style": "rest", "service": "sum"},
			Slope: new(float64), Unit: "s"},
		{Response: "response_time", GrowthIn: "array_elements", At: map[string]string{"style": "rest", "service": "sum"},
			Exponent: span{0.4, 0.6}},
	}
	for _, c := range forms {
		c.ID = "x"
		p.Claims = []Claim{c}
		study := func(lost, limit float64) Judged {
			r := rand.New(rand.NewPCG(29, 36))
			var all []advise.Series
			for _, style := range []string{"rest", "soap"} {
				for _, service := range []string{"concat", "sum"} {
					for k, n := range []string{"2", "3", "4", "5", "6", "7", "8"} {
						s := advise.Series{Factors: []string{"style", "service", "array_elements"}, Levels: []string{style, service, n},
							Side: measure.Client, Response: "response_time", Unit: "s", Limit: limit}
						if style == "rest" && service == "sum" && lost > 0 {
							s.Lost = map[int]float64{}
						}
						truth, noise := math.Sqrt(float64(k+2)), 0.001
						if style == "soap" { // and the other way round for concat, of an interaction
							truth, noise = truth*2, 0.02
							if c.Interaction != nil && service == "concat" {
								truth /= 4
							}
						}
						for b := range 6 {
							s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: truth * (1 + noise*r.NormFloat64())})
							if s.Lost != nil {
								s.Lost[b] = lost
							}
						}
						all = append(all, s)
					}
				}
			}
			return p.Judge(all, Mapping{}, 0.95).Claims[0]
		}
		none, few, many := study(0, 0), study(1e-5, 10), study(0.1, 1000)
		if none.Verdict == stat.Undecided || len(none.Why) > 0 || none.Needs.Answers {
			t.Errorf("%s: none failed: %s: %q", c.Form(), none.Verdict, none.Why)
		}
		if of := c.SpreadLess != nil; (few.Verdict != none.Verdict) != of || few.Needs.Answers != of {
			t.Errorf("%s: few failed: %s, none: %s", c.Form(), few.Verdict, none.Verdict)
		}
		said := strings.Join(many.Why, " ")
		if many.Verdict != stat.Undecided || !many.Needs.Answers || many.Needs.Blocks > 0 ||
			!strings.Contains(said, "rest sum 2") || strings.Contains(said, "soap") || strings.Contains(said, "concat") {
			t.Errorf("%s: many failed: %s: %q, needs %+v", c.Form(), many.Verdict, said, many.Needs)
		}
		// A trial that has no value since all of its requests failed is no luck, and without a limit nothing is known.
		if late := study(1e-5, math.Inf(1)); late.Verdict != stat.Undecided || !late.Needs.Answers {
			t.Errorf("%s: no limit: %s, needs %+v", c.Form(), late.Verdict, late.Needs)
		}
	}
}

// Requests that failed at one end of a slope may tilt it to one side only: they were no quicker than those answered.
func TestLostRequestsTiltASlope(t *testing.T) {
	p, err := Load("rest-versus-soap-mobile")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "x", Response: "response_time", SlopePer: "array_elements",
		At: map[string]string{"style": "rest", "service": "sum"}, Slope: new(float64), Unit: "s"}}
	r := rand.New(rand.NewPCG(29, 40))
	for _, rises := range []bool{true, false} {
		of := func(loses string) Judged {
			var all []advise.Series
			for k, n := range []string{"2", "3", "4", "5", "6", "7", "8"} {
				s := advise.Series{Factors: []string{"style", "service", "array_elements"}, Levels: []string{"rest", "sum", n},
					Side: measure.Client, Response: "response_time", Unit: "s", Limit: 1000}
				truth := float64(10 - k)
				if rises {
					truth = float64(3 + k)
				}
				for b := range 6 {
					s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: truth + 0.01*r.NormFloat64()})
				}
				if n == loses {
					s.Lost = map[int]float64{1: 0.1, 2: 0.1, 3: 0.1, 4: 0.1}
				}
				all = append(all, s)
			}
			return p.Judge(all, Mapping{}, 0.95).Claims[0]
		}
		away, against := "8", "2"
		if !rises {
			away, against = against, away
		}
		none := of("")
		if none.Direction == stat.Undecided || of(away).Direction != none.Direction {
			t.Errorf("rises %v: %s, with failures that tilt it further %s", rises, none.Direction, of(away).Direction)
		}
		if got := of(against); got.Direction != stat.Undecided || !got.Needs.Answers {
			t.Errorf("rises %v: %s with failures that turn it, without them %s", rises, got.Direction, none.Direction)
		}
	}
}
