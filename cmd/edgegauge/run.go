package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// running is what run was asked.
type running struct {
	sets            []string
	kept            []string // overrides of the results that are repeated, before sets
	out, like, page string
	trust, asJSON   bool
	shared          sharing
}

func runCmd(a *app) *cobra.Command {
	var f running
	c := &cobra.Command{
		Use:   "run STUDY",
		Short: "conduct a study: measure, keep the results, print the table, write the report",
		Long: `Run conducts a study and keeps everything in a results directory: results/NAME/NUMBER, or the one given with
--out. To resume a run that was stopped or killed, run it again: finished trials are not repeated. STUDY is a file, or
the name of a study that comes with edgegauge; without it, run lists them.

--like RESULTS repeats the study of a results directory, or of a copy made by publish --without-raw, with the same seed
and settings; --set adds to these. Then run reports what differs in the machine. For each figure, and for each ratio
between treatments, it says whether it agrees with the earlier one within 5 %, differs by more, or is undecided. The
exit code is 1 if any differs. With fewer replications (--set design.replications=3) more are undecided.`,
		Example: "  edgegauge run quickstart\n  edgegauge run my-study.yaml\n  edgegauge run studies/cloud-of-things.yaml " +
			"--set requests=100 --set design.replications=3 --out /tmp/try\n" +
			"  edgegauge run --like results/latest --out again",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.like != "" && len(args) > 0:
				return exit{exitUsage, fmt.Errorf("--like %s repeats the study of those results; leave out %s", f.like, args[0])}
			case f.like != "":
				return a.repeat(cmd.Context(), cmd.OutOrStdout(), f)
			case len(args) == 0:
				return whichStudy()
			}
			return a.run(cmd.Context(), cmd.OutOrStdout(), args[0], f, nil)
		},
	}
	f.shared.flags(c)
	setFlag(c, &f.sets)
	trustFlag(c, &f.trust)
	c.Flags().StringVar(&f.out, "out", "", "results directory (default results/NAME/NUMBER)")
	c.Flags().StringVar(&f.like, "like", "", "repeat the study of this results directory, and say whether the "+
		"results agree")
	c.Flags().StringVar(&f.page, "web", "", "serve a page that shows the run (default "+webAddress+"; another: "+
		"--web=127.0.0.1:PORT)")
	c.Flags().Lookup("web").NoOptDefVal = webAddress
	jsonFlag(c, &f.asJSON)
	return c
}

// repeat runs the study that is kept in a results directory.
func (a *app) repeat(ctx context.Context, w io.Writer, f running) error {
	if info, err := os.Lstat(filepath.Clean(f.like)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(f.like); err == nil {
			f.like = real // results/latest leads to the repetition as soon as it begins
		}
	}
	kept, err := wholeReport(f.like)
	if err != nil {
		return err
	}
	if kept.Study.OfVersions() {
		again, _ := againOf(f.like, kept)
		return exit{exitUsage, fmt.Errorf("--like %s: it has two versions of a stack, and run measures one of each; measure "+
			"both again: %s", f.like, again)}
	}
	s, err := store.OpenReadOnly(f.like)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	runs, err := s.Runs()
	same := err == nil && f.out != "" && sameResults(s, f.out)
	if err = errors.Join(err, s.Close()); err != nil {
		return exit{exitUnmeasured, err}
	}
	if same {
		return exit{exitUsage, fmt.Errorf("--like %s and --out %s are the same results, or one is a copy of the other; name "+
			"another directory with --out", f.like, f.out)}
	}
	last := runs[len(runs)-1]
	f.kept = last.Overrides
	return a.run(ctx, w, filepath.Join(f.like, last.StudyFile), f, kept)
}

// sameResults reports whether a directory holds these results, or a copy of them: they would agree with themselves.
func sameResults(s *store.Store, dir string) bool {
	other, err := store.OpenReadOnly(dir)
	if err != nil {
		return false // run says what is wrong with it
	}
	defer other.Close()
	id, err := s.ID()
	theirs, err2 := other.ID()
	return err == nil && err2 == nil && id == theirs
}

