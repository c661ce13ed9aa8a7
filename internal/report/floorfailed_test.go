package report

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// The multiple of a floor is of all requests, whoever gives up its slow ones: its interval misses the truth no more
// often than it says, and tables, charts and files have the same, or say why there is none.
func TestTheMultipleOfAFloorIsOfAllRequests(t *testing.T) {
	studies := 400
	if testing.Short() {
		studies = 100
	}
	for _, x := range []struct {
		words string
		of    [2]lossy
		truth float64
	}{
		{"as quick, gives up the slowest 10 %", [2]lossy{{scale: 1, slowest: 0.1}, {scale: 1}}, 1},
		{"as quick, the floor does", [2]lossy{{scale: 1}, {scale: 1, slowest: 0.1}}, 1},
		{"twice as long, gives up the slowest 30 %", [2]lossy{{scale: 2, slowest: 0.3}, {scale: 1}}, 2},
		{"twice as long, none gives up", [2]lossy{{scale: 2}, {scale: 1}}, 2},
	} {
		rnd := rand.New(rand.NewPCG(29, 51))
		missed, answered := 0, 0
		for range studies {
			r := lossyReport(t, rnd, 12, 200, x.of)
			r.Treatments[0].Floor, r.Treatments[1].Stack = 1, "floor-tcp"
			c, f := &r.Cells[0], &r.Cells[1]
			old, err := Ratio(c, f, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if r.aboveFloor(); !c.HasFloor {
				t.Fatalf("%s: no multiple: %q", x.words, c.noFloor)
			}
			if old.Lo > x.truth || old.Hi < x.truth {
				answered++
			}
			if c.AboveFloor.Lo > x.truth || c.AboveFloor.Hi < x.truth {
				missed++
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(studies) }
		t.Logf("%s: the interval misses the truth in %.1f %%, of answered requests in %.1f %%", x.words, share(missed),
			share(answered))
		if limit := 0.05*float64(studies) + 3*math.Sqrt(0.05*0.95*float64(studies)); float64(missed) > limit {
			t.Errorf("%s: the interval misses the truth in %d of %d studies", x.words, missed, studies)
		}
	}
	for name, tt := range map[string]struct {
		lost         float64
		unseen       bool
		cell, figure string
		warns        string
	}{
		"none fails":      {0, false, "×floor", "× floor", ""},
		"some fail":       {0.1, false, "×floor", "floor (of all requests)", "medians among all requests"},
		"most fail":       {0.6, false, "–×floor", "", "the median among all requests of a trial is one that failed"},
		"nobody has seen": {0.1, true, "–×floor", "", "the exchanges that tell of all requests are not read here"},
	} {
		r := lossyReport(t, rand.New(rand.NewPCG(29, 52)), 12, 200, [2]lossy{{scale: 1, slowest: tt.lost}, {scale: 1}})
		r.Treatments[0].Floor, r.Treatments[1].Stack = 1, "floor-tcp"
		if tt.unseen {
			r.Cells[0].Points[3].AllMedian = math.NaN()
		}
		r.aboveFloor()
		text, chart := r.column(measure.Client, "rtt")[1], r.Chart(Panel{measure.Client, "rtt", "s"}).Rows[0].Value
		if warned := strings.Join(r.Cells[0].Warnings, "\n"); !strings.HasSuffix(text, tt.cell) ||
			strings.Contains(text, "–×floor") != (tt.figure == "") ||
			!strings.Contains(chart, tt.figure) || tt.figure == "" && strings.Contains(chart, "floor") ||
			!strings.Contains(warned, tt.warns) || strings.Contains(warned, "floor") != (tt.warns != "") {
			t.Errorf("%s: table %q, chart %q, warnings %q", name, text, chart, warned)
		}
	}
}

// Of results on disk the multiple of a floor is of all requests, which are read first; a first look does not.
func TestTheMultipleOfAFloorIsReadOfAllRequests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	losingBeside(t, dir, "floor-tcp", 30)
	r := reportOf(t, dir)
	c := &r.Cells[0]
	read := c.AboveFloor.Estimate
	if r.aboveFloor(); !c.HasFloor || read != c.AboveFloor.Estimate {
		t.Errorf("it is %v, and of all requests %v", read, c.AboveFloor.Estimate)
	}
	if of, err := Ratio(c, &r.Cells[1], 0.95); err != nil || !(of.Estimate < 0.9*read) {
		t.Errorf("of the answered requests it is %v, %v", of.Estimate, err)
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err = ReadUnverified(s); err != nil || r.Cells[0].HasFloor || r.Cells[0].noFloor == "" {
		t.Errorf("a first look has %v, %v", r.Cells[0].AboveFloor, err)
	}
}
