package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A versionFlags is what compare is asked where it measures.
type versionFlags struct {
	base, with, build, from, out string
	sets, kept                   []string // overrides, and those of results that are measured again, before them
	pilot                        int
	power                        float64
	most                         time.Duration // that all blocks may take
	plan, trust                  bool
	begun                        func(dir string) error    // told where the results are, before a trial; nil: nobody
	decided                      func(*report.Report) bool // reports whether the pilot is enough; nil: it never is
}

// flags are those of compare and confirm: what base says, and out after it, differs.
func (v *versionFlags) flags(c *cobra.Command, base, out string, power float64, found string) {
	c.Flags().StringVar(&v.base, "base", "", base)
	c.Flags().StringVar(&v.build, "build", "", "command that builds a revision, run by a shell in its folder")
	c.Flags().BoolVar(&v.plan, "plan", false, "run the pilot, say how many blocks it takes, and stop")
	c.Flags().IntVar(&v.pilot, "pilot", stat.DefaultPilot,
		"blocks of the pilot, which shows how much trials vary; they count as results")
	c.Flags().Float64Var(&v.power, "power", power, "probability of "+found)
	c.Flags().DurationVar(&v.most, "max-time", 30*time.Minute, "time limit of all blocks (0: none)")
	c.Flags().StringVar(&v.out, "out", "", "results directory"+out+" (default results/NAME/NUMBER)")
	trustFlag(c, &v.trust)
}

// check says what is wrong with the flags together.
func (v versionFlags) check(conditions []advise.Condition) error {
	detects := slices.ContainsFunc(conditions, func(k advise.Condition) bool { return k.Detect })
	switch {
	case v.with == "":
		return errors.New("--base needs --with STUDY, which says what to measure")
	case !detects:
		return errors.New("no smallest difference is given; write --detect 5%")
	case v.base == "" && v.from == "":
		return errors.New("--with needs --base REVISION, FOLDER or BINARY; or --from RESULTS, to say how many trials it " +
			"would take")
	case v.most < 0:
		return fmt.Errorf("--max-time %s: write a time such as 30m, or 0 for no limit", v.most)
	case v.pilot < 3:
		return fmt.Errorf("--pilot %d shows no spread; write 3 or more", v.pilot)
	case !(v.power > 0.5 && v.power < 1):
		return fmt.Errorf("--power %v is not between 0.5 and 1; write 0.8 for 80 %%", v.power)
	}
	return nil
}

// measureVersions measures base and new in the blocks of one study, as many as find
// the wanted difference, and judges them.
func (a *app) measureVersions(ctx context.Context, w io.Writer, f compareFlags) (report.Compared, error) {
	none := report.Compared{}
	conditions, err := f.conditions()
	if err != nil {
		return none, err
	}
	v := f.versionFlags
	if err := v.check(conditions); err != nil {
		return none, exit{exitUsage, err}
	}
	if v.from != "" {
		if _, _, err := a.studyFile(v.with); err != nil {
			return none, exit{exitUsage, err}
		}
		return none, sizeFrom(w, v.from, conditions, f)
	}
	sets, end, err := a.putBeside(ctx, v)
	if err != nil {
		return none, err
	}
	defer end()
	dir, missing, err := a.blocks(ctx, v, sets, v.out, v.pilot)
	if err != nil {
		return none, err
	}
	if missing != nil { // what cannot be measured is not sized: it is lost, or base has it no better
		out, err := compareWithin(dir, f)
		if err == nil && len(out.Lost) == 0 {
			err = missing
		}
		return out, err
	}
	size, err := sizeOf(dir, conditions, f)
	if err != nil {
		return none, err
	}
	if v.plan {
		if f.json {
			return none, size.json(w, dir)
		}
		if err := size.print(w); err != nil {
			return none, err
		}
		does := "runs the rest"
		if size.decided {
			does = "says what came of it"
		}
		_, err := fmt.Fprintf(w, "without --plan, the same command with --out %s %s\n", report.QuotedPath(dir), does)
		return none, err
	}
	fmt.Fprintln(a.notes(), size)
	if n := size.affordable(v.most); n > size.have {
		if _, missing, err = a.blocks(ctx, v, sets, dir, n); err != nil {
			return none, err
		}
	}
	out, err := compareWithin(dir, f)
	if err != nil {
		return out, errors.Join(missing, err)
	}
	if missing != nil {
		out.Warnings = append(out.Warnings, missing.Error())
	}
	out.Sizing = size.String()
	switch {
	case size.hopeless():
		out.Warnings = append(out.Warnings, "only the pilot was measured: no practical number of blocks finds so small a "+
			"difference in trials so unlike each other; "+calmer)
	case size.affordable(v.most) < size.wanted:
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d blocks are needed, but --max-time %s allows only %d: a "+
			"difference of the size asked for may be missed", size.wanted, study.DurationText(v.most), size.affordable(v.most)))
	}
	return out, nil
}

