package web

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// gateBegun begins a run of a study; this process holds its lock until it is closed.
func gateBegun(t testing.TB, dir, stacks, kernel, title string) (*store.Store, study.Plan) {
	t.Helper()
	facts, err := json.Marshal(map[string]any{"edgegauge": map[string]string{"version": "test"},
		"devices": map[string]any{"local": map[string]string{"kernel": kernel}},
		"stacks":  map[string]any{"s": map[string]string{"version": title, "commit": "0123456789ab"}}})
	ok(t, err)
	service := "service: monitor\n"
	if strings.HasPrefix(stacks, "server: ") { // one that edgegauge does not start
		service = ""
	}
	kept, plan, err := fabricated.CreateOn(dir, fmt.Appendf(nil, "study: gate\n%srequests: 100\n%s\n"+
		"design: {replications: 8, seed: 1}\nresponses: [rtt]\n", service, stacks), facts)
	ok(t, err)
	return kept, plan
}

// gateTrial conducts a trial of it: the RTT of each stack, in s.
func gateTrial(t testing.TB, kept *store.Store, trial study.Trial, r *rand.Rand, rtts ...float64) {
	t.Helper()
	a, err := kept.Begin(trial.ID)
	ok(t, err)
	v := rtts[trial.Cell] * math.Exp(0.01*r.NormFloat64())
	ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, SD: v / 10,
		Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}, nil))
}

// gate writes a whole run.
func gate(t testing.TB, dir, stacks, kernel, title string, rtts ...float64) {
	t.Helper()
	kept, plan := gateBegun(t, dir, stacks, kernel, title)
	defer kept.Close()
	name := filepath.Base(dir) // not the whole path, which differs from test to test
	r := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[len(name)-1])))
	for _, trial := range plan.Trials {
		gateTrial(t, kept, trial, r, rtts...)
	}
}

// began is when results began.
func began(t testing.TB, dir string) time.Time {
	t.Helper()
	s, err := store.OpenReadOnly(dir)
	ok(t, err)
	defer s.Close()
	r, err := report.ReadUnverified(s)
	ok(t, err)
	return r.Started
}

// gates makes a history: eight runs, five on another kernel, and three that are 30 %
// slower.
func gates(t testing.TB, dir string) {
	t.Helper()
	for i := range 16 {
		kernel, rtt := "6.1", 1e-3
		if i >= 8 {
			kernel = "6.6"
		}
		if i >= 13 {
			rtt = 1.3e-3
		}
		gate(t, filepath.Join(dir, fmt.Sprintf("%03d", i+1)), "stack: s", kernel, "<script>alert(1)</script>", rtt)
	}
}

// confirmGate makes the confirmation of the slower ones.
func confirmGate(t testing.TB, dir string) {
	t.Helper()
	both := filepath.Join(dir, "confirmed")
	gate(t, both, "factors: {stack: [s@base, s]}", "6.6", "1", 1e-3, 1.3e-3)
	ok(t, report.Confirms{Old: began(t, filepath.Join(dir, "012")), New: began(t, filepath.Join(dir, "016")),
		Responses: []string{"rtt"}, Detect: 0.05}.Write(both))
}

// Results on disk come out as marks of the page, with links to what they rest on.
func TestHistoryPage(t *testing.T) {
	dir := t.TempDir()
	gates(t, filepath.Join(dir, "gate"))
	s := served(t, Options{Folders: []string{dir}})
	page := shows(t, s, "/history/", "gate by date: 16 runs", "no confirmed regression; 1 suspect to confirm",
		`class="mark-suspect"`, `class="mark-machine"`, "local kernel: 6.1 → 6.6", "To confirm: <code>edgegauge confirm ",
		"16 runs as a table", `class="fig-mark mark-suspect"`)
	if strings.Count(page, `<circle class="fig-mean"`) != 16 || strings.Count(page, `class="fig-level"`) != 3 {
		t.Errorf("the figure has %d points and %d levels, want 16 and 3", strings.Count(page, `<circle class="fig-mean"`),
			strings.Count(page, `class="fig-level"`))
	}
	one := id(t, s, "gate/001")
	shows(t, s, "/history/?study=gate&by=date&base="+one, "A baseline is pinned", "times the baseline", "<td>1</td>",
		`class="fig-floor"`, "<b>baseline</b>", "<td>"+timesBase(t, dir, "gate/001", "gate/016")+"</td>")
	named := shows(t, s, "/history/?study=gate&by=version", "by version", "&lt;script&gt;alert(1)")
	if strings.Contains(named, "<script>alert") {
		t.Error("a version of a stranger is a script of the page")
	}
	shows(t, s, "/history/?study=gate&by=commit", "0123456789ab")
	shows(t, s, "/history/?study=none", "no result is of study")
	shows(t, s, "/history/?by=weather&response=nonsense&base=nowhere", "gate by date: 16 runs")
	gates(t, filepath.Join(dir, "other"))
	confirmGate(t, filepath.Join(dir, "other"))
	ok(t, os.RemoveAll(filepath.Join(dir, "gate")))
	shows(t, s, "/history/", "1 confirmed regression", `class="mark-worse"`, "confirmed worse from",
		`href="../r/`+id(t, s, "other/confirmed")+`/">The results that say so`)
}

