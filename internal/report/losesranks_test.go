package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A lossy treatment is what a study finds: times of requests, and which of them fail.
type lossy struct {
	scale   float64 // times 461 µs
	slow    float64 // share of requests that sleep for some 10 ms
	slowest float64 // share of the requests of a trial that fail: those that take longest
	any     float64 // share that fails, whatever it takes
	limit   float64 // s, what takes longer fails; 0: nothing does
}

// lossyReport draws a study of two treatments, a and b.
func lossyReport(t *testing.T, r *rand.Rand, trials, requests int, of [2]lossy) *Report {
	t.Helper()
	out := &Report{Factors: []string{"stack"}}
	out.Study.Design.Confidence = 0.95
	for i, x := range of {
		treatment := Treatment{Levels: []string{string(rune('a' + i))}, Floor: -1, Wanted: trials, Valid: trials}
		c := Cell{Treatment: i, Side: measure.Client, Response: "rtt", Unit: "s"}
		for b := range trials {
			base := x.scale * 461e-6 * math.Exp(0.05*r.NormFloat64())
			times := make([]float64, requests)
			for k := range times {
				times[k] = base * math.Exp(0.3*r.NormFloat64())
				if r.Float64() < x.slow {
					times[k] += 0.01 * (1 + r.Float64())
				}
			}
			slices.Sort(times)
			fast := times[:requests-int(math.Round(x.slowest*float64(requests)))]
			answered := slices.DeleteFunc(slices.Clone(fast), func(v float64) bool {
				return x.limit > 0 && v > x.limit || r.Float64() < x.any
			})
			failed := requests - len(answered)
			in, err := stat.WithinTrial(slices.Clone(answered))
			if err != nil {
				t.Fatal(err)
			}
			p := Point{Trial: 2*b + i + 1, Block: b + 1, Mean: in.Mean, Median: in.Median, P95: in.P95, SD: in.SD, Min: in.Min}
			for q, to := range map[float64]*float64{0.5: &p.AllMedian, 0.95: &p.AllP95} {
				if failed > 0 {
					if *to, err = stat.QuantileOfAll(answered, failed, q); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.Points = append(c.Points, p)
			treatment.failed = append(treatment.failed, stat.Share{Hits: failed, N: requests})
		}
		if err := c.summarize(out.Study.Design.Confidence); err != nil {
			t.Fatal(err)
		}
		out.Treatments, out.Cells = append(out.Treatments, treatment), append(out.Cells, c)
	}
	skewed := slices.ContainsFunc(out.Cells, func(c Cell) bool { return c.Skewed || c.Clustered })
	for i := range out.Cells {
		out.Cells[i].ByMedian = skewed && out.Cells[i].Median.HasInterval()
	}
	return out
}

// alone are the results of one of the treatments, as of a stack that was measured by itself.
func (r *Report) aloneAs(treatment int, name string) *Report {
	x := *r
	x.Treatments = slices.Clone(r.Treatments[treatment : treatment+1])
	x.Treatments[0].Levels = []string{name}
	x.Cells = slices.Clone(r.Cells[treatment : treatment+1])
	x.Cells[0].Treatment = 0
	return &x
}

// first is the treatment that the report's first sentence calls the quickest, and whether it calls the other one slower
// beyond doubt, and says nothing against that.
func (r *Report) first(t *testing.T) (best int, plainly bool, said string) {
	t.Helper()
	said = r.sentencesOn(group{treatments: []int{0, 1}}, question{"rtt", "Quickest", measure.Client})[0].Best
	best = slices.IndexFunc(r.Treatments, func(x Treatment) bool {
		return strings.HasPrefix(said, "Quickest: "+x.Name()+", ")
	})
	others := r.sentencesOn(group{treatments: []int{0, 1}}, question{"rtt", "Quickest", measure.Client})[0].Others
	return best, strings.Contains(others, "; next is ") && !strings.Contains(others, "; yet "), said + others
}

// What a report calls the quickest is not worse by what compare says of the same results, and is no better by having
// given up its slow requests: choose says the same.
func TestWhatReportRanksCompareSaysToo(t *testing.T) {
	studies := 2000
	if testing.Short() {
		studies = 150
	}
	gate, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		t.Fatal(err)
	}
	terms := Terms{Conditions: []advise.Condition{gate}, Margin: 0.05}
	r := rand.New(rand.NewPCG(29, 31))
	pick := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	plain, silent, other := 0, 0, 0
	for range studies {
		var of [2]lossy
		for i := range of {
			of[i] = lossy{scale: pick(1, 1, 1.15), slow: pick(0, 0, 0.03), slowest: pick(0, 0, 0.01, 0.02, 0.06),
				any: pick(0, 0, 0.02), limit: pick(0, 0, 0.015)}
		}
		study := lossyReport(t, r, 4+r.IntN(6), 200, of)
		best, plainly, said := study.first(t)
		if best < 0 {
			continue
		}
		worse, err := Compare(study.aloneAs(1-best, "x"), study.aloneAs(best, "x"), terms)
		if err != nil {
			t.Fatal(err)
		}
		if worse.Verdict() == stat.Confirmed && plainly {
			if plain++; plain < 4 {
				t.Errorf("%+v: the report says %q, compare %q", of, said, worse.Says())
			}
		}
		if f := worse.Failing(); f.Verdict == stat.Confirmed && !strings.Contains(said, " of the requests of ") {
			silent++
		}
		objective := []advise.Objective{{Term: study.Whole().Headline(advise.Term{Response: "rtt", Figure: "mean"})}}
		chosen, err := advise.Choose(study.Series(), objective, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if chosen.Candidates[0].Name != study.Treatments[best].Name() {
			if other++; other < 4 {
				t.Errorf("%+v: the report says %q, choose %s", of, said, chosen.Candidates[0].Name)
			}
		}
	}
	t.Logf("of %d studies the report calls in %d plainly quicker what is worse by compare, and is silent on failed requests "+
		"in %d; choose has another first in %d", studies, plain, silent, other)
	if plain > 0 || silent > 0 || other > 0 {
		t.Errorf("of %d studies: plainly quicker and worse %d, silent %d, another choice %d", studies, plain, silent, other)
	}
}

// Of two equal stacks one gives up its slowest requests: it is not called quicker.
func TestWhoLosesItsSlowRequestsIsNotRankedFirst(t *testing.T) {
	studies := 1000
	if testing.Short() {
		studies = 150
	}
	for _, x := range []struct {
		words  string
		trials int
		of     [2]lossy
	}{
		{"the slowest 2 %, six trials", 6, [2]lossy{{scale: 1, slow: 0.04, slowest: 0.02}, {scale: 1, slow: 0.04}}},
		{"the slowest 2 %, no slow ones", 12, [2]lossy{{scale: 1, slowest: 0.02}, {scale: 1}}},
		{"the slowest 2 %, four trials", 4, [2]lossy{{scale: 1, slow: 0.04, slowest: 0.02}, {scale: 1, slow: 0.04}}},
		{"the slowest 10 %", 12, [2]lossy{{scale: 1, slowest: 0.1}, {scale: 1}}},
		{"what takes above 15 ms", 8, [2]lossy{{scale: 1, slow: 0.04, limit: 0.015}, {scale: 1, slow: 0.04}}},
	} {
		r, quicker, slower := rand.New(rand.NewPCG(29, 32)), 0, 0
		for range studies {
			best, plainly, said := lossyReport(t, r, x.trials, 200, x.of).first(t)
			says := strings.Contains(said, "a part of the requests of b is slow") ||
				strings.Contains(said, "of a typical trial of b")
			if best == 0 && plainly || says {
				quicker++
			}
			if best == 1 && plainly {
				slower++
			}
		}
		t.Logf("%s: the one that loses them is called quicker in %.1f %% of %d studies, the other one in %.1f %%", x.words,
			100*float64(quicker)/float64(studies), studies, 100*float64(slower)/float64(studies))
		limit := 0.05*float64(studies) + 3*math.Sqrt(0.05*0.95*float64(studies))
		if float64(quicker) > limit {
			t.Errorf("%s: called quicker in %d of %d studies", x.words, quicker, studies)
		}
	}
}

// The ratio of two equal stacks has its interval around 1 as often as it says, however many slow requests one gives up:
// it is one of medians among all requests.
func TestRatiosAreOfAllRequests(t *testing.T) {
	const studies, slowest = 400, 0.2
	r, wrong := rand.New(rand.NewPCG(29, 33)), 0
	for range studies {
		study := lossyReport(t, r, 12, 200, [2]lossy{{scale: 1, slowest: slowest}, {scale: 1}})
		lost, cells, err := study.lossesOf([]*Cell{&study.Cells[0], &study.Cells[1]})
		if err != nil {
			t.Fatal(err)
		}
		k, err := rankCells(cells, lost, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		x, err := k.pairs.Compare(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if x.Lo > x.Even() || x.Hi < x.Even() {
			wrong++
		}
	}
	t.Logf("%d of %d intervals do not hold 1", wrong, studies)
	if float64(wrong) > 0.05*studies+3*math.Sqrt(0.05*0.95*studies) {
		t.Errorf("%d of %d intervals do not hold 1", wrong, studies)
	}
}

// Of results on disk: the answer, the levels and the Pareto front go by medians among all requests, tables and pictures
// say who failed how many, and a first look, which reads the ledger alone, ranks nobody as quickest of all.
func TestFailedRequestsAreSeenWhereTheyAreMissing(t *testing.T) {
	for _, fail := range []int{0, 3, 60} {
		dir := filepath.Join(t.TempDir(), "results")
		losing(t, dir, fail)
		r := reportOf(t, dir)
		s, err := store.OpenReadOnly(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.ReadRaw(s, 0); err != nil {
			t.Fatal(err)
		}
		first, err := ReadUnverified(s)
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		var text, page, pictures strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		if err := r.HTML(&page); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Pictures() {
			if err := p.SVG(&pictures); err != nil {
				t.Fatal(err)
			}
		}
		words := strings.Join(strings.Fields(text.String()), " ")
		mark := fmt.Sprintf("%d %% failed", fail)
		for what, tt := range map[string]struct {
			in, want string
			says     bool
		}{
			"answer":      {words, "(medians, since requests failed: among all requests, with those as the slowest)", fail == 3},
			"no answer":   {words, "not ranked, since the median among all requests of a trial is one that failed: a (60 % failed)", fail == 60},
			"table":       {words, "(" + mark + ")", fail > 0},
			"pictures":    {pictures.String(), mark + ", not in it", fail > 0},
			"page's data": {page.String(), `"lacks":"` + mark + `, not in it"`, fail > 0},
			"levels": {strings.Join(r.sentencesOf(), " "), "in RTT, by medians among all requests: ratio",
				fail == 3},
			"first look": {strings.Join(first.Verdict(), " "), "(by answered requests alone: the exchanges that tell of all are " +
				"not read here)", fail > 0},
		} {
			if got := strings.Contains(tt.in, tt.want); got != tt.says {
				t.Errorf("%d fail: %s says %q: %v, want %v; answer %q, levels %q", fail, what, tt.want, got, tt.says, r.Verdict(),
					r.sentencesOf())
			}
		}
	}
}