// putBeside makes the base version of the study's stacks known to the testbed, and
// returns the overrides, after the kept ones, that measure it beside the new one. end removes what was made.
func (a *app) putBeside(ctx context.Context, v versionFlags) (sets []string, end func(), err error) {
	bed, plan, _, err := a.read(ctx, v.with, v.kept, v.sets)
	if err != nil {
		return nil, nil, err
	}
	if bed.NeedsNetwork(plan) && link.Able() != nil {
		return nil, nil, rootless("") // runs all of this again, before anything is made
	}
	key, names, err := plan.Versioned()
	if err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	if err := a.mayRun(ctx, bed, names, v.trust); err != nil {
		return nil, nil, err
	}
	scratch, err := newScratch(a.notes())
	if err != nil {
		return nil, nil, err
	}
	b, err := openBase(ctx, v.base, scratch.Dir, v.build, a.notes())
	if err != nil {
		return nil, nil, errors.Join(err, scratch.Close())
	}
	end = func() {
		b.close()
		if err := scratch.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	versions, left := b.versions(ctx, bed, names)
	if len(versions) == 0 {
		end()
		return nil, nil, exit{exitUsage, fmt.Errorf("the versions cannot be interleaved: %w", errors.Join(left...))}
	}
	for _, err := range left {
		fmt.Fprintf(os.Stderr, "not compared: %v\n", err)
	}
	o := bed.Options
	for _, n := range names {
		if one, ok := versions[n]; ok {
			o.Versions = append(o.Versions, one)
		}
	}
	a.made = testbed.New(o)
	sets = append(slices.Clone(v.sets), "design.precision=off")
	return append(sets, plan.WithBase(key, names, func(n string) string { return short(n, versions) })...), end, nil
}

// short is the name of a stack's base version as a study has it; empty: there is none.
func short(name string, versions map[string]testbed.Version) string {
	if _, ok := versions[name]; !ok {
		return ""
	}
	return study.Base(name)
}

// blocks runs the study up to that many blocks, with sets: those of v and of putBeside, which name only stacks that
// mayRun asked about. missing is what could not be measured.
func (a *app) blocks(
	ctx context.Context, v versionFlags, sets []string, out string, n int,
) (dir string, missing, err error) {
	sets = append(slices.Clone(sets), fmt.Sprintf("design.replications=%d", n))
	e, err := a.open(ctx, v.with, opening{out: out, trust: v.trust, kept: v.kept, given: sets})
	if err != nil {
		return "", nil, err
	}
	defer closeExperiment(e)
	if v.begun != nil {
		if err := v.begun(e.Dir); err != nil {
			return "", nil, exit{exitUnmeasured, err}
		}
	}
	outcome, _, err := a.conduct(ctx, e)
	return e.Dir, gaveUp(outcome, e.Dir), err
}

// A sizing is how many blocks a study takes.
type sizing struct {
	sizes        []advise.Size
	have, wanted int           // blocks
	each         time.Duration // a block
	versions     int           // trials of a block, of both versions
	alpha, power float64
	decided      bool // the blocks there are decide, whatever is wanted to find the difference
}

// sizeOf sizes a study by the blocks that results have.
func sizeOf(dir string, conditions []advise.Condition, f compareFlags) (sizing, error) {
	r, err := soundReport(dir)
	if err != nil {
		return sizing{}, err
	}
	f.confidence = cmp.Or(f.confidence, r.Study.Design.Confidence)
	old, new := r.Versions()
	s := sizing{alpha: 1 - f.confidence, power: f.power, decided: f.decided != nil && f.decided(r)}
	judged := f.judged(cmp.Or(r.Pilot, stat.DefaultPilot)) // of other results it takes a pilot, too
	if s.sizes, err = advise.Sizes(old, new, slices.DeleteFunc(slices.Clone(conditions),
		func(k advise.Condition) bool { return !k.Detect }), judged, f.power); err != nil {
		return s, exit{exitUsage, fmt.Errorf("%s: %w", dir, err)}
	}
	for _, x := range s.sizes {
		s.wanted = max(s.wanted, x.Blocks)
	}
	kept, err := store.OpenReadOnly(dir)
	if err != nil {
		return s, exit{exitUnmeasured, err}
	}
	defer kept.Close()
	took, err := kept.Took()
	if err != nil {
		return s, exit{exitUnmeasured, err}
	}
	for _, t := range r.Trials {
		s.have = max(s.have, t.Block)
	}
	if s.decided {
		s.wanted = s.have
	}
	s.versions, s.each = len(r.Treatments), took/time.Duration(max(1, s.have))
	if len(old) == 0 { // a block has one version so far
		s.versions, s.each = 2*s.versions, 2*s.each
	}
	return s, nil
}

// sizeFrom prints how many blocks a comparison would take, by results of earlier.
func sizeFrom(w io.Writer, dir string, conditions []advise.Condition, f compareFlags) error {
	s, err := sizeOf(dir, conditions, f)
	if err != nil {
		return err
	}
	if f.json {
		return s.json(w, dir)
	}
	return s.print(w)
}

// calmer is what makes blocks fewer.
const calmer = "make trials longer (requests, min_duration), measure on a quieter machine, or look for a larger " +
	"difference (--detect)"

// hopeless reports whether no practical number of blocks finds some difference.
func (s sizing) hopeless() bool {
	return !s.decided && slices.ContainsFunc(s.sizes, func(x advise.Size) bool { return x.Blocks == 0 })
}

// print writes what is planned. What cannot be planned is an error, too.
func (s sizing) print(w io.Writer) error {
	if _, err := fmt.Fprintln(w, s); err != nil {
		return err
	}
	return s.unplanned()
}

// unplanned is the error of what cannot be planned.
func (s sizing) unplanned() error {
	if !s.hopeless() {
		return nil
	}
	return exit{exitUnmeasured, errors.New("no practical number of blocks finds the difference; " + calmer)}
}

// A sizeJSON is how many blocks find one difference.
type sizeJSON struct {
	Condition string  `json:"condition"`
	Treatment string  `json:"treatment"`
	SD        float64 `json:"sd_log"` // of a block's logarithm of new/old
	From      int     `json:"from"`   // blocks, or trials of one version, that sd_log is from
	Paired    bool    `json:"paired"`
	Blocks    *int    `json:"blocks"` // null: no practical number finds it
}

// json writes what is planned from the results in dir. What cannot be planned is an error, too.
func (s sizing) json(w io.Writer, dir string) error {
	out := struct {
		Format int        `json:"format"`
		From   string     `json:"results"`
		Sizes  []sizeJSON `json:"sizes"`
		Have   int        `json:"blocks_measured"`
		Blocks *int       `json:"blocks"`
		Trials *int       `json:"trials"`
		Takes  *float64   `json:"takes_s"`
		Power  float64    `json:"power"`
		Says   string     `json:"says"`
	}{Format: jsonFormat, From: dir, Sizes: []sizeJSON{}, Have: s.have, Power: s.power, Says: s.String()}
	for _, x := range s.sizes {
		one := sizeJSON{x.Condition.Text, x.Treatment, x.SD, x.Pilot, x.Paired, nil}
		if x.Blocks > 0 {
			one.Blocks = &x.Blocks
		}
		out.Sizes = append(out.Sizes, one)
	}
	if !s.hopeless() {
		n := max(s.wanted, s.have)
		trials, takes := n*s.versions, (time.Duration(n) * s.each).Seconds()
		out.Blocks, out.Trials, out.Takes = &n, &trials, &takes
	}
	return errors.Join(writeJSON(w, out), s.unplanned())
}

// affordable is how many blocks are run: those wanted, if they fit into a time (0: any),
// or those there are, if no number would do.
func (s sizing) affordable(most time.Duration) int {
	if s.hopeless() {
		return s.have
	}
	n := max(s.wanted, s.have)
	if most > 0 && s.each > 0 {
		n = min(n, max(s.have, int(most/s.each)))
	}
	return n
}

// String says it as one sentence a figure, and one of the cost.
func (s sizing) String() string {
	var b strings.Builder
	for _, x := range s.sizes {
		from := fmt.Sprintf("%d blocks with both versions", x.Pilot)
		if !x.Paired {
			from = fmt.Sprintf("%d trials of one version, so differences between blocks do not cancel", x.Pilot)
		}
		what := x.Condition.Text
		if x.Treatment != "" { // the study has more than one
			what += ", " + x.Treatment
		}
		blocks := fmt.Sprintf("%d blocks find", x.Blocks)
		if x.Blocks == 0 {
			blocks = fmt.Sprintf("not even %d blocks find", stat.MostBlocks)
		}
		fmt.Fprintf(&b, "%s: the ratio new/old of a block spreads by %s (%s): %s a change of %.3g %% "+
			"with a power of %g %% at a level of %.3g %% (two-sided)\n", what,
			report.RoughPercent(math.Exp(x.SD)-1), from, blocks, 100*(x.Condition.Bound-1), 100*s.power,
			100*s.alpha/float64(len(s.sizes)))
	}
	if s.hopeless() {
		fmt.Fprintf(&b, "no practical number of blocks finds it; %d are measured", s.have)
		return b.String()
	}
	n := max(s.wanted, s.have)
	fmt.Fprintf(&b, "that is %s, %s in all, about %s", plural.Count(n, "block"), plural.Count(n*s.versions, "trial"),
		minutes(time.Duration(n)*s.each))
	if s.decided {
		fmt.Fprintf(&b, "; all are measured: each figure has changed by more, at a level of %g %%, so no more are needed",
			100*report.DecidedAt)
		return b.String()
	}
	if s.have > 0 && s.have < n {
		fmt.Fprintf(&b, "; %s measured", plural.Count(s.have, "block")+plural.Verb(s.have, " is", " are"))
	}
	return b.String()
}

// minutes is a duration as one reads it: "40 s", "12 min", "2.5 h".
func minutes(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 90*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// firstReason says why the first attempt at trials failed; empty: nobody knows.
func firstReason(all []advise.Attempts) string {
	for _, x := range all {
		if why := x.Faults.First; why != "" {
			return "; the first: " + why
		}
	}
	return ""
}

// judged is the confidence at which intervals are computed that are to hold as often as is asked, after a pilot. That
// of a confirmation allows for its pilot already.
func (f compareFlags) judged(pilot int) float64 {
	if f.allowed {
		return f.confidence
	}
	return 1 - stat.AfterPilot(1-f.confidence, pilot)
}

// compareWithin judges two versions that were measured in one study.
func compareWithin(dir string, f compareFlags) (report.Compared, error) {
	conditions, err := f.conditions()
	if err != nil {
		return report.Compared{}, err
	}
	r, err := wholeReport(dir)
	if err == nil {
		err = searches(r)
	}
	if err != nil {
		return report.Compared{}, err
	}
	f.confidence = cmp.Or(f.confidence, r.Study.Design.Confidence)
	old, new := r.Versions()
	if base, _ := r.VersionAttempts(); len(old) == 0 && len(base) > 0 {
		return report.Compared{}, exit{exitUnmeasured, fmt.Errorf("%s: no trial of the base version is valid, so there is "+
			"nothing to compare with%s", dir, firstReason(base))}
	}
	if len(old) == 0 {
		return report.Compared{}, exit{exitUsage, fmt.Errorf("%s has one version of each stack, so there is nothing to "+
			"compare; give two results directories, or measure both versions: edgegauge compare --base REVISION --with STUDY "+
			"--detect 5%%", dir)}
	}
	out := report.Compared{Old: "base", New: "new", Dir: dir, Paired: true, Confidence: f.confidence, Pilot: r.Pilot,
		All: f.all}
	if old, err = only(old, f.responses); err != nil {
		return out, err
	}
	if new, err = only(new, f.responses); err != nil {
		return out, err
	}
	var lost []advise.Loss
	base, now := r.VersionAttempts()
	if f.lost { // whoever accepts requests that fail is asked of the others
		old, new = advise.AnsweredOnly(old), advise.AnsweredOnly(new)
	} else {
		lost = advise.Losses(base, now, f.confidence)
	}
	if out.Comparison, err = advise.Compare(old, new, conditions, f.judged(r.Pilot), f.margin); err != nil &&
		!(len(lost) > 0 && errors.Is(err, advise.ErrNothingInCommon)) {
		return out, exit{exitUsage, fmt.Errorf("%s: %w", dir, err)}
	}
	out.Lost = lost
	if !f.lost {
		out.Failed = advise.FailuresOfTrials(base, now, f.confidence)
	}
	out.Base = r.BaseVersion()
	out.Warnings = r.Doubts()
	if out.Verdict() == stat.Undecided && out.Open() || len(r.Starved) > 0 {
		out.Cure = "measure more blocks (--power 0.9), or on a quieter machine"
	}
	if len(r.Starved) > 0 { // more blocks would wait as long
		out.Cure = "measure on a quieter machine"
	}
	return out, nil
}