// A suspect of a service that edgegauge does not start has no button, and no page that confirms it; the page says how
// both versions are measured.
func TestHistoryOfAServiceOffersNoConfirmation(t *testing.T) {
	dir := t.TempDir()
	for i := range 15 {
		rtt := 1e-3
		if i >= 12 {
			rtt = 1.3e-3
		}
		gate(t, filepath.Join(dir, "gate", fmt.Sprintf("%03d", i+1)), "server: {url: 'http://h/'}\nrequest: {method: GET}",
			"6.1", "1", rtt)
	}
	s, _, _ := controlled(t, dir)
	v := visitor{t, s}
	page := v.ask("GET", "/history/", nil, nil).Body.String()
	if strings.Contains(page, "confirm it") || !strings.Contains(page, "[OLD-URL, NEW-URL]") ||
		!strings.Contains(page, "To confirm, start both versions, each at a URL of its own: <code>edgegauge run ") {
		t.Errorf("the page says %s", page)
	}
	to := fmt.Sprintf("/history/confirm/?old=%s&new=%s&response=client.rtt", id(t, s, "gate/012"), id(t, s, "gate/015"))
	w := v.ask("GET", to, nil, nil)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "does not start") {
		t.Errorf("%d: %.500s", w.Code, w.Body)
	}
}

// timesBase is the ratio of the RTTs of one run to those of another, with its interval: Welch of their trials.
func timesBase(t *testing.T, dir, base, run string) string {
	t.Helper()
	trials := func(name string) (values []float64) {
		kept, err := store.OpenReadOnly(filepath.Join(dir, name))
		ok(t, err)
		defer kept.Close()
		for row, err := range kept.Results() {
			ok(t, err)
			values = append(values, row.Mean)
		}
		return values
	}
	c, err := stat.RatioWelch(trials(run), trials(base), 0.95)
	ok(t, err)
	return fmt.Sprintf("%.3f (%.3f to %.3f)", c.Estimate, c.Lo, c.Hi)
}

// Of a run and its copy it is always the copy that is left out, as on the command line.
func TestHistoryHasARunOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		gate(t, filepath.Join(dir, fmt.Sprintf("%03d", i+1)), "stack: s", "6.1", "1", 1e-3)
	}
	for i := range 5 {
		ok(t, os.CopyFS(filepath.Join(dir, fmt.Sprintf("copy-%d", i)), os.DirFS(filepath.Join(dir, "001"))))
	}
	s := served(t, Options{Folders: []string{dir}})
	for range 8 {
		page := shows(t, s, "/history/", "gate by date: 3 runs", "copy-4 is the same run as "+filepath.Join(dir, "001"))
		if strings.Contains(page, filepath.Join(dir, "001")+" is the same run") {
			t.Error("the run is left out, and its copy is not")
		}
	}
}

