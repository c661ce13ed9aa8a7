package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// bearing is what capacity was asked.
type bearing struct {
	slo, scale, out string
	sets            []string
	length, late    time.Duration
	period          time.Duration
	precision       float64
	budget, blocks  int
	most            int
	trust, asJSON   bool
}

// The scales on which a server's load may grow.
const (
	byRate        = "rate"
	byConcurrency = "concurrency"
)

// inFlight is how many requests may be under way where a study does not say: a server that
// waits for one client's next request shows nothing of what it bears.
const inFlight = 64

func capacityCmd(a *app) *cobra.Command {
	var f bearing
	c := &cobra.Command{
		Use:   "capacity STUDY --slo CONDITIONS",
		Short: "find how many requests, and how many devices, a server bears",
		Long: `Capacity finds the rate at which a server just keeps to an objective: the rate at which half of the trials
meet all conditions, with an interval. STUDY says what is asked of which server, with one treatment; its load is
replaced. Requests come at a rate, whether the server answers or not.

Conditions have the form FIGURE < BOUND, with commas between them. Figures are response_time, rtt and total_time,
each with a percentile, mean or median, and failed, the share of requests that failed. A failed request counts as one
that took for ever.

It doubles the rate until a trial breaks the objective, and then measures blocks of randomized rates around the
knee, each trial in fresh processes, until the interval is as narrow as asked or the budget ends. To resume a search
that was stopped, run the same command again.

With --scale concurrency it measures the throughput with 1, 2, 4, … requests under way instead, and fits the Universal
Scalability Law. doc/how-much-a-server-bears.md goes through an example.`,
		Example: `  edgegauge capacity my-service.yaml --slo "response_time p99 < 200ms, failed < 1%" --period 1m
  edgegauge capacity my-service.yaml --scale concurrency --most 256`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return exit{exitUsage, err}
			}
			if f.scale == byConcurrency {
				return a.scaling(cmd.Context(), cmd.OutOrStdout(), args[0], f)
			}
			return a.capacity(cmd.Context(), cmd.OutOrStdout(), args[0], f)
		},
	}
	setFlag(c, &f.sets)
	trustFlag(c, &f.trust)
	c.Flags().StringVar(&f.slo, "slo", "", `what the server is to keep to, e.g. "response_time p99 < 200ms, failed < 1%"`)
	c.Flags().StringVar(&f.scale, "scale", byRate, "what grows: rate, or concurrency")
	c.Flags().DurationVar(&f.length, "length", 10*time.Second, "of a trial; the answer holds for trials of this length")
	c.Flags().DurationVar(&f.period, "period", 0, "from one request of a device to its next: the answer in devices, too")
	c.Flags().Float64Var(&f.precision, "precision", 2.5, "half-width of the interval to reach, in %")
	c.Flags().IntVar(&f.budget, "budget", 60, "trials, at most")
	c.Flags().DurationVar(&f.late, "late", 0, "how late the driver may send, p99, in a valid trial (default: a tenth of "+
		"the shortest time in the objective, at most 50ms)")
	c.Flags().IntVar(&f.most, "most", 64, "with --scale concurrency: the most requests under way")
	c.Flags().IntVar(&f.blocks, "blocks", 5, "with --scale concurrency: trials of each level")
	c.Flags().StringVar(&f.out, "out", "", "results directory (default results/NAME/NUMBER)")
	jsonFlag(c, &f.asJSON)
	return c
}

func (f *bearing) check() error {
	switch {
	case f.scale != byRate && f.scale != byConcurrency:
		return fmt.Errorf("--scale %q: write rate or concurrency", f.scale)
	case f.scale == byRate && f.slo == "":
		return errors.New(`--slo is missing; write, for example, --slo "response_time p99 < 200ms, failed < 1%"`)
	case f.scale == byConcurrency && f.slo != "":
		return errors.New("--scale concurrency looks at the throughput and takes no --slo")
	case f.length < 100*time.Millisecond:
		return fmt.Errorf("--length %v is too short; write 100ms or more", f.length)
	case f.period < 0 || f.late < 0:
		return errors.New("--period and --late are not negative")
	case !(f.precision >= 0.1 && f.precision <= 25):
		return fmt.Errorf("--precision %g: write %% from 0.1 to 25", f.precision)
	case f.budget < 10 || f.budget > 10000:
		return fmt.Errorf("--budget %d: write 10 to 10000 trials", f.budget)
	case f.blocks < 2 || f.blocks > 1000:
		return fmt.Errorf("--blocks %d: write 2 to 1000", f.blocks)
	case f.most < 8 || f.most > drive.MostConnections:
		return fmt.Errorf("--most %d: write 8 to %d, so that there are four levels", f.most, drive.MostConnections)
	}
	return nil
}

