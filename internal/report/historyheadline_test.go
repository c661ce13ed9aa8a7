package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// queues are runs of a service whose RTT stays as it is, and whose requests wait three times as long for a free
// connection in the last three runs. The first so many runs measure no response time.
func queues(t *testing.T, load string, runs, without int) []Past {
	var out []Past
	for run := range runs {
		w := exactly(nil)
		w.exact = func(_ map[string]string, block int) (all []store.Result) {
			of := func(response string, v float64) {
				v *= wobble(block) * (1 + 0.01*float64(run*7%5))
				all = append(all, store.Result{Side: measure.Client, Response: response, Unit: "s", N: 100, Mean: v, SD: v / 10,
					Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured})
			}
			of("rtt", 1e-3)
			if wait := map[bool]float64{false: 2e-3, true: 6e-3}[run >= runs-3]; run >= without {
				of("response_time", wait)
			}
			return all
		}
		p := PastOf(reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nstack: a\n"+load+
			"\ndesign: {replications: 6, seed: 1}\n")), nil)
		p.Dir, p.Began = fmt.Sprintf("runs/%03d", run+1), time.Unix(int64(1000*run), 0)
		out = append(out, p)
	}
	return out
}

// A history, and a confirmation, follow the time by which a report ranks: where requests are due at a rate that is the
// response time, which grows with a queue that no RTT shows. Runs that lack it say so, and have their RTT.
func TestHistoryFollowsTheTimeThatReportsRank(t *testing.T) {
	const runs = 9
	for _, tt := range []struct {
		what, load string
		without    int
		asked      []advise.Term
		series     string
		suspects   int
		confirm    string
		says, lack string
	}{
		{"at a rate", "rate: 50", 0, nil, "response_time", 1, "client.response_time", "1 suspect to confirm", "RTT"},
		{"at a rate, the RTT named", "rate: 50", 0, []advise.Term{{Response: "rtt"}}, "rtt", 0, "client.response_time",
			"no confirmed regression", "suspect"},
		{"some lack it", "rate: 50", 2, nil, "rtt response_time", 1, "client.response_time", "2 runs have no response_time " +
			"(such as runs/002), so the RTT, which leaves out the wait of requests that were due, is judged, too", "the RTT is"},
		{"all lack it", "rate: 50", runs, nil, "rtt", 0, "rtt", "runs/009 has no response_time, so the RTT is judged, which " +
			"leaves out the wait of requests that were due", "suspect"},
		{"closed load", "concurrency: 2", 0, nil, "rtt", 0, "rtt", "no confirmed regression", "response_time"},
	} {
		all := queues(t, tt.load, runs, tt.without)
		h, err := MakeHistory(all, "", ByDate, tt.asked)
		if err != nil {
			t.Fatal(err)
		}
		var series []string
		for _, j := range h.Series {
			series = append(series, j.Response)
		}
		if got := strings.Join(series, " "); got != tt.series || history.Suspects(h.Series) != tt.suspects {
			t.Errorf("%s: %d suspects of %s, want %d of %s", tt.what, history.Suspects(h.Series), got, tt.suspects, tt.series)
		}
		if got := h.Answer(); !strings.Contains(got, tt.says) || strings.Contains(got, tt.lack) {
			t.Errorf("%s: got %q, want %q and no %q", tt.what, got, tt.says, tt.lack)
		}
		newest := all[runs-1]
		if got := newest.Headline(); got != tt.confirm || (newest.WithoutWait() == "") != (tt.without < runs) {
			t.Errorf("%s: confirm asks for %s, %q", tt.what, got, newest.WithoutWait())
		}
	}
}