// What a link in place of a file of a trial leads to is not shown, and such results are left out.
func TestHistoryFollowsNoLinks(t *testing.T) {
	dir, above := t.TempDir(), t.TempDir()
	ok(t, os.WriteFile(filepath.Join(above, "secret.json"),
		[]byte(`{"Stacks": {"Server": "s"}, "Server": {"Runtime": "swordfish"}}`), 0o644))
	for i := range 4 {
		one := filepath.Join(dir, fmt.Sprintf("%03d", i+1))
		gate(t, one, "stack: s", "6.1", "1", 1e-3)
		if i == 3 {
			ok(t, os.Symlink(filepath.Join(above, "secret.json"), filepath.Join(one, "trials/0001/ready.json")))
		}
	}
	s := served(t, Options{Folders: []string{dir}})
	page := shows(t, s, "/history/", "gate by date: 3 runs", "ready.json is a link")
	if strings.Contains(page, "swordfish") {
		t.Error("it shows what a link leads to")
	}
}

// What is still measured, or was stopped, is no run of a history: it is left out, and named.
func TestUnfinishedRunsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		gate(t, filepath.Join(dir, fmt.Sprintf("%03d", i+1)), "stack: s", "6.1", "1", 1e-3)
	}
	kept, plan := gateBegun(t, filepath.Join(dir, "004"), "stack: s", "6.1", "1")
	defer kept.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for _, trial := range plan.Trials[:4] {
		gateTrial(t, kept, trial, r, 1.5e-3)
	}
	s := served(t, Options{Folders: []string{dir}})
	shows(t, s, "/history/", "gate by date: 3 runs", "004: unfinished, 4 of 8 trials valid")
	for _, trial := range plan.Trials[4:7] {
		gateTrial(t, kept, trial, r, 1.5e-3)
	}
	for range 3 { // two retries: the lab gives it up, and the run is whole without it
		shows(t, s, "/history/", "004: unfinished, 7 of 8 trials valid")
		a, err := kept.Begin(plan.Trials[7].ID)
		ok(t, err)
		ok(t, a.Invalidate("it rained", "", nil))
	}
	shows(t, s, "/history/", "gate by date: 4 runs")
}

// A history of several studies is of the one chosen.
func TestHistoryIsOfOneStudy(t *testing.T) {
	s := served(t, Options{Folders: []string{house(t)}})
	shows(t, s, "/history/", "Choose a study", "<option>wired</option>")
	shows(t, s, "/history/?study=report-bench", "1 run,", "left out", "asks something else than the newest",
		"requests: 300, there 400")
}

// Where requests failed, the page reads the exchanges of these trials, and has the medians among all requests.
func TestHistoryIsOfAllRequests(t *testing.T) {
	dir := t.TempDir()
	for run := range 2 {
		kept, plan, err := fabricated.Create(filepath.Join(dir, fmt.Sprintf("run/%03d", run+1)), []byte("study: s\n"+
			"service: echo\nn: 5\nstack: a\nrequests: 9\nfailures: 50%\nresponses: [rtt]\n"+
			"design: {replications: 4, seed: 1}\n"))
		ok(t, err)
		for _, trial := range plan.Trials {
			a, err := kept.Begin(trial.ID)
			ok(t, err)
			var xs []measure.Exchange
			vary := 1 + 0.001*float64(trial.Block)
			for i := range 9 { // of 1 to 9 ms, of which the slowest two fail: 4 ms of those answered, 5 ms of all
				at, took := time.Duration(i)*time.Second, time.Duration(float64(i+1)*vary*1e6)
				x := measure.Exchange{Seq: uint64(i + 1), Due: at, Sent: at, Done: at + took, Total: took}
				if i >= 7 {
					x.Done, x.Total, x.Failure = 0, 0, "no answer in time"
				}
				xs = append(xs, x)
			}
			w, err := a.Exchanges(measure.Client)
			ok(t, err)
			ok(t, w.Append(xs))
			ok(t, w.Close())
			v := 4e-3 * vary
			ok(t, a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 7, Mean: v, SD: v / 10,
				Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}, []store.Quality{
				{Key: "requests", Unit: "1", Value: 9}, {Key: "failures", Unit: "1", Value: 2}}))
		}
		ok(t, kept.Close())
	}
	page := shows(t, served(t, Options{Folders: []string{dir}}), "/history/", "RTT (median of all requests)", "5.01 ms")
	if n := strings.Count(page, `<circle class="fig-mean"`); n != 2 || strings.Contains(page, "not read here") {
		t.Errorf("%d points, want 2", n)
	}
}
