package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise/slo"
	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/lab"
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

func capacityCmd(a *app) *cobra.Command {
	var f bearing
	c := &cobra.Command{
		Use:   "capacity STUDY --slo CONDITIONS",
		Short: "find a server's capacity: how many requests per second, and how many devices, it can handle",
		Long: `Capacity finds the rate at which a server just meets an objective: the rate at which half of the trials meet
all conditions, with an interval. STUDY names the server and the request, and has one treatment; the search replaces
its load. Requests are sent at a rate, whether the server answers or not.

Conditions have the form FIGURE < BOUND, with commas between them. Figures are response_time, rtt and total_time,
each with a percentile, mean or median, and failed, the share of requests that failed. A failed request counts as
infinitely slow.

Capacity doubles the rate until a trial breaks the objective. It then measures blocks of randomized rates around the
knee, each trial in fresh processes, until the interval is as narrow as asked or the budget ends. To resume a search
that was stopped, run the same command again.

With --scale concurrency, capacity measures the throughput with 1, 2, 4, … requests under way instead, and fits the
Universal Scalability Law. doc/how-much-a-server-bears.md goes through an example.`,
		Example: `  edgegauge capacity my-service.yaml --slo "response_time p99 < 200ms, failed < 1%" --period 1m
  edgegauge capacity my-service.yaml --scale concurrency --most 256`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptied(cmd); err != nil {
				return err
			}
			strays, other := []string{"most", "blocks"}, byConcurrency
			if f.scale == byConcurrency {
				strays, other = []string{"period", "precision", "budget", "late"}, byRate
			}
			for _, flag := range strays {
				if cmd.Flags().Changed(flag) {
					return exit{exitUsage, fmt.Errorf("--%s is for --scale %s; leave it out", flag, other)}
				}
			}
			if err := f.check(); err != nil {
				return exit{exitUsage, err}
			}
			for i, flag := range []string{"period", "late"} {
				if []time.Duration{f.period, f.late}[i] == 0 && cmd.Flags().Changed(flag) {
					return exit{exitUsage, fmt.Errorf("--%s 0s; write more, or leave it out", flag)}
				}
			}
			if f.scale == byConcurrency {
				return a.scaling(cmd.Context(), cmd.OutOrStdout(), args[0], f)
			}
			return a.capacity(cmd.Context(), cmd.OutOrStdout(), args[0], f)
		},
	}
	setFlag(c, &f.sets)
	trustFlag(c, &f.trust)
	c.Flags().StringVar(&f.slo, "slo", "", `the objective, e.g. "response_time p99 < 200ms, failed < 1%"`)
	c.Flags().StringVar(&f.scale, "scale", byRate, "what grows: rate, or concurrency")
	c.Flags().DurationVar(&f.length, "length", 10*time.Second, "of a trial; the answer holds for trials of this length")
	c.Flags().DurationVar(&f.period, "period", 0, "time between two requests of a device: also give the answer in devices")
	c.Flags().Float64Var(&f.precision, "precision", 2.5, "half-width of the interval to reach, in %")
	c.Flags().IntVar(&f.budget, "budget", 60, "trials, at most; 10 or more, 30 for an interval in most cases")
	c.Flags().DurationVar(&f.late, "late", 0, "how late the driver may send in a valid trial, p99 or the objective's "+
		"highest percentile (default: a tenth of the shortest time in the objective, at most 50ms)")
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

