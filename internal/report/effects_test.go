package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

const twoFactors = `study: two
service: monitor
factors:
  stack: [soap, rest, twin]
  ip: [ipv4, ipv6]
design: {replications: 8}
`

// rest is 2.2 times sooner than soap, twin as quick as rest; IPv6 takes 1.5 times as long.
func twoTruths(at map[string]string, side measure.Side, response string) (float64, float64) {
	if side != measure.Client {
		return math.NaN(), 0
	}
	v := 0.010
	if at["ip"] == "ipv6" {
		v *= 1.5
	}
	switch response {
	case "rtt":
		if at["stack"] == "soap" {
			v *= 2.2
		}
		return v, v / 100
	case "throughput":
		if at["stack"] == "soap" {
			return 100, 1
		}
		return 200, 2
	case "message_size":
		return map[string]float64{"soap": 900, "rest": 300, "twin": 300}[at["stack"]], 0
	}
	return math.NaN(), 0
}

func effectsOf(t *testing.T, r *Report, response string) Effects {
	t.Helper()
	i := slices.IndexFunc(r.Effects, func(e Effects) bool { return e.Response == response })
	if i < 0 {
		t.Fatalf("no effects on %s", response)
	}
	return r.Effects[i]
}

func TestEffectsFindTheTruth(t *testing.T) {
	r := reportOf(t, simulated(t, twoFactors, twoTruths))
	e := effectsOf(t, r, "rtt")
	if !e.Log || e.Anova == nil {
		t.Fatalf("got %+v", e)
	}
	// By hand: on logarithms soap is ln 2.2 above the others, which is a variance over 3 levels of (2/9)(ln 2.2)²; IPv6
	// one of (ln 1.5 / 2)².
	stack, ip := 2.0/9*math.Pow(math.Log(2.2), 2), math.Pow(math.Log(1.5)/2, 2)
	for _, term := range e.Anova.Terms {
		want := map[string]float64{"stack": stack / (stack + ip), "ip": ip / (stack + ip)}[term.Term]
		if math.Abs(float64(term.Variation)-want) > 0.01 {
			t.Errorf("%s: got %v of the variation, want %v", term.Term, term.Variation, want)
		}
	}
	says := strings.Join(e.sentences(0.95, nil), "\n")
	for _, want := range []string{"soap takes 2.2", "times as long to answer as ", "are alike within 5 % in RTT",
		"ipv6 takes 1.5"} {
		if !strings.Contains(says, want) {
			t.Errorf("no %q in %s", want, says)
		}
	}
	if says := strings.Join(effectsOf(t, r, "throughput").sentences(0.95, nil), "\n"); !strings.Contains(says,
		"times as many requests per second as soap") {
		t.Errorf("more is better: %s", says)
	}
	// no spread: the values themselves decide
	if says := strings.Join(effectsOf(t, r, "message_size").sentences(0.95, nil), "\n"); !strings.Contains(says,
		"soap sends messages 3.00 times as large as rest (no spread)") {
		t.Errorf("sizes: %s", says)
	}
	for _, format := range []string{"text", "json", "html"} {
		var b strings.Builder
		if err := Formats[format](r, &b); err != nil {
			t.Fatal(err)
		}
		page, _, _ := strings.Cut(b.String(), "<script>") // a chart library knows NaN
		if !strings.Contains(page, "times as long to answer as ") || strings.Contains(page, "NaN") {
			t.Errorf("%s: the sentence is not there, or a NaN is", format)
		}
		if format == "json" {
			var out struct {
				Effects []struct {
					Response, Scale string
					Levels          []struct{ Ratio float64 }
				}
			}
			if err := json.Unmarshal([]byte(b.String()), &out); err != nil || out.Effects[0].Scale != "log" ||
				len(out.Effects[0].Levels) != 3 {
				t.Errorf("got %+v, %v", out, err)
			}
		}
	}
}

// Where a ratio is another with each level of another factor, no average is said: it would hold nowhere. The terminal
// leaves the sentence to the verdicts where each level has one of its own.
func TestNoAverageOverWhatDiffers(t *testing.T) {
	r := reportOf(t, simulated(t, twoFactors, func(at map[string]string, side measure.Side,
		response string) (float64, float64) {
		v, sd := twoTruths(at, side, response)
		if at["stack"] == "soap" && at["ip"] == "ipv6" {
			v *= 2
		}
		return v, sd
	}))
	e := effectsOf(t, r, "rtt")
	says := strings.Join(e.sentences(0.95, nil), "\n")
	if !strings.Contains(says, "answers sooner than soap; by how much depends on the other factors: ratio soap to") ||
		!strings.Contains(says, "at ipv4, 4.4") || strings.Contains(says, "soap takes") {
		t.Errorf("got %s", says)
	}
	if says := strings.Join(effectsOf(t, r, "throughput").sentences(0.95, nil),
		"\n"); !strings.Contains(says, "; ratios are twin to soap.") {
		t.Errorf("more is better: %s", says)
	}
	var text strings.Builder
	if err := Formats["text"](r, &text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "depends on the other factors") {
		t.Errorf("said twice: %s", text.String())
	}
	for i := range r.Cells {
		r.Cells[i].ByMedian = true
	}
	if e, _ := r.effects(e.Panel); !strings.Contains(e.sentences(0.95, nil)[0], ", by means") {
		t.Errorf("beside verdicts by medians: %v", e.sentences(0.95, nil))
	}
}