// A seeker is a search for a capacity at work.
type seeker struct {
	*app
	asked  bearing
	slo    slo.SLO
	file   string
	text   []byte
	base   study.Study // as the file and the user have it
	load   []string    // settings of every trial
	search stat.CapacitySearch
	dir    string
	out    report.Capacity

	tallies map[int]stat.CapacityTrial // by trial
	kept    map[int]report.CapacityTrial
}

func (a *app) capacity(ctx context.Context, w io.Writer, file string, f bearing) error {
	k := &seeker{app: a, asked: f, tallies: map[int]stat.CapacityTrial{}, kept: map[int]report.CapacityTrial{}}
	var err error
	if k.slo, err = slo.Parse(f.slo); err != nil {
		return exit{exitUsage, fmt.Errorf("--slo: %w", err)}
	}
	if err := k.prepare(ctx, file); err != nil {
		return err
	}
	if err := k.seek(ctx); err != nil {
		return err
	}
	if err := k.write(); err != nil {
		return exit{exitUnmeasured, err}
	}
	if f.asJSON {
		err = k.out.JSON(w)
	} else if err = k.out.Text(w); err == nil {
		_, err = fmt.Fprintf(w, "\n%s\n", filepath.Join(k.dir, "capacity.html"))
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	return k.verdict()
}

// verdict is the error of a search that has no answer.
func (k *seeker) verdict() error {
	switch stage := k.out.Step.Stage; {
	case stage == stat.AboveMost && k.out.Driver > 0 && k.search.Most < drive.MostRate:
		return exit{exitUnmeasured, fmt.Errorf("the server bears more than half of what the driver itself can do "+
			"(%.0f of %.0f requests/s): drive it from another machine, or give the driver CPUs of its own (pin)",
			k.search.Most, k.out.Driver)}
	case stage == stat.BelowLeast:
		return exit{exitWorse, fmt.Errorf("not kept to at %g requests/s; at a lower rate a trial of %v has too few "+
			"requests to judge it: lengthen it with --length", k.search.Least, k.asked.length)}
	case !k.out.Found() && stage != stat.AboveMost:
		return exit{exitUnmeasured, errors.New("no interval within the budget: trials differ too much; lengthen them with " +
			"--length, or raise --budget")}
	}
	return nil
}

// prepare reads the study and says how every trial is loaded.
func (k *seeker) prepare(ctx context.Context, file string) error {
	_, plan, text, err := k.read(ctx, file, k.asked.sets)
	if err != nil {
		return err
	}
	k.file, k.text, k.base = file, text, plan.Study
	if n := k.base.Treatments(); n != 1 {
		return exit{exitUsage, fmt.Errorf("%s has %d treatments, and a capacity is of one: choose the levels with --set, "+
			"for example --set %s=%s", file, n, k.base.Factors[0].Name, k.base.Factors[0].Levels[0].Text)}
	}
	if k.base.Time == study.Instructions {
		return exit{exitUsage, fmt.Errorf("%s counts instructions; a capacity needs a clock", file)}
	}
	if t := k.base.Timeouts.Request; t <= k.slo.Longest() {
		return exit{exitUsage, fmt.Errorf("a request fails after %v (timeouts.request), which the bound of %v never sees; "+
			"raise it", t, k.slo.Longest())}
	}
	k.load = k.loadOf()
	k.search = stat.CapacitySearch{Least: float64(k.slo.Needs()) / k.asked.length.Seconds(), Most: drive.MostRate,
		Precision: k.asked.precision / 100, Budget: k.asked.budget, Confidence: k.base.Design.Confidence,
		Seed: k.base.Design.Seed}
	k.out = report.Capacity{Study: k.base.Name, SLO: k.slo, Precision: k.search.Precision, Length: k.asked.length,
		Period: k.asked.period, Confidence: k.search.Confidence, Least: k.search.Least}
	return nil
}

// fixes reports whether the study gives a setting, fixed or as a factor.
func (k *seeker) fixes(name string) bool {
	return slices.ContainsFunc(k.base.Fixed, func(s study.Setting) bool { return s.Key == name }) ||
		slices.ContainsFunc(k.base.Factors, func(f study.Factor) bool {
			return slices.ContainsFunc(f.Levels[0].Sets, func(s study.Setting) bool { return s.Key == name })
		})
}

// loadOf are the settings of every trial, but for its rate. What varies with one level
// becomes fixed: the rate is the one factor.
func (k *seeker) loadOf() []string {
	load := []string{"duration=" + k.asked.length.String(), "design.replications=1", "design.precision=off"}
	for _, f := range k.base.Factors {
		if len(f.Levels[0].Sets) == 1 && f.Levels[0].Sets[0].Key == f.Name {
			load = append(load, f.Name+"="+f.Levels[0].Text)
		}
	}
	if !k.fixes("concurrency") {
		load = append(load, fmt.Sprintf("concurrency=%d", inFlight))
	}
	return load
}

// plan is that of blocks of rates.
func (k *seeker) plan(ctx context.Context, blocks [][]float64) (study.Plan, error) {
	rates := slices.Concat(blocks...)
	slices.Sort(rates)
	if rates = slices.Compact(rates); len(rates) == 1 {
		rates = append(rates, 2*rates[0]) // a factor has two levels; this one has no trial
	}
	list := make([]string, len(rates))
	for i, r := range rates {
		list[i] = strconv.FormatFloat(r, 'f', -1, 64)
	}
	sets := []string{"factors.rate=[" + strings.Join(list, ", ") + "]"}
	if !k.fixes("arrival") {
		sets = append(sets, "arrival=poisson")
	}
	p, err := k.expand(ctx, sets...)
	if err != nil {
		return p, err
	}
	texts := make([][]string, len(blocks))
	for i, b := range blocks {
		for _, r := range b {
			at, _ := slices.BinarySearch(rates, r)
			texts[i] = append(texts[i], p.Study.Factors[len(p.Study.Factors)-1].Levels[at].Text)
		}
	}
	if p, err = study.Sequence(p.Study, texts); err != nil {
		err = exit{exitUsage, err}
	}
	return p, err
}

// expand reads the study with the load and some more settings.
func (k *seeker) expand(ctx context.Context, more ...string) (study.Plan, error) {
	_, p, _, err := k.read(ctx, k.file, slices.Concat(k.asked.sets, k.load, more))
	return p, err
}

// seek measures until the search ends.
func (k *seeker) seek(ctx context.Context) error {
	blocks, err := k.begin(ctx)
	if err != nil {
		return err
	}
	for {
		if len(blocks) > 0 {
			if err := k.measure(ctx, blocks); err != nil {
				return err
			}
		}
		var trials []stat.CapacityTrial
		for id := range len(slices.Concat(blocks...)) {
			trials = append(trials, k.tallies[id+1])
		}
		k.out.Step = k.search.Next(trials)
		if len(blocks) > 0 { // before, there is no directory
			if err := k.note(); err != nil {
				return exit{exitUnmeasured, err}
			}
		}
		if len(k.out.Step.Rates) == 0 {
			k.gather(blocks)
			return nil
		}
		blocks = append(blocks, k.out.Step.Rates)
	}
}

// measure conducts the trials of the last block, and whatever else is not there yet.
func (k *seeker) measure(ctx context.Context, blocks [][]float64) error {
	p, err := k.plan(ctx, blocks)
	if err != nil {
		return err
	}
	e, err := k.openPlan(ctx, p, k.text, k.dir, k.asked.trust, false)
	if err != nil {
		return err
	}
	defer closeExperiment(e)
	k.dir, k.out.Dir = e.Dir, e.Dir
	outcome, err := k.conductLoaded(ctx, e)
	if err != nil {
		return err
	}
	k.out.Invalid += outcome.Invalid
	if err := gaveUp(outcome); err != nil {
		return err
	}
	at := 0
	for b, rates := range blocks {
		for range rates {
			at++
			if _, ok := k.tallies[at]; ok {
				continue
			}
			if err := k.tally(e.Lab.Store, p.Trials[at-1], b+1); err != nil {
				return exit{exitUnmeasured, err}
			}
		}
	}
	if _, err := writeReport(e, k.notes()); err != nil {
		return exit{exitUnmeasured, err}
	}
	return nil
}

// conductLoaded runs a lab whose server may be overloaded.
func (k *seeker) conductLoaded(ctx context.Context, e *testbed.Experiment) (lab.Outcome, error) {
	e.Lab.Overload, e.Lab.MostLate = true, k.late()
	show := newProgress(os.Stderr, e.Dir)
	if !k.quiet {
		e.Lab.Progress = show.tell
	}
	outcome, err := e.Lab.Run(ctx)
	show.end()
	if errors.Is(err, lab.ErrStopped) {
		return outcome, exit{exitUnmeasured, fmt.Errorf("stopped; results so far are in %s; run the same command again to "+
			"resume", k.dir)}
	}
	if err != nil {
		return outcome, exit{exitUnmeasured, err}
	}
	return outcome, nil
}

// late is how late the driver may be in a valid trial.
func (k *seeker) late() time.Duration {
	const most = 50 * time.Millisecond
	switch short := k.slo.Shortest(); {
	case k.asked.late > 0:
		return k.asked.late
	case short > 0:
		return min(short/10, most)
	}
	return most
}

// tally reads what a trial's client recorded.
func (k *seeker) tally(s *store.Store, t study.Trial, block int) error {
	y := k.slo.NewTally()
	for batch, err := range s.Exchanges(t.ID, measure.Client) {
		if err != nil {
			return err
		}
		for _, x := range batch {
			y.Add(x)
		}
	}
	kept, binding := y.Judge()
	k.tallies[t.ID] = stat.CapacityTrial{Rate: t.Setup.Rate, Margin: kept[binding].Margin}
	k.kept[t.ID] = report.CapacityTrial{Block: block, Rate: t.Setup.Rate, Kept: kept, Binding: binding}
	k.out.InFlight, k.out.Arrival = t.Setup.Concurrency, t.Setup.Arrival
	return nil
}

// gather lists all trials in the order in which they were planned. The blocks that count are the last.
func (k *seeker) gather(blocks [][]float64) {
	counting := len(blocks) - len(k.out.Step.Blocks)
	for id := range len(slices.Concat(blocks...)) {
		t := k.kept[id+1]
		t.Counts = t.Block > counting
		k.out.Trials = append(k.out.Trials, t)
	}
}

// A capacityNote is what a search leaves in its results directory: by it, the same
// command finds them again.
type capacityNote struct {
	Format   int      `json:"format"`
	SLO      string   `json:"slo"`
	Settings []string `json:"settings"`
	First    float64  `json:"first_requests_per_s"`
	Most     float64  `json:"most_requests_per_s"`
	Driver   float64  `json:"driver_requests_per_s"`
	Floor    string   `json:"floor"`
	Ended    bool     `json:"ended"`
}

const capacityNoteFile = "capacity-search.json"

func (k *seeker) settings() []string {
	return append(slices.Concat(k.asked.sets, k.load), fmt.Sprintf("precision %g %%", k.asked.precision))
}

// note keeps where the search stands.
func (k *seeker) note() error {
	return store.Replace(filepath.Join(k.dir, capacityNoteFile), func(w io.Writer) error {
		return writeJSON(w, capacityNote{1, k.slo.String(), k.settings(), k.search.First, k.search.Most, k.out.Driver,
			k.out.Floor, len(k.out.Step.Rates) == 0})
	})
}

// begin finds a search to resume, and the blocks it has; or opens results, and finds
// where to begin and how far to go.
func (k *seeker) begin(ctx context.Context) ([][]float64, error) {
	dir, fresh := k.asked.out, false
	if dir == "" {
		base := filepath.Join("results", k.base.Name)
		if n := testbed.LastNumber(base); n > 0 {
			dir = filepath.Join(base, fmt.Sprintf("%03d", n))
		}
		fresh = true
	}
	note, blocks, err := k.earlier(dir)
	switch {
	case err != nil && !fresh:
		return nil, exit{exitUsage, err}
	case err == nil && note != nil && (!fresh || !note.Ended):
		k.dir, k.search.First, k.search.Most = dir, note.First, note.Most
		k.out.Driver, k.out.Floor, k.out.Dir, k.out.Most = note.Driver, note.Floor, dir, note.Most
		fmt.Fprintf(k.notes(), "resuming %s\n", dir)
		return blocks, nil
	}
	k.dir = k.asked.out
	return nil, k.start(ctx)
}

// earlier reads what an earlier search for the same left in a directory; nil: nothing did.
func (k *seeker) earlier(dir string) (*capacityNote, [][]float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, capacityNoteFile))
	if dir == "" || err != nil {
		return nil, nil, nil
	}
	var n capacityNote
	if err := json.Unmarshal(text, &n); err != nil || n.Format != 1 {
		return nil, nil, fmt.Errorf("%s: %s is not of this program", dir, capacityNoteFile)
	}
	if n.SLO != k.slo.String() || !slices.Equal(n.Settings, k.settings()) {
		return nil, nil, fmt.Errorf("%s holds another search, for %s; name another directory", dir, n.SLO)
	}
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil {
		return nil, nil, err
	}
	var blocks [][]float64
	for _, t := range trials {
		for len(blocks) < t.Block {
			blocks = append(blocks, nil)
		}
		i := slices.IndexFunc(t.Treatment, func(l store.Level) bool { return l.Factor == "rate" })
		if i < 0 {
			return nil, nil, fmt.Errorf("%s: trial %d has no rate", dir, t.ID)
		}
		rate, err := strconv.ParseFloat(strings.TrimSuffix(t.Treatment[i].Text, "/s"), 64)
		if err != nil {
			return nil, nil, err
		}
		blocks[t.Block-1] = append(blocks[t.Block-1], rate)
	}
	return &n, blocks, nil
}

