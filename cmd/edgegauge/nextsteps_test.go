package main

import (
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
