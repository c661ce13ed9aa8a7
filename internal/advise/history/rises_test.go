package history

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// full has simulations draw as many as doc/method.md states rates of.
var full = flag.Bool("full", false, "run the simulations at full size")

func never(int) bool { return false }

// trialsOf are runs of so many treatments and trials, of 30 requests each, of which share fails, run by run.
func trialsOf(r *rand.Rand, treatments, trials int, share func(int) float64, runs int) func(from, to int) [][]Count {
	var all [][][]stat.Share
	for range treatments {
		shares := make([][]stat.Share, runs)
		for run := range runs {
			for range trials {
				hits := 0
				p := share(run)
				for range 30 {
					if r.Float64() < p {
						hits++
					}
				}
				shares[run] = append(shares[run], stat.Share{Hits: hits, N: 30})
			}
		}
		all = append(all, shares)
	}
	return func(from, to int) [][]Count {
		out := make([][]Count, to-from)
		for _, shares := range all {
			for run, c := range Failing(shares[from:to], make([][]int, to-from), make([]bool, to-from)) {
				out[run] = append(out[run], c)
			}
		}
		return out
	}
}

// always are counts that are the same for each look.
func always(runs [][]Count) (n int, counts func(from, to int) [][]Count) {
	return len(runs), func(from, to int) [][]Count { return runs[from:to] }
}

// A rise that persists is named at the run where it began, also where each run by itself is too little, and where it
// ends; nothing is said of one bad run among few.
func TestRises(t *testing.T) {
	counts := func(of int, hits ...int) (out [][]Count) {
		for _, n := range hits {
			out = append(out, []Count{{All: n, Sure: n, Of: of}})
		}
		return out
	}
	for _, tt := range []struct {
		what string
		runs [][]Count
		anew int
		want string
	}{
		{"every trial of runs 4 to 6", counts(6, 0, 0, 0, 0, 6, 6, 6, 0, 0), -1, "4-9"},
		{"and all is well again", counts(6, 0, 0, 0, 0, 6, 6, 6, 0, 0, 0, 0, 0), -1, "4-7"},
		{"half of the trials, from 3 on", counts(16, 0, 0, 0, 8, 8, 8), -1, "3-6"},
		{"a little in each", counts(10, 1, 0, 1, 0, 0, 1, 0, 0, 3, 3, 4, 2, 3, 4, 3, 4, 3, 3), -1, "8-18"},
		{"one bad run of six", counts(10, 0, 0, 0, 10, 0, 0), -1, ""},
		{"always", counts(10, 5, 5, 5, 5, 5, 5, 5), -1, ""},
		{"fewer", counts(10, 8, 8, 8, 8, 0, 0, 0, 0), -1, ""},
		{"on another machine", counts(10, 0, 0, 0, 0, 8, 8, 8, 8), 4, ""},
		{"one run", counts(10, 5), -1, ""},
		{"twice", counts(20, 0, 0, 0, 0, 8, 8, 8, 8, 20, 20, 20, 20), -1, "4-12 8-12"},
	} {
		got := ""
		n, counts := always(tt.runs)
		for i, x := range Rises(n, counts, func(run int) bool { return run == tt.anew }) {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d-%d", x.From, x.End)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
	late := counts(6, 0, 0, 0, 0, 6, 6, 6, 6)
	for i := range late {
		late[i][0].Sure = 0
	}
	n, ofLate := always(late)
	if got := Rises(n, ofLate, never); len(got) > 0 {
		t.Errorf("of late ones, while programs waited: got %v", got)
	}
	shares := [][]stat.Share{{{Hits: 0, N: 10}, {Hits: 0, N: 10}}, {{Hits: 3, N: 10}, {Hits: 2, N: 10}}}
	for _, tt := range []struct {
		late   [][]int
		waited bool
		want   Count
	}{{nil, false, Count{2, 2, 2}}, {nil, true, Count{2, 0, 2}}, {[][]int{{0, 0}, {3, 1}}, true, Count{2, 1, 2}}} {
		if tt.late == nil {
			tt.late = make([][]int, 2)
		}
		if got := Failing(shares, tt.late, []bool{false, tt.waited}); got[1] != tt.want {
			t.Errorf("late %v, waited %v: got %v, want %v", tt.late, tt.waited, got[1], tt.want)
		}
	}
}

// Of equal histories of 5, 20 and 100 runs, looked at after each run, at most the level has a rise, whether requests
// fail alone or a trial's together; where runs differ from day to day, they are told apart by no more than the second
// level. A rise of 1 in 30 requests that stays is found, at its run or next to it.
func TestRisesOfEquals(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	r := rand.New(rand.NewPCG(17, 17))
	for _, runs := range []int{5, 20, 100} {
		repeats := 200 / max(1, runs/20)
		if *full {
			repeats *= 10
		}
		for _, tt := range []struct {
			what  string
			share func(run int) float64
			most  float64
		}{
			{"0.1 %", func(int) float64 { return 0.001 }, RiseLevel},
			{"3 %", func(int) float64 { return 0.03 }, RiseLevel},
			{"1 %", func(int) float64 { return 0.01 }, RiseLevel},
			{"all connections of 3 of 10 trials", func(int) float64 {
				return map[bool]float64{true: 8. / 30}[r.IntN(10) < 3]
			}, RiseLevel},
			{"a trial's together", func(int) float64 { return map[bool]float64{true: 0.5}[r.IntN(4) == 0] }, RiseLevel},
		} {
			said := 0
			for range repeats {
				if len(Rises(runs, trialsOf(r, 2, 6, tt.share, runs), never)) > 0 {
					said++
				}
			}
			share := float64(said) / float64(repeats)
			t.Logf("%d runs, equal, %s: a rise in %.2f %%", runs, tt.what, 100*share)
			if share > tt.most+4*math.Sqrt(tt.most/float64(repeats)) {
				t.Errorf("%d runs, %s: a rise in %d of %d", runs, tt.what, said, repeats)
			}
		}
		days := 0
		for range repeats {
			day := make([]float64, runs)
			for i := range day {
				day[i] = 0.06 * r.Float64()
			}
			ofDay := func(run int) float64 { return day[run] }
			if len(Rises(runs, trialsOf(r, 2, 6, ofDay, runs), never)) > 0 {
				days++
			}
		}
		t.Logf("%d runs, each day its own share, 0 to 6 %%: a rise in %.2f %%", runs, 100*float64(days)/float64(repeats))
		found, at, rising := 0, 0, 40
		if *full {
			rising = 200
		}
		for range rising {
			from := runs - max(2, runs/3)
			share := func(run int) float64 { return map[bool]float64{true: 1. / 30}[run >= from] }
			if all := Rises(runs, trialsOf(r, 2, 6, share, runs), never); len(all) > 0 {
				if found++; all[0].From == from {
					at++
				}
			}
		}
		t.Logf("%d runs, 1 of 30 since a third of them: found in %d of %d, at its run in %d", runs, found, rising, at)
		if runs >= 20 && (found < rising*19/20 || at < rising*3/4) {
			t.Errorf("%d runs: found in %d of %d, at its run in %d", runs, found, rising, at)
		}
	}
}