// start measures what the driver can do, and finds the first rate: the study's own, or half
// of what the server answers in a closed loop with as many requests under way as trials have.
func (k *seeker) start(ctx context.Context) error {
	p, err := k.expand(ctx)
	if err != nil {
		return err
	}
	if err := k.drivers(ctx, p.Trials[0].Setup); err != nil {
		return err
	}
	if k.search.First = p.Trials[0].Setup.Rate; k.search.First > 0 {
		return nil
	}
	if p, err = k.expand(ctx, "duration=1s"); err != nil {
		return err
	}
	closed, err := k.once(ctx, p, k.text)
	k.search.First = max(closed/2, k.search.Least)
	return err
}

// drivers measures what the driver itself does against the bare server of the same
// transport, and bounds the search by half of it: above, it would be the driver that is late.
func (k *seeker) drivers(ctx context.Context, s *study.Setup) error {
	if s.URL == "" && !strings.HasPrefix(s.Client.Stack, "reference/") {
		return nil // it drives itself, and its own lateness tells
	}
	if s.Client.Device != "local" {
		return nil
	}
	k.out.Floor = "floor-tcp"
	if strings.HasPrefix(s.Transport, "coap") || s.Transport == "udp" || strings.HasPrefix(s.URL, "coap") ||
		strings.HasPrefix(s.URL, "udp") {
		k.out.Floor = "floor-udp"
	}
	text := fmt.Appendf(nil, "study: driver\nservice: echo\nsize: 100B\nstack: %s\nconcurrency: %d\nduration: 1s\n"+
		"design: {replications: 1, warmup: 100}\nresponses: [throughput]\n", k.out.Floor, s.Concurrency)
	bed, err := k.bed()
	if err != nil {
		return err
	}
	p, err := bed.Read(ctx, "driver.yaml", text)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if k.out.Driver, err = k.once(ctx, p, text); err != nil {
		return err
	}
	if k.search.Most = k.out.Driver / 2; k.search.Most < k.search.Least {
		return exit{exitUnmeasured, fmt.Errorf("the driver does %.0f requests/s here, too few to judge a trial of %v; "+
			"lengthen it with --length, or free a CPU", k.out.Driver, k.asked.length)}
	}
	k.out.Most = k.search.Most
	return nil
}

