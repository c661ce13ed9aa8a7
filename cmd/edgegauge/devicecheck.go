package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
	"edgegauge/internal/device/ssh"
)

func devicesCheckCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check NAME",
		Short: "say whether a device is fit to measure on: governor, throttling, clock source, load, swap",
		Long: `Check looks at a device, this machine, one behind ssh or an emulated one, and says what would disturb or falsify a measurement and what to do about it.
It ends with 1 if something would falsify it.`,
		Example: "  edgegauge devices check local\n  edgegauge devices check ssh://pi@board\n  edgegauge devices check raspberry-pi-1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := checkDevice(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return errors.Join(enc.Encode(found), unfit(args[0], found))
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range found {
				verdict := "fit"
				switch {
				case f.Bad:
					verdict = "UNFIT"
				case f.Do != "":
					verdict = "doubt"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", verdict, f.What, f.Says, f.Do)
			}
			return errors.Join(w.Flush(), unfit(args[0], found))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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
func checkDevice(ctx context.Context, name string) ([]device.Finding, error) {
	if strings.HasPrefix(name, ssh.Scheme) {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		b, err := ssh.New(name, exe, version())
		if err != nil {
			return nil, exit{exitUsage, err}
		}
		defer b.Close()
		found, err := b.Check(ctx)
		if err != nil {
			return nil, exit{exitUnmeasured, err}
		}
		return found, nil
	}
	if b, _, ok := findMachine(name); ok {
		cache, err := cacheDir()
		if err != nil {
			return nil, exit{exitUsage, err}
		}
		return append(b.Check(ctx, qemu.Builder{Cache: cache}.Dir(b)), device.CheckFitness(os.DirFS("/"))...), nil
	}
	all, _ := deviceProfiles()
	if p, ok := all[name]; name == "local" || ok && p.Limits != nil {
		found := device.CheckFitness(os.DirFS("/"))
		if ok && p.Limits != nil {
			found = append(found, p.Limits.Check())
		}
		return found, nil
	}
	return nil, exit{exitUsage, fmt.Errorf("no device %q; edgegauge devices list shows them", name)}
}

func devicesShellCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "shell NAME",
		Short:   "open a console on a device",
		Example: "  edgegauge devices shell ssh://pi@board",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.HasPrefix(args[0], ssh.Scheme) {
				return exit{exitUsage, fmt.Errorf("%s is no device with a console of its own; there are those of ssh://", args[0])}
			}
			code, err := ssh.Shell(cmd.Context(), args[0], os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			if code != 0 {
				return exit{code, fmt.Errorf("the console ended with status %d", code)}
			}
			return nil
		},
	}
}
