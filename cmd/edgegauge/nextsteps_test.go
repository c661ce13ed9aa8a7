package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
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