// run conducts a study. Where like is not nil, the results are set against these.
func (a *app) run(ctx context.Context, w io.Writer, file string, f running, like *report.Report) error {
	if err := f.shared.check(); err != nil {
		return exit{exitUsage, err}
	}
	if f.page != "" {
		if err := watchable(f.page); err != nil {
			return err
		}
	}
	var with reached
	// Results that are to be repeated are not gone on with.
	e, err := a.open(ctx, file, opening{out: f.out, trust: f.trust, kept: f.kept, given: f.sets, shared: f.shared,
		fresh: like != nil, ready: func() error { return with.reach(f) }})
	if err != nil {
		return err
	}
	defer closeExperiment(e)
	return a.runOpen(ctx, w, e, f, with, like)
}

// runOpen conducts the study of an experiment.
func (a *app) runOpen(ctx context.Context, w io.Writer, e *testbed.Experiment, f running, with reached,
	like *report.Report) error {
	if like != nil {
		a.tellEarlier(e)
		if f.out == "" { // the same command would begin another
			a.resume = fmt.Sprintf("run the same command again with --like %s --out %s to resume", report.QuotedPath(f.like),
				report.QuotedPath(e.Dir))
		}
	}
	var watchers []func(lab.Progress)
	if with.page != nil {
		p, err := watch(e, with.page, a.notes())
		if err != nil {
			return err
		}
		defer p.end()
		watchers = append(watchers, p.tell)
	}
	conduct := func() (lab.Outcome, *report.Report, error) { return a.conduct(ctx, e, watchers...) }
	if f.shared.wanted() {
		conduct = func() (lab.Outcome, *report.Report, error) { return a.share(ctx, e, f.shared, with.board) }
	}
	outcome, r, err := conduct()
	if err != nil {
		return err
	}
	var again *report.Repeated
	if like != nil {
		x, err := report.Repeat(like, r, like.Study.Design.Confidence, equalWithin)
		if err != nil {
			return exit{exitUnmeasured, errors.Join(err, gaveUp(outcome, e.Dir))}
		}
		again = &x
	}
	tellUnmeasured(os.Stderr, r)
	if f.asJSON {
		return errors.Join(writeRun(w, e, outcome, r, again), damaged(r, e.Dir), gaveUp(outcome, e.Dir), empty(r),
			differs(again))
	}
	if err := r.Text(w); err != nil {
		return exit{exitUnmeasured, err}
	}
	fmt.Fprintf(w, "\n%s\n", filepath.Join(e.Dir, "report.html"))
	if outcome.Unmet != "" {
		fmt.Fprintln(w, outcome.Unmet)
	}
	if err := writeNext(w, r.Next); err != nil {
		return exit{exitUnmeasured, err}
	}
	if again != nil {
		fmt.Fprintln(w)
		if err := again.Text(w); err != nil {
			return exit{exitUnmeasured, err}
		}
	}
	return cmp.Or(damaged(r, e.Dir), gaveUp(outcome, e.Dir), empty(r), differs(again))
}

