package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
)

func devicesBuildCmd() *cobra.Command {
	var newest, again bool
	c := &cobra.Command{
		Use:   "build NAME...",
		Short: "build emulated machines of Debian packages, unless they are built",
		Long: `Build makes an emulated machine: it fetches Debian packages of the machine's architecture (apt-get, without root and without
touching this machine's packages), takes the kernel from one or compiles it, and keeps all of it below EDGEGAUGE_CACHE, or
edgegauge in the user's cache. Versions and checksums are pinned; with --newest, Debian's present versions are taken, which make
another machine, whose counted times differ.`,
		Example: "  edgegauge devices build cortex-a53\n  edgegauge devices build raspberry-pi-1",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := cacheDir()
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			for _, name := range args {
				if _, ok := device.FindCore(name); ok {
					if err := device.BuildCounter(cmd.Context(), counter(cache)); err != nil {
						return exit{exitUnmeasured, err}
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s: built\n", name)
					continue
				}
				b, ok := qemu.Find(name)
				if !ok {
					return exit{exitUsage, fmt.Errorf("no emulated device %q; edgegauge devices list shows them", name)}
				}
				u := qemu.Builder{Cache: cache, Newest: newest, Tell: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), name+": "+s) }}
				if _, err := qemu.OpenImage(b, u.Dir(b)); err == nil && !again {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: up to date\n", name)
					continue
				}
				began := time.Now()
				if _, err := u.Build(cmd.Context(), b); err != nil {
					return exit{exitUnmeasured, err}
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: built in %.1f s\n", name, time.Since(began).Seconds())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&newest, "newest", false, "take Debian's present versions, not the pinned ones")
	c.Flags().BoolVar(&again, "again", false, "build even what is built")
	return c
}
