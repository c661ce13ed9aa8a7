package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// Of results that were gone on with, the next commands name the study file of the last run: the first may say less.
func TestNextCommandsNameTheStudyOfTheLastRun(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	for _, x := range []struct{ replications, file string }{{"1", "old/study.yaml "}, {"2", "old/study-2.yaml "}} {
		o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nfactors: {stack: [rest-json, coap-cbor]}\nrequests: 5\n"+
			"design: {replications: "+x.replications+"}\n")
		if out, code := o.run(t, "run", "s.yaml", "--quiet", "--out", "old"); code != exitDone ||
			!strings.Contains(out, "edgegauge run "+x.file) {
			t.Errorf("%s replications: exit code %d: %s", x.replications, code, out)
		}
	}
}

// Results of benches are measured again on these: run refuses to go on with them alone.
func TestNextCommandsNameTheBenches(t *testing.T) {
	t.Parallel()
	for want, benches := range map[string][2]string{" --benches 2 --out ": {"here-1", "here-2"},
		" --benches 'rack1,rack2' --creds CREDENTIALS --out ": {"rack1", "rack2"}, "study.yaml --out ": {"", ""}} {
		dir := filepath.Join(t.TempDir(), "old")
		kept, plan, err := fabricated.Create(dir, fabricated.Study(2, 4, 20))
		ok(t, err)
		for _, trial := range plan.Trials {
			on := store.Bench{Name: benches[trial.Block%2], Boot: "b"}
			if on.Name == "" {
				on = store.Bench{}
			}
			ok(t, fabricated.TrialOn(kept, trial, 20, on))
		}
		ok(t, kept.Close())
		r, err := soundReport(dir)
		ok(t, err)
		var commands []string
		for _, s := range propose(dir, r) {
			commands = append(commands, s.Command)
		}
		got := strings.Join(commands, "\n")
		if n := strings.Count(got, "edgegauge run "); n == 0 || strings.Count(got, want) != n {
			t.Errorf("benches %q: got\n%s", benches, got)
		}
	}
}

// What is proposed fits what was measured: connecting is in the time where requests connect, a p95 is of trials that
// have one, and rates are nothing to choose from.
func TestNextCommandsFitWhatWasMeasured(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		factors   string
		requests  int
		want, not []string
	}{
		{"connection: [keep-alive, per-request]", 30, []string{"--minimize total_time", "'total_time.p95 < 100ms'",
			"'total_time > 5%'"}, []string{"rtt"}},
		{"stack: [rest-json, coap-cbor]", 30, []string{"--minimize rtt", "'rtt.p95 < 100ms'"}, nil},
		{"stack: [rest-json, coap-cbor]", 10, []string{"--minimize rtt", "'rtt < 100ms'"}, []string{"p95"}},
		{"rate: [100, 200]", 30, []string{"edgegauge compare"}, []string{"edgegauge choose", "would distinguish"}},
		{"rate: [100, 200], stack: [rest-json, coap-cbor]", 30, []string{"edgegauge choose"}, nil},
	} {
		dir := filepath.Join(t.TempDir(), "old")
		text := fmt.Appendf(nil, "study: s\nservice: echo\nn: 5\nfactors: {%s}\nrequests: %d\n"+
			"design: {replications: 4, seed: 1}\nresponses: [rtt, total_time]\n", x.factors, x.requests)
		if !strings.Contains(x.factors, "stack") {
			text = append(text, "stack: rest-json\n"...)
		}
		kept, plan, err := fabricated.Create(dir, text)
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, x.requests, nil))
		}
		ok(t, kept.Close())
		r, err := soundReport(dir)
		ok(t, err)
		var b strings.Builder
		ok(t, writeNext(&b, propose(dir, r)))
		for _, want := range x.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s, %d requests: no %q in %s", x.factors, x.requests, want, b.String())
			}
		}
		for _, not := range x.not {
			if strings.Contains(b.String(), not) {
				t.Errorf("%s, %d requests: %q in %s", x.factors, x.requests, not, b.String())
			}
		}
	}
}

// By what more trials would distinguish two treatments is said: else the verdict above, on another figure, seems meant.
func TestNextTrialsNameTheirFigure(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "old")
	ok(t, fabricated.Make(dir, 6, 6, 20))
	r, err := soundReport(dir)
	ok(t, err)
	for _, s := range propose(dir, r) {
		if strings.Contains(s.What, "would distinguish") {
			if !strings.HasSuffix(s.What, " by rtt") {
				t.Errorf("got %q", s.What)
			}
			return
		}
	}
	t.Error("nothing is said of more trials")
}