// tellEarlier says that a repetition is not all of today.
func (a *app) tellEarlier(e *testbed.Experiment) {
	trials, _ := e.Lab.Store.Trials() // what is wrong with them the lab says
	n := 0
	for _, t := range trials {
		if t.State == store.Valid {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(a.notes(), "%s has %s from before\n", e.Dir, plural.Count(n, "valid trial"))
	}
}

// differs is the error of a repetition whose results differ from those it repeats.
func differs(again *report.Repeated) error {
	if again == nil || again.Agreement() != advise.Differs {
		return nil
	}
	return exit{exitWorse, fmt.Errorf("differs from %s", again.Like)}
}

func closeExperiment(e *testbed.Experiment) {
	if err := e.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// An opening says how an experiment is opened.
type opening struct {
	out    string // the results directory; empty: see testbed.Request
	trust  bool
	kept   []string     // overrides that were kept with results, before given
	given  []string     // overrides that the user gave on this command line
	shared sharing      // the benches that measure it, if any
	fresh  bool         // into a new directory, unless out names one
	ready  func() error // see testbed.Request
}

// open reads a study and opens its experiment, which is to be closed.
func (a *app) open(ctx context.Context, file string, o opening) (*testbed.Experiment, error) {
	bed, plan, text, err := a.readFor(ctx, file, o.kept, o.given, o.shared)
	if err != nil {
		return nil, err
	}
	advisePlan(bed, plan)
	if o.shared.wanted() { // else to open it finds the same, and what only boards say
		found, err := hinders(ctx, bed, plan, o.shared)
		if err != nil {
			return nil, err
		}
		if found != nil {
			return nil, obstacles(found)
		}
	}
	return a.openPlan(ctx, plan, text, o)
}

// openPlan opens the experiment of a plan, which is to be closed.
func (a *app) openPlan(ctx context.Context, plan study.Plan, text []byte, o opening) (*testbed.Experiment, error) {
	bed, err := a.bed()
	if err != nil {
		return nil, err
	}
	if o.out != "" {
		if err := checkOut(o.out); err != nil {
			return nil, exit{exitUsage, err}
		}
	}
	a.given = givenWords(a.stackFolders, o)
	r := testbed.Request{Plan: plan, Text: text, Out: o.out, Fresh: o.fresh, Trust: o.trust, Given: o.given,
		Here: o.shared.local() > 0, LeftOut: a.left, Ready: o.ready}
	open := bed.Open
	if o.shared.wanted() {
		open = bed.OpenShared
	}
	e, err := open(ctx, r)
	if foreign := new(testbed.Untrusted); errors.As(err, &foreign) {
		yes, stopped := asks(ctx, foreign.Runs.Error())
		if stopped != nil {
			return nil, stopped
		}
		if r.Trust = yes; yes {
			e, err = open(ctx, r)
		}
	}
	var found study.Errors
	switch {
	case errors.Is(err, testbed.ErrRootless):
		how := cmp.Or(a.resume, sameAgain)
		if r.Fresh && r.Out == "" { // the same command would begin another
			how = ""
		}
		return nil, rootless(how)
	case errors.As(err, new(exit)):
		return nil, err
	case errors.As(err, new(*testbed.Untrusted)), errors.As(err, new(testbed.NotShared)):
		return nil, exit{exitUsage, err}
	case errors.As(err, &found):
		return nil, obstacles(found)
	case o.out != "" && badPlace(err):
		return nil, exit{exitUsage, err}
	case err != nil:
		return nil, exit{exitUnmeasured, err}
	}
	if !o.shared.wanted() {
		a.tellBeside(e.Lab.Beside())
	}
	e.Lab.Wide = func() ([]int, string, error) { return report.WideTreatments(e.Lab.Store) }
	tellSwept(a.notes(), e.Swept)
	if e.Resumed {
		fmt.Fprintf(a.notes(), "resuming %s\n", e.Dir)
	}
	if e.Apart != nil {
		fmt.Fprintf(a.notes(), "the previous run used %s; starting %s\n", strings.Join(e.Apart, " and "), e.Dir)
	}
	return e, nil
}

// tellBeside says, once, that other labs measure on this machine, too.
func (a *app) tellBeside(pids []int) {
	if len(pids) == 0 || a.toldBeside {
		return
	}
	a.toldBeside = true
	fmt.Fprintf(a.notes(), "warning: another lab (pid %d) is measuring on this machine: each makes the other slower; the "+
		"report says during which trials\n", pids[0])
}

// badPlace says whether a named directory cannot take these results.
func badPlace(err error) bool {
	for _, kind := range []error{store.ErrForeign, store.ErrChanged, store.ErrDenied, store.ErrNewer} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// obstacles are the error of a study that cannot run here: its own fault, or what
// this machine lacks.
func obstacles(found study.Errors) error {
	if found.Here() {
		return exit{exitUnmeasured, found}
	}
	return exit{exitUsage, found}
}

// conduct runs the lab, and writes the report's files.
func (a *app) conduct(ctx context.Context, e *testbed.Experiment, watchers ...func(lab.Progress)) (
	lab.Outcome, *report.Report, error,
) {
	outcome, err := a.runLab(ctx, e, watchers...)
	return a.finish(e, outcome, err)
}

// runLab runs the lab, and shows how far it is, also to pages and to the watchers.
func (a *app) runLab(ctx context.Context, e *testbed.Experiment, watchers ...func(lab.Progress)) (lab.Outcome, error) {
	var crowd []func(population.State)
	if n, err := newNotice(); err == nil { // without it pages show less
		defer n.Close()
		watchers = append(watchers, n.tell)
		e.Lab.Watch, crowd = n.watch, append(crowd, n.devices)
	}
	show := newProgress(os.Stderr)
	if !a.quiet {
		watchers, crowd = append(watchers, show.tell), append(crowd, show.devices)
	}
	e.Lab.WatchDevices = func(s population.State) {
		for _, tell := range crowd {
			tell(s)
		}
	}
	e.Lab.Progress = func(x lab.Progress) {
		for _, tell := range watchers {
			tell(x)
		}
	}
	how := a.resumes(e)
	resumption.Store(&how)
	if err := e.Begin(); err != nil {
		return lab.Outcome{}, err
	}
	outcome, err := e.Lab.Run(ctx)
	show.end()
	return outcome, err
}

// sameAgain is what resumes a study whose command goes on with what it began.
const sameAgain = "run the same command again to resume"

// resumes says how an experiment is resumed.
func (a *app) resumes(e *testbed.Experiment) string {
	if e.Lab.Plan.Study.OfVersions() { // beyond its pilot it is another study than the command begins with
		return fmt.Sprintf("run the same command again with --out %s to resume", report.QuotedPath(e.Dir))
	}
	return cmp.Or(a.resume, sameAgain)
}

// finish says that a run was stopped, or writes the report's files.
func (a *app) finish(e *testbed.Experiment, outcome lab.Outcome, err error) (lab.Outcome, *report.Report, error) {
	if errors.Is(err, lab.ErrStopped) {
		return outcome, nil, exit{exitUnmeasured, fmt.Errorf("stopped; results so far are in %s; %s", e.Dir, a.resumes(e))}
	}
	if err != nil && a.resume != "" { // a full disk, and others, say to run again
		return outcome, nil, exit{exitUnmeasured, fmt.Errorf("%w; %s", err, a.resume)}
	}
	if outcome.Advice != "" && a.resume != "" { // likewise
		outcome.Advice += "\n  " + a.resume
	}
	var r *report.Report
	if err == nil {
		r, err = writeReport(e.Lab.Store, a.notes(), a.given...)
	}
	if err != nil {
		return outcome, nil, exit{exitUnmeasured, err}
	}
	return outcome, r, nil
}

// rootless runs this very command again where it may make links. how is the way to resume what it will begin; empty:
// that is not known yet.
func rootless(how string) error {
	if how != "" {
		resumption.Store(&how)
	}
	code, err := link.Rootless()
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	os.Exit(code)
	return nil
}

// gaveUp is the error of a run in which a treatment has too few trials. dir is where the results are.
func gaveUp(o lab.Outcome, dir string) error {
	if len(o.Missing) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s could not be measured (logs are below %s):", plural.Count(len(o.Missing), "trial"), dir)
	for i, t := range o.Missing {
		if i == 5 {
			text += fmt.Sprintf("\n  … and %d more; edgegauge report shows them all", len(o.Missing)-i)
			break
		}
		text += fmt.Sprintf("\n  %s (%s)", t.Reason, plural.Count(t.Attempts, "attempt"))
	}
	return exit{exitUnmeasured, errors.New(text + "\n  " + o.Advice)}
}

// writeReport reads what was measured and renews summary.csv and report.html.
func writeReport(s *store.Store, notes io.Writer, given ...string) (*report.Report, error) {
	r, err := report.Read(s)
	if err == nil {
		r.Predict(calibrations(notes), time.Now())
		err = r.ReadRaw(s, report.PageTraces)
		r.Next = propose(s.Dir(), r, given...)
	}
	if err == nil {
		err = store.Replace(filepath.Join(s.Dir(), "summary.csv"), r.CSV)
	}
	if err == nil {
		err = store.Replace(filepath.Join(s.Dir(), "report.html"), r.HTML)
	}
	return r, err
}

// writeRun writes what run --json prints: where the results are, and the report as report --json prints it.
func writeRun(w io.Writer, e *testbed.Experiment, o lab.Outcome, r *report.Report,
	again *report.Repeated) error {
	var text, repetition bytes.Buffer
	if err := r.JSON(&text); err != nil {
		return err
	}
	if again != nil {
		if err := again.JSON(&repetition); err != nil {
			return err
		}
	}
	return writeJSON(w, struct {
		Format  int             `json:"format"`
		Results string          `json:"results"` // the directory
		Page    string          `json:"page"`
		Resumed bool            `json:"resumed"`
		Lost    int             `json:"lost_trials"`
		Unmet   string          `json:"unmet,omitempty"` // the precision that was not reached
		Report  json.RawMessage `json:"report"`
		Again   json.RawMessage `json:"repetition,omitempty"` // with --like
	}{jsonFormat, e.Dir, filepath.Join(e.Dir, "report.html"), e.Resumed, len(o.Missing), o.Unmet, text.Bytes(),
		repetition.Bytes()})
}
