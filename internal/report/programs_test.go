package report

import (
	"fmt"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// resumed writes results of two runs, whose facts say which builds they had; the
// second begins with the trials from half. Those before are measured on a bench; no name: by the lab itself.
func resumed(t *testing.T, half int, bench, first, second string) *Report {
	t.Helper()
	const file = "study: s\nservice: monitor\nfactors: {stack: [a, b]}\ndesign: {replications: 4}\n"
	s, err := study.Parse("study.yaml", []byte(file), study.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := study.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	h := header(t, file, s, plan)
	h.Facts = []byte(first)
	dir := t.TempDir() + "/results"
	st, err := store.Create(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	on := store.Bench{Name: bench}
	value := func(map[string]string, measure.Side, string) (float64, float64) { return 1, 0.1 }
	for i, trial := range plan.Trials {
		if i == half {
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			h.Facts = []byte(second)
			if st, err = store.Open(dir, h); err != nil {
				t.Fatal(err)
			}
			on = store.Bench{}
		}
		a, err := st.BeginOn(trial.ID, on)
		if err == nil {
			err = a.Commit(resultsOf(map[string]string{"stack": trial.Treatment[0].Text}, trial.Block, value,
				store.Measured), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return reportOf(t, dir)
}

// Figures of two builds in one result are doubted: in text, in JSON, in the page
// and beside the figures, with the trials of each.
func TestTwoBuildsInOneResult(t *testing.T) {
	facts := func(edgegauge, a, b string) string {
		return fmt.Sprintf(`{"edgegauge": {"sha256": %q}, "stacks": {"a": {"checksums": {"x": %q}}, "b": {"checksums": {"x": %q}}}}`, edgegauge, a, b)
	}
	for _, c := range []struct {
		what, bench, second string
		warns               []string // begins of the warnings
		beside              string   // stacks whose figures are doubted
	}{
		{"the same", "", facts("e1", "a1", "b1"), nil, ""},
		{"another edgegauge", "", facts("e2", "a1", "b1"),
			[]string{"edgegauge appears in 2 different builds in these results (trials 1–4 with e1…, trials 5–8 with e2…)"},
			"a b"},
		{"another stack", "", facts("e1", "a1", "b2"),
			[]string{"stack b appears in 2 different builds in these results (trials "}, "b"},
		{"not known", "", `{"devices": {}}`, nil, ""},
		{"another edgegauge, after what a bench measured with its own", "b1", facts("e2", "a1", "b2"), nil, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := resumed(t, 4, c.bench, facts("e1", "a1", "b1"), c.second)
			var got []string
			for _, w := range r.Warnings {
				if strings.Contains(w, "different builds") {
					got = append(got, w)
				}
			}
			if len(got) != len(c.warns) {
				t.Fatalf("got %q", got)
			}
			for i, want := range c.warns {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
			for _, cell := range r.Cells {
				doubted := strings.Contains(strings.Join(cell.Warnings, "\n"), "different builds")
				if stack := r.Treatments[cell.Treatment].Stack; doubted != strings.Contains(c.beside, stack) {
					t.Errorf("%s of %s: %q", cell.Response, stack, cell.Warnings)
				}
			}
			for _, format := range []string{"text", "json", "html"} {
				var b strings.Builder
				if err := Formats[format](r, &b); err != nil {
					t.Fatal(err)
				}
				said := strings.Contains(strings.Join(strings.Fields(b.String()), " "), "different builds in these results")
				if said != (c.warns != nil) {
					t.Errorf("%s says it: %t", format, said)
				}
			}
		})
	}
}
