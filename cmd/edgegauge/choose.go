package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/report"
)

type chooseFlags struct {
	minimize, maximize, require []string
	need                        []string
	batteryFlags
	confidence   float64 // 0: as the study asks
	json, across bool
}

func chooseCmd() *cobra.Command {
	var f chooseFlags
	c := &cobra.Command{
		Use:   "choose DIR --minimize FIGURE",
		Short: "which treatment to choose: the best that meets the requirements, and how sure that is",
		Long: `Choose ranks the treatments of a results directory by the first --minimize or --maximize, among those that
meet every --require beyond doubt (Holm-corrected over all of them). It says which differences are within noise (all
pairs compared simultaneously), which treatments are on the Pareto front of all objectives, and what to measure next. A
figure is a response, such as rtt, rtt.p95 or server.cpu; without mean, median or p95 it is the one that report shows.
If both sides have it and neither is named, the worse side counts, and both must meet a requirement.

Medians and p95 of times cover all requests, with those that failed as the slowest. Means cover only the requests that
were answered. So if requests failed, a bound on a mean, such as 'rtt < 100ms', is met only together with a bound on how
many may fail, such as 'failed_share < 1%'.

--need 'battery > 5y' is a requirement on what forecast models, with --battery, --link and --period; the whole interval
must meet it. Each link, device, service, message and load has its own verdict, unless --across is given.

The exit code is 1 if, in one of these verdicts, no treatment meets the requirements beyond doubt, or if so many
requests of each treatment failed that there is no figure to rank by. Choose then names the nearest figure that
exists.`,
		Example: "  edgegauge choose results/latest --minimize rtt\n  edgegauge choose results/latest --minimize cpu " +
			"--minimize message_size --require 'rtt.p95 < 100ms' --require 'peak_rss < 32MB'\n  edgegauge choose " +
			"results/latest --minimize rtt --need 'battery > 1y' --battery 2xAA --link nb-iot --period 1h",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkConfidence(cmd, f.confidence); err != nil {
				return err
			}
			out, err := choose(args[0], f)
			if err != nil {
				return err
			}
			write := out.Text
			if f.json {
				write = out.JSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			switch {
			case out.Unranked:
				return exit{exitWorse, errors.New("not everywhere can a treatment be ranked")}
			case !out.Met():
				return exit{exitWorse, errors.New("no treatment meets the requirements beyond doubt")}
			case out.Alone():
				return exit{exitWorse, errors.New("no treatment is compared with another: run at least two blocks with both")}
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&f.minimize, "minimize", nil,
		"figure to minimize (repeatable; the first determines the ranking)")
	c.Flags().StringArrayVar(&f.maximize, "maximize", nil, "figure to maximize (repeatable; ranks after --minimize)")
	c.Flags().StringArrayVar(&f.require, "require", nil, "requirement, e.g. 'rtt.p95 < 100ms' (repeatable)")
	c.Flags().StringArrayVar(&f.need, "need", nil, "requirement on a modelled figure, e.g. 'battery > 5y' (repeatable)")
	f.add(c)
	confidenceFlag(c, &f.confidence, "of every interval and verdict")
	c.Flags().BoolVar(&f.across, "across", false, "rank across links, devices, services, messages and loads as well")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	return c
}

func choose(dir string, f chooseFlags) (report.Chosen, error) {
	objectives, requirements, err := f.asked()
	if err != nil {
		return report.Chosen{}, err
	}
	r, err := wholeReport(dir)
	if err == nil {
		err = searches(r)
	}
	if err != nil {
		return report.Chosen{}, err
	}
	return chosen(r, f, objectives, requirements)
}

// asked are the objectives and requirements of the flags.
func (f chooseFlags) asked() (objectives []advise.Objective, requirements []advise.Condition, err error) {
	smallest, err := objectivesOf("minimize", f.minimize, false)
	largest, err2 := objectivesOf("maximize", f.maximize, true)
	requirements, err3 := eachOf("--require", f.require, advise.ParseRequirement)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, nil, exit{exitUsage, err}
	}
	if objectives = append(smallest, largest...); len(objectives) == 0 {
		return nil, nil, exit{exitUsage, errors.New("no objective; write --minimize rtt, or --maximize throughput")}
	}
	texts := slices.Concat(f.minimize, f.maximize)
	for i, o := range objectives {
		for j, before := range objectives[:i] {
			switch {
			case o.Against(before):
				return nil, nil, exit{exitUsage, fmt.Errorf("--minimize %s and --maximize %s contradict each other; keep one",
					texts[j], texts[i])}
			case o.String() == before.String():
				return nil, nil, exit{exitUsage, fmt.Errorf("%s is named twice; name it once", texts[i])}
			}
		}
	}
	return objectives, requirements, nil
}

// objectivesOf are those of the words of a flag.
func objectivesOf(flag string, words []string, maximize bool) ([]advise.Objective, error) {
	return eachOf("--"+flag, words, func(word string) (advise.Objective, error) {
		t, err := advise.ParseTerm(word)
		if names := strings.Split(word, ","); err != nil && len(names) > 1 {
			err = fmt.Errorf("%q names several; write --%s %s", word, flag, strings.Join(names, " --"+flag+" "))
		}
		return advise.Objective{Term: t, Maximize: maximize}, err
	})
}

// chosen is the choice from results that are read.
func chosen(
	r *report.Report, f chooseFlags, objectives []advise.Objective, requirements []advise.Condition,
) (report.Chosen, error) {
	f.confidence = cmp.Or(f.confidence, r.Study.Design.Confidence)
	life, needs, err := f.needs(r)
	if err != nil {
		return report.Chosen{}, err
	}
	levels := r.Levels()
	if f.across {
		levels = []report.Level{r.Whole()}
	}
	out := report.Chosen{Dir: r.Dir, Warnings: append(r.Doubts(), life.Caveats()...)}
	var lacking error
	var unranked []string
	for _, l := range levels {
		if len(needs) > 0 && !life.Has(l.Series) {
			out.Warnings = append(out.Warnings, l.Name+": left out, since others were measured over "+f.link)
			continue
		}
		if l.Of > 0 && len(l.Invalid) == l.Of {
			out.Warnings = append(out.Warnings, l.Name+": "+report.NoValidTrial)
			continue
		}
		ranked := slices.Clone(objectives)
		for i, o := range objectives {
			if !o.Named {
				ranked[i].Term = l.Headline(o.Term)
			}
		}
		c, err := advise.Choose(l.Series, ranked, requirements, f.confidence, needs...)
		switch {
		case errors.Is(err, advise.ErrAllFail):
			unranked = append(unranked, strings.TrimPrefix(l.Name+": "+err.Error(), ": "))
			continue
		case errors.Is(err, advise.ErrNotMeasured):
			lacking = err
			if l.Name != "" {
				out.Warnings = append(out.Warnings, l.Name+": "+err.Error())
			}
			continue
		case err != nil:
			return out, exit{exitUnmeasured, fmt.Errorf("%s: %w", r.Dir, err)}
		}
		for _, name := range l.Invalid {
			c.Left = append(c.Left, name+": "+report.NoValidTrial)
		}
		for i := range c.Candidates {
			if c.Candidates[i].Name == "" { // a study without factors has one treatment
				c.Candidates[i].Name = r.Treatments[0].Name()
			}
		}
		out.Levels = append(out.Levels, report.LevelChoice{Name: l.Name, Choice: c,
			Notes: r.ChoiceNotes(l, objectives, c)})
	}
	if out.Unranked = len(unranked) > 0; out.Unranked && len(out.Levels) == 0 {
		return out, exit{exitWorse, fmt.Errorf("%s: %s", r.Dir, strings.Join(unranked, "; "))}
	}
	out.Warnings = append(out.Warnings, unranked...)
	if len(out.Levels) == 0 {
		return out, exit{exitUsage, fmt.Errorf("%s: %w", r.Dir, lacking)}
	}
	return out, nil
}

// needs are the needs on a battery, and the forecasts that they are judged by.
func (f chooseFlags) needs(r *report.Report) (life report.Forecasts, needs []advise.Need, err error) {
	if len(f.need) == 0 {
		if f.batteryFlags.any() {
			return life, nil, exit{exitUsage, errors.New("--battery, --link, --period, --set and --joules belong to " +
				"--need; write, for example, --need 'battery > 5y'")}
		}
		return life, nil, nil
	}
	k, err := f.conditions(f.confidence)
	if err != nil {
		return life, nil, err
	}
	life = r.Forecast(k, report.Joules(f.joules))
	all, err := eachOf("--need", f.need, battery.ParseNeed)
	if err != nil {
		return life, nil, exit{exitUsage, err}
	}
	for _, n := range all {
		needs = append(needs, life.Need(n))
	}
	return life, needs, nil
}