// once conducts a plan of one trial in a folder that is not kept, and returns its throughput.
func (k *seeker) once(ctx context.Context, p study.Plan, text []byte) (float64, error) {
	dir, err := os.MkdirTemp("", "edgegauge-capacity-")
	if err != nil {
		return 0, exit{exitUnmeasured, err}
	}
	defer os.RemoveAll(dir)
	e, err := k.openPlan(ctx, p, text, filepath.Join(dir, "results"), k.asked.trust, false)
	if err != nil {
		return 0, err
	}
	defer closeExperiment(e)
	outcome, err := k.conductLoaded(ctx, e)
	if err == nil {
		err = gaveUp(outcome)
	}
	if err != nil {
		return 0, err
	}
	for row, err := range e.Lab.Store.Results() {
		if err != nil {
			return 0, exit{exitUnmeasured, err}
		}
		if row.Response == "throughput" && !math.IsNaN(row.Mean) {
			return row.Mean, nil
		}
	}
	return 0, nil // not one request was answered
}

// write keeps the answer beside the results.
func (k *seeker) write() error {
	for name, write := range map[string]func(io.Writer) error{"capacity.html": k.out.HTML, "capacity.json": k.out.JSON} {
		if err := store.Replace(filepath.Join(k.dir, name), write); err != nil {
			return err
		}
	}
	return nil
}