// Of two versions of a stack nothing is proposed that run would have to measure: it knows no base version. That holds
// for what is next, for results that are to be published, and for a repetition.
func TestNextCommandsOfTwoVersions(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	results := func(name string, trials int) {
		kept, plan, err := fabricated.Create(filepath.Join(o.dir, name), []byte("study: s\nservice: echo\nn: 5\n"+
			"factors: {stack: [s@base, s]}\nrequests: 20\ndesign: {replications: 4, seed: 1}\nresponses: [rtt]\n"))
		ok(t, err)
		for _, trial := range plan.Trials[:trials] {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
	}
	const again = "edgegauge compare --base VERSION --with both/study.yaml --detect 5%"
	results("both", 8)
	out := o.says(t, exitDone, []string{"report", "both"}, "edgegauge compare both ", again+" --out both-after",
		"edgegauge publish both")
	for _, not := range []string{"edgegauge run", "edgegauge choose", "would distinguish"} {
		if strings.Contains(out, not) {
			t.Errorf("%q is proposed: %s", not, out)
		}
	}
	o.says(t, exitUsage, []string{"run", "--like", "both"}, "measure both again: "+again)
	results("half", 2)
	o.says(t, exitUnmeasured, []string{"publish", "half"}, "finish it first: edgegauge compare --base VERSION "+
		"--with half/study.yaml --detect 5% --out half")
	about := report.Confirms{OldDir: "a", NewDir: "b", Responses: []string{"rtt"}, Detect: 0.05, Base: "0123456789"}
	ok(t, about.Begin(filepath.Join(o.dir, "half")))
	const confirm = "edgegauge confirm a b --base 0123456789 --detect 5% --response rtt"
	o.says(t, exitUnmeasured, []string{"publish", "half"}, "finish it first: "+confirm+" --out half")
	ok(t, about.Write(filepath.Join(o.dir, "both")))
	o.says(t, exitDone, []string{"report", "both"}, "edgegauge confirm both ", confirm+" --out both-after")
}

// The run of a calibration that was stopped goes on as a study: the same command would begin another.
func TestAStoppedCalibrationIsResumedAsAStudy(t *testing.T) {
	y, err := study.Parse("study.yaml", []byte("study: s\nservice: echo\nn: 5\nrequests: 5\nstack: r\n"),
		study.Vocabulary{})
	ok(t, err)
	plan, err := study.Expand(y)
	ok(t, err)
	const dir = "results/calibrate-my pi/001"
	e := &testbed.Experiment{Lab: &lab.Lab{Plan: plan}, Dir: dir}
	a := &app{resume: resumeCalibrating("raspberry-pi-1", emulationCalibrating{against: "ssh://pi@board",
		out: "calibrations/pi.yaml", sets: []string{"requests=5", "design={seed: 2}"}}, dir)}
	_, _, err = a.finish(e, lab.Outcome{}, lab.ErrStopped)
	const want = "to resume: edgegauge run 'results/calibrate-my pi/001/study.yaml' --set requests=5 --set " +
		"'design={seed: 2}' --out 'results/calibrate-my pi/001' && edgegauge devices calibrate raspberry-pi-1 --against " +
		"ssh://pi@board --from 'results/calibrate-my pi/001' --out calibrations/pi.yaml"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = a.finish(e, lab.Outcome{}, fmt.Errorf("%w: free some and run again", store.ErrDiskFull))
	if err == nil || !strings.HasSuffix(err.Error(), "run again; "+want) {
		t.Errorf("of a full disk: got %v, want %s", err, want)
	}
}

// A comparison that was stopped has more blocks than the pilot that the same command begins with: that would begin
// another one, were the results not named.
func TestAStoppedComparisonIsResumedByName(t *testing.T) {
	for stacks, want := range map[string]string{"s@base, s": "run the same command again with --out 'a b' to resume",
		"r, s": "run the same command again to resume"} {
		y, err := study.Parse("study.yaml", []byte("study: s\nservice: echo\nn: 5\nrequests: 5\n"+
			"factors: {stack: ["+stacks+"]}\n"), study.Vocabulary{})
		ok(t, err)
		plan, err := study.Expand(y)
		ok(t, err)
		e := &testbed.Experiment{Lab: &lab.Lab{Plan: plan}, Dir: "a b"}
		if _, _, err := (&app{}).finish(e, lab.Outcome{}, lab.ErrStopped); err == nil || !strings.HasSuffix(err.Error(),
			want) {
			t.Errorf("%s: got %v", stacks, err)
		}
	}
}

// What is next of a study with stacks of the user's own, or among benches with a lease of their own, names these: else
// the command would be refused. Edgegauge knows them where it has just measured.
func TestNextCommandsSayWhatWasGiven(t *testing.T) {
	got := givenWords([]string{"my stacks", "b"}, opening{trust: true,
		shared: sharing{benches: "a,b", lease: 15 * time.Second}})
	if want := "--stacks 'my stacks' --stacks b --trust --lease 15s"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
	if got := givenWords(nil, opening{shared: sharing{benches: "2", lease: fleet.Lease}}); got != nil {
		t.Errorf("got %q of a command without", got)
	}
	o := newOwn(t)
	o.write(t, "s.yaml", one+"requests: 5\ndesign: {replications: 2}\n")
	ok(t, os.MkdirAll(filepath.Join(o.dir, "mine"), 0o755))
	out := o.says(t, exitDone, []string{"run", "s.yaml", "--trust", "--stacks", "mine", "--out", "out"},
		"edgegauge run out/study.yaml --stacks mine --trust --out out-after")
	if page, err := os.ReadFile(filepath.Join(o.dir, "out/report.html")); err != nil ||
		!strings.Contains(string(page), "--stacks mine --trust --out out-after") {
		t.Errorf("the page does not say it (%v): %s", err, out)
	}
}
