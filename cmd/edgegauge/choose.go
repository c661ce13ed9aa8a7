package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge/internal/advise"
	"edgegauge/internal/report"
)

type chooseFlags struct {
	minimize, maximize, require []string
	confidence                  float64
	json                        bool
}

func chooseCmd() *cobra.Command {
	var f chooseFlags
	c := &cobra.Command{
		Use:   "choose DIR --minimize FIGURE",
		Short: "which treatment to take: the best under requirements, and how sure that is",
		Long: `Choose ranks the treatments of a results directory by the first of --minimize or --maximize, among those that meet every --require
beyond doubt (Holm over all of them). It says which differences are within noise, which treatments lie on the Pareto front of all
objectives, and what to measure next. A figure is a response, as rtt, rtt.p95, server.cpu; where both sides have it and none is
named, the worse side counts. The exit code is 1 if no treatment meets the requirements beyond doubt.`,
		Example: "  edgegauge choose results/latest --minimize rtt\n  edgegauge choose results/latest --minimize cpu --minimize message_size --require 'rtt.p95 < 100ms' --require 'peak_rss < 32MB'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			if _, ok := out.Best(); !ok {
				return exit{exitWorse, errors.New("no treatment meets the requirements beyond doubt")}
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&f.minimize, "minimize", nil, "figure to make small (repeatable; the first ranks)")
	c.Flags().StringArrayVar(&f.maximize, "maximize", nil, "figure to make large (repeatable; ranks after --minimize)")
	c.Flags().StringArrayVar(&f.require, "require", nil, "requirement, as 'rtt.p95 < 100ms' (repeatable)")
	c.Flags().Float64Var(&f.confidence, "confidence", 0.95, "of every verdict")
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	return c
}

func choose(dir string, f chooseFlags) (report.Chosen, error) {
	var objectives []advise.Objective
	for i, list := range [][]string{f.minimize, f.maximize} {
		for _, text := range list {
			t, err := advise.ParseTerm(text)
			if err != nil {
				return report.Chosen{}, exit{exitUsage, err}
			}
			objectives = append(objectives, advise.Objective{Term: t, Maximize: i == 1})
		}
	}
	if len(objectives) == 0 {
		return report.Chosen{}, exit{exitUsage, errors.New("nothing to choose by; say --minimize rtt, or --maximize throughput")}
	}
	var requirements []advise.Condition
	for _, text := range f.require {
		k, err := advise.ParseRequirement(text)
		if err != nil {
			return report.Chosen{}, exit{exitUsage, fmt.Errorf("--require %w", err)}
		}
		requirements = append(requirements, k)
	}
	if !(f.confidence > 0 && f.confidence < 1) {
		return report.Chosen{}, exit{exitUsage, fmt.Errorf("--confidence %v is not between 0 and 1; write 0.95 for 95 %%", f.confidence)}
	}
	r, err := soundReport(dir)
	if err != nil {
		return report.Chosen{}, err
	}
	c, err := advise.Choose(r.Series(), objectives, requirements, f.confidence)
	if err != nil {
		code := exitUnmeasured
		if errors.Is(err, advise.ErrNotMeasured) {
			code = exitUsage
		}
		return report.Chosen{}, exit{code, fmt.Errorf("%s: %w", dir, err)}
	}
	return report.Chosen{Dir: dir, Choice: c, Warnings: r.Warnings}, nil
}
