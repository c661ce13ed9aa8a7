package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/bench/verdictbench"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// A past is a run to fabricate.
type past struct {
	rtt     float64 // s
	kernel  string
	commit  string
	study   string // more lines
	url     string // of a service that edgegauge does not start
	program string
}

const pastStudy = "study: gate\nservice: monitor\nrequests: 100\nstack: s\ndesign: {replications: 6, seed: 1}\n" +
	"responses: [rtt]\n"

func (p past) write(t *testing.T, dir string, seed uint64) {
	t.Helper()
	if p.kernel == "" {
		p.kernel = "6.1"
	}
	r := rand.New(rand.NewPCG(seed, 3))
	run := math.Exp(0.01 * r.NormFloat64())
	facts, err := json.Marshal(map[string]any{"edgegauge": map[string]string{"version": "bench"},
		"devices":   map[string]any{"local": map[string]any{"model": "m", "kernel": p.kernel, "cpus": 2}},
		"stacks":    map[string]any{"s": map[string]any{"version": "1", "commit": p.commit, "checksums": sums(p.program)}},
		"placement": map[string]any{}})
	ok(t, err)
	text := pastStudy + p.study
	if p.url != "" {
		text = strings.Replace(text, "service: monitor\nrequests: 100\nstack: s\n", "server: {url: '"+p.url+"'}\n"+
			"request: {method: GET}\nrequests: 100\n", 1)
	}
	ok(t, verdictbench.Truth{Study: text, Facts: string(facts), RTT: func(r *rand.Rand, _, _ int) float64 {
		return p.rtt * run * math.Exp(0.01*r.NormFloat64())
	}}.Write(dir, r))
}

