package advise

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Requests that were sent again are judged as those that failed, beside these: of trials and of probes alike.
func TestRequestsSentAgain(t *testing.T) {
	for _, tt := range []struct {
		what     string
		old, new []stat.Share
		waiting  float64
		want     stat.Verdict
		says     string
	}{
		{"one in ten", shares(200, 0, 0, 0, 0, 0), shares(200, 20, 21, 19, 22, 20), 0, stat.Confirmed,
			"102 of 1000 requests (10.2 %) were sent again, 0 of 1000 requests (0 %) before: chance does not explain it"},
		{"all, which says more than none is answered", shares(200, 0, 0, 0, 0, 0), shares(200, 200, 200, 199, 200, 200), 0,
			stat.Confirmed, "chance does not explain it"},
		{"each of all", shares(200, 0, 0, 0, 0, 0), shares(200, 200, 200, 200, 200, 200), 0, stat.Confirmed,
			"were sent again, 0 of 1000 requests (0 %) before: chance does not explain it"},
		{"one trial", shares(200, 0, 0, 0, 0, 0), shares(200, 0, 0, 150, 0, 0), 0, stat.Undecided,
			"if requests are sent again independently"},
		{"fewer", shares(200, 20, 21, 19, 22, 20), shares(200, 0, 0, 0, 0, 0), 0, stat.Contradicted, "were sent again"},
		{"while programs waited", shares(200, 0, 0, 0, 0, 0), shares(200, 20, 21, 19, 22, 20), 0.5, stat.Confirmed,
			"neither chance nor waiting for a CPU explains it"},
	} {
		old, new := attempts("a", shares(200, 0, 0, 0, 0, 0)...), attempts("a", shares(200, 0, 0, 0, 0, 0)...)
		old.Repeated, new.Repeated, new.Waiting = tt.old, tt.new, tt.waiting
		for what, got := range map[string][]Failures{"trials": FailuresOfTrials([]Attempts{old}, []Attempts{new}, 0.95),
			"runs": JudgeSentAgain(old, new, 0.95)} {
			if len(got) != 1 || !got[0].Again || got[0].Verdict != tt.want || !strings.Contains(got[0].String(), tt.says) ||
				got[0].Units() != what {
				t.Errorf("%s, %s: got %+v, %v; want %s, %q", tt.what, what, got, got, tt.want, tt.says)
			}
		}
		if new.Repeated = nil; len(JudgeSentAgain(old, new, 0.95)) > 0 {
			t.Errorf("%s: what nobody counted is judged", tt.what)
		}
	}
}
