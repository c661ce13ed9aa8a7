package main

import (
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/study"
)

// What commands say of results without an answer, and the exit code: what shows results shows these; what needs a
// figure says that no trial is valid, and not what the study lacks; one trial each leaves verdicts undecided.
func TestUntold(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	text := func(replications string) []byte {
		return []byte("study: s\nservice: echo\nfactors: {stack: [a, b], n: [5, 50]}\nrequests: 20\nretries: 0\n" +
			"design: {replications: " + replications + ", seed: 1}\nresponses: [rtt, message_size]\n")
	}
	write := func(name, replications string, conduct func(study.Trial) string) { // of a trial: "", valid or invalid
		t.Helper()
		kept, plan, err := fabricated.Create(filepath.Join(o.dir, name), text(replications))
		ok(t, err)
		for _, trial := range plan.Trials {
			switch conduct(trial) {
			case "valid":
				ok(t, fabricated.Trial(kept, trial, 20, nil))
			case "invalid":
				a, err := kept.Begin(trial.ID)
				ok(t, err)
				ok(t, a.Invalidate("5 of 20 requests failed", "", nil))
			}
		}
		ok(t, kept.Close())
	}
	all := func(state string) func(study.Trial) string { return func(study.Trial) string { return state } }
	write("good", "3", all("valid"))
	write("one", "1", all("valid"))
	write("none", "3", all("invalid"))
	write("unrun", "3", all(""))
	write("part", "3", func(x study.Trial) string { // it was stopped in its second block
		if x.ID > 6 {
			return ""
		}
		return "valid"
	})
	write("half", "3", func(x study.Trial) string {
		return map[bool]string{true: "valid", false: "invalid"}[x.Setup.Server.Stack == "a"]
	})
	write("small", "3", func(x study.Trial) string {
		return map[bool]string{true: "valid", false: "invalid"}[x.Setup.N == 5]
	})

	const forecasts = " --battery 2xAA --link nb-iot --period 1h"
	invalid, unrun := "none: none of its 12 trials is valid; the first: 5 of 20 requests failed",
		"unrun: none of its 12 trials is valid; 12 were not run to the end: run the study again to resume it"
	for _, tt := range []struct {
		line string
		code int
		says string
	}{
		{"report none", exitDone, "No answer: no treatment has two valid trials."},
		{"report unrun", exitDone, "No answer: no treatment has two valid trials."},
		{"report one", exitDone, "No answer: the study asks for one trial of each treatment, and one shows no spread: set " +
			"design.replications to 2 or more, preferably 10."},
		{"choose none --minimize rtt", exitUnmeasured, invalid},
		{"choose unrun --minimize rtt", exitUnmeasured, unrun},
		{"choose one --minimize rtt", exitWorse, "no treatment is compared with another"},
		{"choose half --minimize rtt", exitDone, "b 5: no trial of it is valid"},
		{"choose small --minimize rtt", exitDone, "! n 50: no trial of it is valid"},
		{"compare none good", exitUnmeasured, invalid},
		{"compare none unrun", exitUnmeasured, invalid + "\n" + unrun},
		{"compare good none", exitWorse, "a 5: 0 of 3 trials are valid (before: 3 of 3)"},
		{"compare good none --allow-lost", exitUnmeasured, invalid},
		{"compare good unrun", exitUnmeasured, unrun},
		{"compare good part", exitUnmeasured, "part is unfinished, 6 of 12 trials valid; run its study again to resume it"},
		{"compare part good", exitUnmeasured, "part is unfinished, 6 of 12 trials valid"},
		{"choose part --minimize rtt", exitUnmeasured, "part is unfinished, 6 of 12 trials valid"},
		{"run --like part", exitUnmeasured, "part is unfinished, 6 of 12 trials valid"},
		{"forecast part" + forecasts, exitUnmeasured, "part is unfinished, 6 of 12 trials valid"},
		{"report part", exitDone, "6 of 12 trials valid"},
		{"compare good unrun --allow-lost", exitUnmeasured, unrun},
		{"compare one one", exitDone, "undecided"},
		{"compare one one --fail-if rtt>5% --strict", exitWorse, "undecided"},
		{"run --like none", exitUnmeasured, invalid},
		{"forecast none" + forecasts, exitUnmeasured, invalid},
		{"forecast good none" + forecasts, exitUnmeasured, invalid},
		{"forecast none --devices 5 --period 1h", exitUnmeasured, invalid},
		{"forecast half" + forecasts, exitDone, "b 5: no trial of it is valid"},
		{"history good none", exitDone, "! left out: none: no trial of it is valid"},
		{"history none", exitUnmeasured, "none: no trial of it is valid"},
	} {
		out, code := o.run(t, strings.Fields(tt.line)...)
		flat := strings.Join(strings.Fields(out), " ")
		if code != tt.code || !strings.Contains(flat, strings.Join(strings.Fields(tt.says), " ")) ||
			code == exitUnmeasured && strings.Contains(out, "the study's responses") {
			t.Errorf("edgegauge %s: exit code %d, want %d and %q:\n%s", tt.line, code, tt.code, tt.says, out)
		}
	}
	if out, _ := o.run(t, "report", "one"); !strings.Contains(out, "--out one --set design.replications=10\n") ||
		strings.Contains(out, "edgegauge choose") {
		t.Errorf("what to do next: %s", out)
	}
}

// That one trial of each treatment tells little is said before it is measured.
func TestSingleTrialsAreAdvised(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", "study: s\nservice: echo\nn: 5\nstack: rest-json\ndesign: {replications: 1}\n")
	const says = "s.yaml:5:24: with one trial of each treatment figures have no interval"
	for _, verb := range []string{"check", "plan"} {
		out, code := o.run(t, verb, "s.yaml")
		if code != exitDone || strings.Count(out, says) != 1 {
			t.Errorf("%s: exit code %d: %s", verb, code, out)
		}
		out, code = o.run(t, verb, "s.yaml", "--set", "design.replications=2")
		if code != exitDone || strings.Contains(out, "with one trial") {
			t.Errorf("%s of two: exit code %d: %s", verb, code, out)
		}
	}
}

// Whoever asks for a report on several directories is told which commands take several, as they can be copied.
func TestReportOnSeveral(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	out, code := o.run(t, "report", "a", "b c", "d")
	for _, want := range []string{"3 are named", "edgegauge compare a 'b c'\n", "edgegauge history a 'b c' d\n",
		"edgegauge report --claims a 'b c' d\n"} {
		if code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q: %s", code, want, out)
		}
	}
}