func sums(program string) map[string]string {
	if program == "" {
		return nil
	}
	return map[string]string{"s.py": program}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pasts writes runs, by their number from 001.
func pasts(t *testing.T, dir string, all ...past) {
	t.Helper()
	for i, p := range all {
		if p.commit == "" {
			p.commit = fmt.Sprintf("%012x", i+1)
		}
		p.write(t, filepath.Join(dir, fmt.Sprintf("%03d", i+1)), uint64(i+1))
	}
}

// level is n runs of the same truth.
func level(n int, p past) []past {
	var out []past
	for range n {
		out = append(out, p)
	}
	return out
}

// says runs edgegauge and fails unless it exits so and prints all the texts, whatever the lines.
func (o own) says(t *testing.T, code int, args []string, texts ...string) string {
	t.Helper()
	out, got := o.run(t, args...)
	if got != code {
		t.Fatalf("edgegauge %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, out)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, text := range texts {
		if !strings.Contains(flat, text) {
			t.Errorf("edgegauge %s does not say %q:\n%s", strings.Join(args, " "), text, out)
		}
	}
	return out
}

// No version of a service that edgegauge does not start can be confirmed, so nobody is asked for one.
func TestConfirmSaysHowToMeasureAService(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	pasts(t, filepath.Join(o.dir, "svc"), level(2, past{rtt: 1e-3, url: "http://h/"})...)
	o.says(t, exitUsage, []string{"confirm", "svc/001", "svc/002"},
		"svc/002 is of a service that edgegauge does not start",
		"edgegauge run svc/002/study.yaml --set 'factors.server.url=[OLD-URL, NEW-URL]' --out both")
}

// Results on disk, the command, the verdict: what is fabricated comes out.
func TestHistoryOfFabricatedResults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	in := func(name string) string { return filepath.Join(o.dir, name) }

	pasts(t, in("quiet"), level(12, past{rtt: 1e-3})...)
	quiet := o.says(t, exitDone, []string{"history", "quiet"}, "gate by date: 12 runs", "no confirmed regression",
		"s RTT, client")
	if strings.Contains(quiet, "suspect") {
		t.Errorf("a quiet history has suspects:\n%s", quiet)
	}

	pasts(t, in("step"), append(level(12, past{rtt: 1e-3}), level(3, past{rtt: 1.1e-3})...)...)
	o.says(t, exitDone, []string{"history", "step", "--by", "commit"}, "1 suspect to confirm",
		"suspect from 00000000000d on: slower or larger, 1.", "not confirmed yet",
		"to confirm: edgegauge confirm step/010 step/015 --base 00000000000a --response client.rtt")

	pasts(t, in("strange"), append(level(12, past{rtt: 1e-3, commit: "x;touch ran"}),
		level(3, past{rtt: 1.1e-3, commit: "x;touch ran"})...)...)
	o.says(t, exitDone, []string{"history", "strange"},
		"to confirm: edgegauge confirm strange/010 strange/015 --base VERSION --response client.rtt")
	var got struct {
		Runs   []struct{ Label string }
		Series []struct {
			Marks []struct {
				Kind  string
				At    int
				Ratio float64
			}
		}
	}
	ok(t, json.Unmarshal([]byte(o.says(t, exitDone, []string{"history", "step", "--json", "--quiet"})), &got))
	if m := got.Series[0].Marks; len(got.Runs) != 15 || len(m) != 1 || m[0].Kind != "suspect" || m[0].At != 12 ||
		math.Abs(m[0].Ratio-1.1) > 0.03 {
		t.Errorf("got %+v", got)
	}

	pasts(t, in("kernel"), append(level(8, past{rtt: 1e-3}), level(8, past{rtt: 1.3e-3, kernel: "6.6"})...)...)
	kernel := o.says(t, exitDone, []string{"history", "kernel"}, "machine changed with", "local kernel: 6.1 → 6.6",
		"no confirmed regression")
	if strings.Contains(kernel, "suspect") {
		t.Errorf("another kernel is a suspect:\n%s", kernel)
	}

	pasts(t, in("same"), append(level(10, past{rtt: 1e-3, program: "x"}),
		level(10, past{rtt: 1.2e-3, program: "x"})...)...)
	o.says(t, exitDone, []string{"history", "same"}, "byte for byte the same")

	pasts(t, in("odd"), append(append(level(6, past{rtt: 1e-3}), past{rtt: 1.3e-3}), level(6, past{rtt: 1e-3})...)...)
	odd := o.says(t, exitDone, []string{"history", "odd"}, "one run decides nothing")
	if strings.Contains(odd, "suspect") {
		t.Errorf("an odd run is a suspect:\n%s", odd)
	}

	other := append(level(4, past{rtt: 1e-3, study: "concurrency: 2\n"}), level(4, past{rtt: 1e-3})...)
	pasts(t, in("other"), other...)
	o.says(t, exitDone, []string{"history", "other"}, "gate by date: 4 runs",
		"other/001 asks something else than the newest, other/008: concurrency: 2, there not set")
}

// What makes no history is refused with the reason; what is damaged is left out.
func TestHistoryRefuses(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	in := func(name string) string { return filepath.Join(o.dir, name) }
	pasts(t, in("all/a"), level(3, past{rtt: 1e-3})...)
	always := func(*rand.Rand, int, int) float64 { return 1 }
	ok(t, verdictbench.Truth{Treatments: 1, Blocks: 3, RTT: always}.Write(in("all/b"), rand.New(rand.NewPCG(1, 1))))
	ok(t, os.Mkdir(in("empty"), 0o755))
	o.says(t, exitUsage, []string{"history", "all"}, "the results are of 2 studies; choose one with --study: gate, truth")
	o.says(t, exitUsage, []string{"history", "all", "--study", "none"}, "no result is of study")
	o.says(t, exitUsage, []string{"history", "all", "--study", "truth", "--by", "commit"}, "does not say its commit")
	o.says(t, exitUsage, []string{"history", "all/a", "--by", "weather"}, "write date, commit or version")
	o.says(t, exitUsage, []string{"history", "empty"}, "holds no results")
	o.says(t, exitUsage, []string{"history", "all/a", "--response", "speed"}, "unknown response")
	plan := filepath.Join(in("all/a/002"), "plan.csv")
	text, err := os.ReadFile(plan)
	ok(t, err)
	ok(t, os.WriteFile(plan, append(text, "x\n"...), 0o644))
	o.says(t, exitDone, []string{"history", "all/a"}, "2 runs", "left out: all/a/002", "changed since the lab wrote it")
}

// confirmed writes the results of a confirmation of two runs: the new version takes
// so many times as long.
func confirmed(t *testing.T, dir, oldDir, newDir string, slower float64) {
	t.Helper()
	study := strings.Replace(strings.Replace(pastStudy, "stack: s\n", "factors: {stack: [s@base, s]}\n", 1),
		"replications: 6",
		"replications: 20", 1)
	ok(t, verdictbench.Truth{Study: study, RTT: func(r *rand.Rand, version, block int) float64 {
		v := 1e-3 * math.Exp(0.2*math.Sin(float64(block))+0.01*r.NormFloat64())
		if version == 1 {
			v *= slower
		}
		return v
	}}.Write(dir, rand.New(rand.NewPCG(4, 4))))
	began := func(dir string) report.Past {
		p, err := readPast(dir)
		ok(t, err)
		return p
	}
	ok(t, report.Confirms{Old: began(oldDir).Began, New: began(newDir).Began, OldDir: oldDir, NewDir: newDir,
		Responses: []string{"rtt"}, Detect: 0.05}.Write(dir))
}

// What a confirmation found stands at the suspect's mark.
func TestHistoryShowsConfirmations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	for name, x := range map[string]struct {
		slower float64
		code   int // of confirm
		says   []string
	}{
		"worse": {1.1, exitWorse, []string{"1 confirmed regression", "confirmed worse from",
			"interleaved in 20 blocks (worse/c)"}},
		"none":  {1, exitDone, []string{"no confirmed regression", "not confirmed: a suspect from"}},
		"small": {1.05, exitWorse, []string{"1 confirmed regression"}},
		"gain":  {0.8, exitDone, []string{"no confirmed regression", "confirmed better"}},
	} {
		dir := filepath.Join(o.dir, name)
		pasts(t, dir, append(level(12, past{rtt: 1e-3}), level(3, past{rtt: 1.1e-3})...)...)
		confirmed(t, filepath.Join(dir, "c"), filepath.Join(dir, "010"), filepath.Join(dir, "015"), x.slower)
		out := o.says(t, exitDone, []string{"history", name}, x.says...)
		o.says(t, x.code, []string{"confirm", name + "/c"}, "interleaved: 40 trials", "s RTT, client 20")
		if strings.Contains(out, "to confirm:") {
			t.Errorf("%s: it is still to be confirmed:\n%s", name, out)
		}
	}
	o.says(t, exitUsage, []string{"confirm", "none/001"}, "is no confirmation")
	o.says(t, exitUsage, []string{"confirm", "none/002", "none/001"}, "write OLD first")
	o.says(t, exitUsage, []string{"confirm", "none/001", "none/002", "--detect", "much"}, "write a change such as 5%")
	ok(t, store.RemoveBeside(filepath.Join(o.dir, "worse/c"), report.ConfirmationFile))
	o.says(t, exitDone, []string{"history", "worse"}, "it is a comparison, and no run", "1 suspect to confirm")
	ok(t, store.PutBeside(filepath.Join(o.dir, "none/c"), report.ConfirmationFile, func(w io.Writer) error {
		_, err := io.WriteString(w, `{"format": 9}`)
		return err
	}))
	o.says(t, exitDone, []string{"history", "none"}, "format 9 is not 1", "1 suspect to confirm")
}