// scaling measures the throughput at growing concurrency and fits the Universal Scalability Law.
func (a *app) scaling(ctx context.Context, w io.Writer, file string, f bearing) error {
	var levels []string
	for n := 1; n < f.most; n *= 2 {
		levels = append(levels, strconv.Itoa(n))
	}
	levels = append(levels, strconv.Itoa(f.most))
	sets := append(slices.Clone(f.sets), "factors.concurrency=["+strings.Join(levels, ", ")+"]",
		"duration="+f.length.String(), fmt.Sprintf("design.replications=%d", f.blocks), "design.precision=off")
	e, err := a.open(ctx, file, sets, f.out, f.trust, false)
	if err != nil {
		return err
	}
	defer closeExperiment(e)
	if n := e.Lab.Plan.Study.Treatments(); n != len(levels) {
		return exit{exitUsage, fmt.Errorf("%s varies more than the concurrency; choose the levels of its factors with --set",
			file)}
	}
	outcome, _, err := a.conduct(ctx, e)
	if err == nil {
		err = gaveUp(outcome)
	}
	if err != nil {
		return err
	}
	out := report.Scaling{Study: e.Lab.Plan.Study.Name, Dir: e.Dir, Length: f.length}
	under := map[int]int{}
	for _, t := range e.Lab.Plan.Trials {
		if under[t.ID] = t.Setup.Concurrency; t.Setup.Rate > 0 {
			return exit{exitUsage, fmt.Errorf("%s has a rate; with --scale concurrency the loop is closed: --set rate=0", file)}
		}
	}
	for row, err := range e.Lab.Store.Results() {
		if err != nil {
			return exit{exitUnmeasured, err}
		}
		if row.Response == "throughput" {
			out.Trials = append(out.Trials, stat.LoadPoint{N: float64(under[row.ID]), Throughput: row.Mean})
		}
	}
	if out.Law, err = stat.FitUSL(out.Trials, true, e.Lab.Plan.Study.Design.Confidence); err == nil {
		out.Queue, err = stat.FitClosedQueue(out.Trials)
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if err = store.Replace(filepath.Join(e.Dir, "scaling.json"), out.JSON); err == nil {
		if f.asJSON {
			err = out.JSON(w)
		} else {
			err = out.Text(w)
		}
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	return nil
}