// capacity searches for the rate that a server bears, keeps the answer and prints it.
func (a *app) capacity(ctx context.Context, w io.Writer, file string, f bearing) error {
	objective, err := slo.Parse(f.slo)
	if err != nil {
		return exit{exitUsage, fmt.Errorf("--slo: %w", err)}
	}
	bed, plan, text, err := a.read(ctx, file, nil, f.sets)
	if err != nil {
		return err
	}
	host := a.host(bed, f)
	host.Run = func(ctx context.Context, e *testbed.Experiment) (lab.Outcome, error) { return a.runLab(ctx, e) }
	answer, err := capacity.Find(ctx, host, capacity.Question{File: plan.Study.File, Text: text, Sets: f.sets, Out: f.out,
		SLO: objective, Length: f.length, Late: f.late, Period: f.period, Precision: f.precision, Budget: f.budget})
	out := report.Capacity{Answer: *answer}
	if err == nil {
		err = writeCapacity(&out)
	}
	if len(answer.Trials) > 0 { // once: after each block it would read all trials before again
		err = errors.Join(err, a.reportOf(answer.Dir))
	}
	if err != nil {
		return searchError(err)
	}
	if f.asJSON {
		err = out.JSON(w)
	} else if err = out.Text(w); err == nil {
		_, err = fmt.Fprintf(w, "\n%s\n", filepath.Join(out.Dir, report.CapacityPage))
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	return unanswered(answer)
}

// reportOf writes the report of results beside them.
func (a *app) reportOf(dir string) error {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = writeReport(s, a.notes(), a.given...)
	return err
}

// host lets a search open labs as the command line has it.
func (a *app) host(bed *testbed.Testbed, f bearing) capacity.Host {
	return capacity.Host{
		Bed: bed,
		Open: func(ctx context.Context, p study.Plan, text []byte, dir string) (*testbed.Experiment, error) {
			return a.openPlan(ctx, p, text, opening{out: dir, trust: f.trust, given: f.sets})
		},
		Close:    closeExperiment,
		Resuming: func(dir string) { fmt.Fprintf(a.notes(), "resuming %s\n", dir) },
	}
}

// searchError gives an error of a search its exit code.
func searchError(err error) error {
	switch {
	case errors.As(err, new(exit)):
		return err
	case errors.As(err, new(capacity.Refused)):
		return exit{exitUsage, err}
	}
	return exit{exitUnmeasured, err}
}

// unanswered is the error of a search that has no answer.
func unanswered(c *capacity.Answer) error {
	switch stage := c.Step.Stage; {
	case c.DriverBinds():
		return exit{exitUnmeasured, fmt.Errorf("the server handles more than half of what the driver itself can do "+
			"(%.0f of %.0f requests/s): drive it from another machine, or give the driver CPUs of its own (pin)",
			c.Most, c.Driver)}
	case stage == stat.BelowLeast:
		return exit{exitWorse, fmt.Errorf("not kept to at %g requests/s; at a lower rate a trial of %s has too few "+
			"requests to judge it: lengthen it with --length", c.Least, study.DurationText(c.Length))}
	case !c.Found() && stage != stat.AboveMost && len(c.Step.Blocks) < stat.CapacityBlocks:
		return exit{exitUnmeasured, fmt.Errorf("no interval within the budget of %d trials: it takes %d blocks of %d trials "+
			"around the knee, and the budget had room for %d; raise --budget, for example to %d", c.Budget,
			stat.CapacityBlocks, stat.CapacityBlock, len(c.Step.Blocks), max(30, 2*c.Budget))}
	case !c.Found() && stage != stat.AboveMost:
		return exit{exitUnmeasured, errors.New("no interval within the budget: trials differ too much; lengthen them with " +
			"--length, or raise --budget")}
	}
	return nil
}

// writeCapacity keeps the answer beside the results.
func writeCapacity(c *report.Capacity) error {
	for name, write := range map[string]func(io.Writer) error{report.CapacityPage: c.HTML, report.CapacityFile: c.JSON} {
		if err := store.PutBeside(c.Dir, name, write); err != nil {
			return err
		}
	}
	return nil
}

// scaling measures the throughput at growing concurrency, keeps what follows from it and prints it.
func (a *app) scaling(ctx context.Context, w io.Writer, file string, f bearing) error {
	bed, plan, text, err := a.read(ctx, file, nil, f.sets)
	if err != nil {
		return err
	}
	host := a.host(bed, f)
	host.Run = func(ctx context.Context, e *testbed.Experiment) (lab.Outcome, error) {
		outcome, _, err := a.conduct(ctx, e)
		if err == nil {
			err = gaveUp(outcome, e.Dir)
		}
		return outcome, err
	}
	law, err := capacity.Scale(ctx, host, capacity.ScalingQuestion{File: plan.Study.File, Text: text, Sets: f.sets,
		Out: f.out, Length: f.length, Most: f.most, Blocks: f.blocks})
	if err != nil {
		return searchError(err)
	}
	out := report.Scaling{Scaling: *law}
	if err = store.PutBeside(out.Dir, "scaling.json", out.JSON); err == nil {
		err = a.reportOf(out.Dir) // again: it knows by the answer what was asked
	}
	if err == nil {
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