// The published ratio stands in the sentence where the same was published.
func TestSentenceNamesThePublishedRatio(t *testing.T) {
	r := reportOf(t, simulated(t, afterPapers["cloud-of-things"], asPublished(t, "cloud-of-things", 0.01)))
	says := strings.Join(effectsOf(t, r, "rtt").sentences(0.95, nil), "\n")
	if !strings.Contains(says, "axis2 takes 11.") || !strings.Contains(says, "; published 11.5)") {
		t.Errorf("got %s", says)
	}
}

func TestDoubtsOfTrialsStandBesideTheFigures(t *testing.T) {
	w := world{value: twoTruths, method: store.Measured, quality: func(at map[string]string, block int) []store.Quality {
		q := []store.Quality{{Key: "span", Unit: "s", Value: 10}, {Key: "requests", Unit: "1", Value: 100},
			{Key: "failures", Unit: "1"},
			{Key: "rtt_first_third", Unit: "s", Value: 0.010 * (1 + 0.001*float64(block%3))},
			{Key: "rtt_last_third", Unit: "s", Value: 0.010 * (1 + 0.001*float64((block+1)%3))}}
		switch at["stack"] {
		case "soap":
			q[4].Value *= 0.8
		case "rest":
			q[4].Value = q[3].Value * (1.002 + 1e-5*float64(block%2)) // sure, and too little to matter
		case "twin":
			q[3].Value, q[4].Value = 0.010*(1+0.3*float64(block%2)), 0.012 // much, and by chance
			q = append(q, store.Quality{Key: "run_queue_wait_client", Unit: "s", Value: 2})
		}
		if at["stack"] == "rest" {
			q[2].Value = 3
		}
		if at["stack"] == "soap" && block > 4 {
			q = append(q, store.Quality{Key: "warm_up_requests", Unit: "1", Value: 20},
				store.Quality{Key: "warm_up_failures", Unit: "1", Value: 5})
		}
		return q
	}}
	r := reportOf(t, w.write(t, twoFactors))
	for _, c := range r.Cells {
		text := strings.Join(c.Warnings, "; ")
		stack := r.Treatments[c.Treatment].Levels[0]
		timed := c.Response != "message_size"
		for want, expected := range map[string]bool{
			"not steady": stack == "soap" && timed, "takes 0.8": stack == "soap" && timed,
			"still warming up; raise design.warmup":                      stack == "soap" && timed,
			"had no CPU, for a total of 0.2 s in each second of the run": stack == "twin" && timed,
			"24 of 800 requests failed":                                  stack == "rest",
			"20 of 80 requests of the warm-up failed in 4 of 8 trials":   stack == "soap",
		} {
			if strings.Contains(text, want) != expected {
				t.Errorf("%s %s: %q there is %v, want %v: %s", stack, c.Response, want, !expected, expected, text)
			}
		}
	}
}

// What is doubtful about a meter's readings stands beside the figures made of them.
func TestDoubtsOfMetersStandBesideEnergy(t *testing.T) {
	r := &Report{Cells: []Cell{{Side: measure.Client, Response: "energy"}, {Side: measure.Client, Response: "rtt"},
		{Side: measure.Server, Response: "power"}}}
	r.doubtEnergy([][]map[string]float64{{{"client_doubt_negative": 1}, {},
		{"client_doubt_negative": 1, "server_doubt_stuck": 1}}})
	for i, want := range []string{"in 2 of 3 trials: some readings are below zero", "",
		"in 1 of 3 trials: all readings of the meter are the same"} {
		if got := strings.Join(r.Cells[i].Warnings, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", r.Cells[i].Response, got, want)
		}
	}
}

// An analysis is of one kind of figure: of means where some links are shown by medians and others by means, as the
// ratio to a floor is that is shown otherwise.
func TestEffectsMixNoMediansWithMeans(t *testing.T) {
	variation := func(byMedian func(level string) bool) (Effects, float64) {
		r := reportOf(t, simulated(t, twoFactors, twoTruths))
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.ByMedian = byMedian(r.Treatments[c.Treatment].Levels[1]); c.ByMedian {
				for k := range c.Points {
					c.Points[k].Median = c.Points[k].Mean * 0.5
				}
			}
		}
		e, _ := r.effects(Panel{measure.Client, "rtt", "s"})
		for _, term := range e.Anova.Terms {
			if term.Term == "ip" {
				return e, float64(term.SS)
			}
		}
		return e, math.NaN()
	}
	_, want := variation(func(string) bool { return false })
	if e, got := variation(func(level string) bool { return level == "ipv4" }); got != want || e.Medians {
		t.Errorf("one of two by medians: got %v, want %v", got, want)
	}
	if e, got := variation(func(string) bool { return true }); math.Abs(got/want-1) > 1e-9 || !e.Medians {
		t.Errorf("all by medians: got %v, want %v", got, want)
	}
	a, b := Cell{ByMedian: true}, Cell{}
	for block := range 5 {
		v := 1 + 0.01*float64(block%3)
		a.Points = append(a.Points, Point{Block: block, Mean: 2 * v * v, Median: 1 * v})
		b.Points = append(b.Points, Point{Block: block, Mean: v, Median: v})
	}
	if x, err := Ratio(&a, &b, 0.95); err != nil || x.Lo < 1.9 {
		t.Errorf("a median over a mean: got %v (%v to %v), %v", x.Estimate, x.Lo, x.Hi, err)
	}
}
