package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/testbed"
)

func checkCmd(a *app) *cobra.Command {
	var sets []string
	var shared sharing
	var asJSON bool
	c := &cobra.Command{
		Use:   "check STUDY...",
		Short: "find every problem that would stop run, before anything runs",
		Long: `Check lists everything that would keep a study from running on this machine: errors in the file, missing
stacks, devices and meters, and missing permissions. It opens meters and tests links, but runs no part of the study. It
does not connect to boards.

With --benches it lists what would keep run --benches from measuring it, and asks benches elsewhere what they lack.`,
		Example: "  edgegauge check studies/quickstart.yaml --set requests=100",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shared.check(); err != nil {
				return exit{exitUsage, err}
			}
			out := checkedJSON{Format: jsonFormat}
			var faults []error
			for _, file := range args {
				x, err := a.check(cmd.Context(), file, sets, shared)
				out.Studies = append(out.Studies, x)
				if err != nil {
					faults = append(faults, err)
				}
				if err != nil || asJSON {
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s: ready to run%s\n", file, plural.Count(x.Treatments, "treatment"),
					plural.Count(x.Trials, "trial"), x.with())
				if len(x.Asks) > 0 {
					fmt.Fprintln(cmd.OutOrStdout(),
						"run asks for confirmation, or needs --trust, since these did not come with edgegauge:")
				}
				for _, foreign := range x.Asks {
					fmt.Fprintln(cmd.OutOrStdout(), foreign)
				}
			}
			if asJSON {
				faults = append(faults, writeJSON(cmd.OutOrStdout(), out))
			}
			return worst(faults)
		},
	}
	setFlag(c, &sets)
	shared.flags(c)
	jsonFlag(c, &asJSON)
	return c
}

// worst is all errors as one, with an exit code that tells a fault of a study from
// what only this machine lacks; nil if there are none.
func worst(errs []error) error {
	all := errors.Join(errs...)
	if all == nil {
		return nil
	}
	code := exitUnmeasured
	for _, err := range errs {
		if err != nil && exitCode(err) != exitUnmeasured {
			code = exitCode(err)
		}
	}
	return exit{code, all}
}

// checkedJSON is what check --json prints.
type checkedJSON struct {
	Format  int            `json:"format"`
	Studies []checkedStudy `json:"studies"`
}

type checkedStudy struct {
	File       string      `json:"file"`
	Ready      bool        `json:"ready"`
	Treatments int         `json:"treatments"`
	Trials     int         `json:"trials"`
	Faults     []faultJSON `json:"faults"`
	Asks       []string    `json:"asks"` // what run asks about before it runs it
	// Benches is how many must drive at once, with run --benches; left out: this machine is enough.
	Benches int `json:"benches,omitempty"`
}

// with is what run needs beside the study, in words.
func (x checkedStudy) with() string {
	if x.Benches == 0 {
		return ""
	}
	return fmt.Sprintf(" with --benches, %d of them at least (driven_from)", x.Benches)
}

func (a *app) check(ctx context.Context, file string, sets []string, shared sharing) (checkedStudy, error) {
	x := checkedStudy{File: file, Asks: []string{}}
	bed, p, text, err := a.readFor(ctx, file, nil, sets, shared)
	if err == nil {
		advisePlan(bed, p)
		found, stopped := hinders(ctx, bed, p, shared)
		if stopped != nil {
			return x, stopped
		}
		if found != nil {
			err = obstacles(found)
		}
	}
	if err == nil && shared.elsewhere() {
		err = a.askBenches(ctx, p, text, shared)
	}
	if x.Faults = faultsOf(file, err); err != nil {
		return x, err
	}
	x.Ready, x.Treatments, x.Trials = true, p.Study.Treatments(), len(p.Trials)
	if n := testbed.Drivers(p); n > 1 {
		x.Benches = n
	}
	if shared.elsewhere() { // of each it was asked what it may not run
		return x, nil
	}
	for _, foreign := range bed.Foreign(p, sets...) {
		x.Asks = append(x.Asks, foreign.Error())
	}
	return x, nil
}

func setFlag(c *cobra.Command, sets *[]string) {
	c.Flags().StringArrayVar(sets, "set", nil,
		"override a setting of the study, e.g. requests=100 or design.seed=2 (repeatable; recorded)")
}
