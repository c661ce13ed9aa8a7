package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/named"
)

func devicesCheckCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check NAME",
		Short: "check whether a device is fit to measure on: governor, throttling, temperature, clock source, load, swap",
		Long: `Check examines a device (this machine, a board behind ssh, or an emulated machine). It says what would disturb
or falsify a measurement and how to fix it. The exit code is 1 if something would falsify it.`,
		Example: "  edgegauge devices check local\n  edgegauge devices check ssh://pi@board\n  edgegauge devices check " +
			"raspberry-pi-1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := a.checkDevice(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return errors.Join(writeJSON(cmd.OutOrStdout(), struct {
					Format   int              `json:"format"`
					Device   string           `json:"device"`
					Findings []device.Finding `json:"findings"`
				}{jsonFormat, args[0], found}), unfit(args[0], found))
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range found {
				verdict := "fit"
				switch {
				case f.Bad:
					verdict = "UNFIT"
				case f.Do != "":
					verdict = "doubt"
				case f.Unknown:
					verdict = "not known"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", verdict, f.What, f.Says, f.Do)
			}
			return errors.Join(w.Flush(), unfit(args[0], found))
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

func unfit(name string, found []device.Finding) error {
	for _, f := range found {
		if f.Bad {
			return exit{exitWorse, fmt.Errorf("%s is not fit to measure on: %s: %s", name, f.What, f.Says)}
		}
	}
	return nil
}

// checkDevice looks at a device; those made of this machine are as fit as it.
func (a *app) checkDevice(ctx context.Context, name string) ([]device.Finding, error) {
	bed, err := a.bed()
	if err != nil {
		return nil, err
	}
	k, ok := bed.KindOf(name)
	if !ok && strings.Contains(name, "@") {
		return nil, exit{exitUsage, fmt.Errorf("unknown device %q; did you mean ssh://%[1]s?", name)}
	}
	if _, broken := bed.Profiles(); !ok {
		if err := named.FaultOf(name, broken); err != nil {
			return nil, exit{exitUsage, err}
		}
		return nil, exit{exitUsage, fmt.Errorf("unknown device %q; %s", name,
			meant.Advice(name, bed.DeviceNames(), "a board is written ssh://USER@"+name+"; to list devices: edgegauge devices "+
				"list"))}
	}
	if strings.HasPrefix(name, ssh.Scheme) {
		if _, err := ssh.ParseTarget(name); err != nil {
			return nil, exit{exitUsage, err}
		}
	}
	found, err := k.Fitness(ctx, bed, name)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	return found, nil
}

func devicesShellCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "shell NAME",
		Short:   "open a console on a device",
		Example: "  edgegauge devices shell ssh://pi@board",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.HasPrefix(args[0], ssh.Scheme) {
				return exit{exitUsage, fmt.Errorf("%s has no console; only ssh:// devices have one", args[0])}
			}
			code, err := ssh.Shell(cmd.Context(), args[0], os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			if code != 0 {
				return exit{code, fmt.Errorf("the console exited with status %d", code)}
			}
			return nil
		},
	}
}
