package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
)

func devicesBuildCmd() *cobra.Command {
	var newest, again, java bool
	c := &cobra.Command{
		Use:   "build NAME...",
		Short: "build emulated machines of Debian packages, unless they are built",
		Long: `Build makes an emulated machine: it fetches Debian packages of the machine's architecture (apt-get, without root and without
touching this machine's packages), takes the kernel from one or compiles it, and keeps all of it below EDGEGAUGE_CACHE, or
edgegauge in the user's cache. Versions and checksums are pinned; with --newest, Debian's present versions are taken, which make
another machine, whose counted times differ. With --java the Java runtime of Debian is made too, which studies of Java stacks
there need: 17, HotSpot on ARMv7 and ARMv8, an interpreter (Zero) below.`,
		Example: "  edgegauge devices build cortex-a53\n  edgegauge devices build raspberry-pi-1 --java",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := cacheDir()
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			for _, name := range args {
				if _, ok := device.FindCore(name); ok {
					if err := device.BuildCounter(cmd.Context(), counter(cache)); err != nil {
						return exit{exitUnmeasured, inCache(err)}
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s: built\n", name)
					continue
				}
				b, ok := qemu.Find(name)
				if !ok {
					return exit{exitUsage, fmt.Errorf("no emulated device %q; edgegauge devices list shows them", name)}
				}
				u := qemu.Builder{Cache: cache, Newest: newest, Tell: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), name+": "+s) }}
				parts := []machinePart{{name, func() error { _, err := qemu.OpenImage(b, u.Dir(b)); return err }, func() error { _, err := u.Build(cmd.Context(), b); return err }}}
				if java {
					parts = append(parts, machinePart{name + ": Java", func() error { _, err := u.OpenJava(b); return err }, func() error { _, err := u.BuildJava(cmd.Context(), b); return err }})
				}
				for _, p := range parts {
					if err := p.make(cmd.OutOrStdout(), again); err != nil {
						return exit{exitUnmeasured, inCache(err)}
					}
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&newest, "newest", false, "take Debian's present versions, not the pinned ones")
	c.Flags().BoolVar(&java, "java", false, "make its Java runtime too")
	c.Flags().BoolVar(&again, "again", false, "build even what is built")
	return c
}

// A machinePart is something that is built once and stays.
type machinePart struct {
	name        string
	open, build func() error
}

func (p machinePart) make(out io.Writer, again bool) error {
	if p.open() == nil && !again {
		fmt.Fprintf(out, "%s: up to date\n", p.name)
		return nil
	}
	began := time.Now()
	if err := p.build(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: built in %.1f s\n", p.name, time.Since(began).Seconds())
	return nil
}
