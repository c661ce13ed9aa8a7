package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/study"
)

// mostMore is the most trials of a treatment that are proposed to decide a difference.
const mostMore = 200

// propose finds commands that fit the results of a directory. given are the words that the command which measured them
// took besides, where that is known: see givenWords.
func propose(dir string, r *report.Report, given ...string) []report.Step {
	valid := func(t report.Treatment) bool { return t.Valid > 0 }
	if len(r.Damage) > 0 || !slices.ContainsFunc(r.Treatments, valid) {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.Base(dir) == "latest" {
		dir = real // what the commands say stays true when there are newer results
	}
	again, search := againOf(dir, r, given...)
	var steps []report.Step
	add := func(what, command string) { steps = append(steps, report.Step{What: what, Command: command}) }
	response, isTime := r.MainResponse()
	versions := r.Study.OfVersions()
	repeated := slices.ContainsFunc(r.Treatments, func(t report.Treatment) bool { return t.Valid > 1 })
	choice := repeated && len(r.Treatments) > 1 && !r.VariesLoadAlone() && !versions
	pair, trials := "", 0
	if choice && isTime {
		pair, trials = closest(r, response)
	}
	switch {
	case len(r.Starved) > 0:
		add("measure again on a quieter machine", again)
	case r.Study.Design.Replications == 1 && !search && !versions && !r.OfBenches():
		add("measure more trials of each treatment, so that figures have intervals",
			fmt.Sprintf("%s --out %s --set design.replications=10", again, report.QuotedPath(dir)))
	case trials > 0 && r.Study.Design.Precision == 0 && !r.OfBenches():
		add(fmt.Sprintf("about %d trials each would distinguish %s by %s", trials, pair, response),
			fmt.Sprintf("%s --out %s --set design.replications=%d", again, report.QuotedPath(dir), trials))
	}
	if choice && response != "" {
		suchAs := ""
		switch {
		case isTime && r.HasP95(response):
			suchAs = fmt.Sprintf(", such as --require '%s.p95 < 100ms'", response)
		case isTime:
			suchAs = fmt.Sprintf(", such as --require '%s < 100ms'", response)
		}
		add("find the best treatment that meets your requirements"+suchAs,
			fmt.Sprintf("edgegauge choose %s --minimize %s", report.QuotedPath(dir), response))
	}
	after, gate := report.QuotedPath(filepath.Clean(dir)+"-after"), ""
	if response != "" {
		gate = fmt.Sprintf("; --fail-if '%s > 5%%' makes it a gate", response)
	}
	switch {
	case search:
		add("after a change, search again and compare the intervals of both searches", again+" --out "+after)
	case versions:
		if exists(filepath.Join(dir, report.ConfirmationFile)) {
			add("print the verdict of the confirmation again", "edgegauge confirm "+report.QuotedPath(dir))
		} else {
			add("judge the two versions"+gate, "edgegauge compare "+report.QuotedPath(dir))
		}
		add("after a change, measure both versions again", again+" --out "+after)
	default:
		add("after a change, measure again and compare"+gate,
			fmt.Sprintf("%s --out %s && edgegauge compare %s %[2]s", again, after, report.QuotedPath(dir)))
	}
	add("publish data, facts, study and report", "edgegauge publish "+report.QuotedPath(dir))
	return steps
}

// againOf is the command that measures again what a directory holds; search: its rates are those that a search chose.
func againOf(dir string, r *report.Report, given ...string) (command string, search bool) {
	if r.Study.OfVersions() { // the base version is none that run knows
		for _, file := range []string{report.ConfirmationFile, report.ConfirmingFile} {
			if c, err := confirmsIn(dir, file); err == nil && c != nil {
				return c.Again(), false
			}
		}
		return r.VersionsAgain(dir), false
	}
	by := "rate"
	n, err := capacity.ReadNote(dir)
	if search = err == nil; !search {
		if !exists(filepath.Join(dir, "scaling.json")) {
			return strings.Join(append([]string{"edgegauge run " + r.StudyIn(dir) + onBenches(r)}, given...), " "), false
		}
		by = "concurrency"
	}
	// What capacity sets itself is not to be set; that is why the length of a trial is known from the overrides.
	command = "edgegauge capacity " + r.StudyIn(dir, "factors."+by, "duration", "design.replications", "design.precision")
	flags := n.Flags()
	if !search {
		flags = []string{"--scale", byConcurrency, "--blocks", strconv.Itoa(r.Study.Design.Replications)}
		for _, f := range r.Study.Factors {
			if f.Name == by {
				flags = append(flags, "--most", f.Levels[len(f.Levels)-1].Text)
			}
		}
	}
	for _, o := range slices.Backward(r.Study.Overrides) {
		if length, err := time.ParseDuration(o.Value); o.Path == "duration" && err == nil { // the last, not the user's
			flags = append(flags, "--length", study.DurationText(length))
			break
		}
	}
	for _, word := range flags {
		command += " " + report.Quoted(word)
	}
	return strings.Join(append([]string{command}, given...), " "), search
}

// givenWords are flags of a command that its study needs again, and that results do not tell: where its stacks are,
// that the user trusts what it runs, and how long benches may be silent, which their workers were told, too.
func givenWords(stackFolders []string, o opening) []string {
	var words []string
	for _, dir := range stackFolders {
		words = append(words, "--stacks", report.QuotedPath(dir))
	}
	if o.trust {
		words = append(words, "--trust")
	}
	if o.shared.wanted() && o.shared.lease != fleet.Lease {
		words = append(words, "--lease", o.shared.lease.String())
	}
	return words
}

// onBenches are the words of a command that has the same benches measure again; empty: none did.
func onBenches(r *report.Report) string {
	if r.Benches == nil || len(r.Benches.Names) == 0 {
		return ""
	}
	if n := len(r.Benches.Names); slices.Equal(r.Benches.Names, slices.Sorted(slices.Values(localNames(n)))) {
		return fmt.Sprintf(" --benches %d", n)
	}
	return " --benches " + report.Quoted(strings.Join(r.Benches.Names, ",")) + " --creds CREDENTIALS"
}

// writeNext prints what propose found.
func writeNext(w io.Writer, steps []report.Step) error {
	if len(steps) == 0 {
		return nil
	}
	text := "\nWhat to do next:\n"
	for _, s := range steps {
		text += fmt.Sprintf("  %s:\n    %s\n", s.What, s.Command)
	}
	return report.PrintText(w, text)
}

// closest finds the two treatments, undecided by a time, that the fewest trials would tell apart; 0: there are none.
func closest(r *report.Report, time string) (pair string, trials int) {
	f := chooseFlags{minimize: []string{time}}
	objectives, requirements, err := f.asked()
	if err != nil {
		return "", 0
	}
	found, err := chosen(r, f, objectives, requirements)
	if err != nil {
		return "", 0 // there is nothing to propose
	}
	least := math.MaxInt
	for _, l := range found.Levels {
		for _, x := range l.Candidates[1:] {
			if n := max(x.Needed, len(x.Objectives[0].Values)+1); x.Noise && x.Needed > 0 && n < least && n <= mostMore {
				least, pair = n, l.Candidates[0].Name+" and "+x.Name
			}
		}
	}
	if least == math.MaxInt {
		return "", 0
	}
	return pair, least
}
