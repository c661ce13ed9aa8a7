package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// How busy the machine was when a run began counts where that run measured something.
func TestLoadIsOfRunsThatMeasured(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [a, b]}\ndesign: {replications: 6}\n"
	value := func(_ map[string]string, side measure.Side, response string) (float64, float64) {
		if response != "rtt" || side != measure.Client {
			return math.NaN(), 0
		}
		return 0.01, 0.001
	}
	dir := simulated(t, file, value)
	again := func(replications, load string, measures bool) string {
		t.Helper()
		s, err := study.Parse("study.yaml", []byte(strings.Replace(file, "6", replications, 1)), study.Vocabulary{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := study.Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		h := header(t, strings.Replace(file, "6", replications, 1), s, plan)
		doubt := ""
		if load != "" {
			doubt = `"load was ` + load + ` when the run began"`
		}
		h.Facts = fmt.Appendf(nil, `{"devices": {"local": {"Model": "simulated", "Doubts": [%s]}}}`, doubt)
		st, err := store.Open(dir, h)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if measures {
			a, err := st.Begin(plan.Trials[len(plan.Trials)-1].ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Commit(resultsOf(map[string]string{}, 1, value, store.Measured), nil); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Join(reportOf(t, dir).Warnings, "; ")
	}
	if got := again("6", "21.2", false); strings.Contains(got, "load was") {
		t.Errorf("a run that measured nothing: got %q", got)
	}
	for _, x := range [][2]string{{"7", "15.5"}, {"8", ""}} {
		if got := again(x[0], x[1], true); !strings.Contains(got, "load was 15.5") || strings.Contains(got, "21.2") {
			t.Errorf("%s replications: got %q", x[0], got)
		}
	}
	if got := again("9", "17.1", true); !strings.Contains(got, "load was 17.1") || strings.Contains(got, "15.5") {
		t.Errorf("a run later: got %q", got)
	}
}
