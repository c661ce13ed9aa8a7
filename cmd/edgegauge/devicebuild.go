package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/testbed"
)

func devicesBuildCmd(a *app) *cobra.Command {
	var newest, again, java, asJSON bool
	c := &cobra.Command{
		Use:   "build NAME...",
		Short: "build emulated machines from Debian packages, unless up to date",
		Long: `Build creates an emulated machine. It downloads Debian packages for the machine's architecture (with apt-get,
without root and without touching this machine's packages), takes the kernel from a package or compiles it, and keeps
everything under EDGEGAUGE_CACHE, or under edgegauge in the user's cache. Versions and checksums are pinned. --newest
takes Debian's current versions instead: that is a different machine, with different counted times. --java also builds
Debian's Java runtime, which Java stacks need there: Java 17, HotSpot on ARMv7 and ARMv8, an interpreter (Zero) on
older cores.`,
		Example: "  edgegauge devices build cortex-a53\n  edgegauge devices build raspberry-pi-1 --java",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bed, err := a.bed()
			if err != nil {
				return err
			}
			u, err := bed.Builder()
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			rows := []builtRow{}
			tell := func(r builtRow) {
				rows = append(rows, r)
				if !asJSON {
					fmt.Fprintln(cmd.OutOrStdout(), r)
				}
			}
			if _, err := eachOf("", args, buildable); err != nil {
				return exit{exitUsage, err}
			}
			for _, name := range args {
				if _, ok := device.FindCore(name); ok {
					began := time.Now()
					if err := bed.BuildCounters(cmd.Context()); err != nil {
						return exit{exitUnmeasured, testbed.InCache(err)}
					}
					tell(builtRow{name, "built", time.Since(began).Seconds()})
					continue
				}
				b, _ := qemu.Find(name)
				u.Newest, u.Tell = newest, func(s string) { fmt.Fprintln(a.notes(), name+": "+s) }
				parts := []machinePart{{name, func() error { _, err := qemu.OpenImage(b, u.Dir(b)); return err },
					func() error { _, err := u.Build(cmd.Context(), b); return err }}}
				if java {
					parts = append(parts, machinePart{name + ": Java", func() error { _, err := u.OpenJava(b); return err },
						func() error { _, err := u.BuildJava(cmd.Context(), b); return err }})
				}
				for _, p := range parts {
					row, err := p.make(cmd.Context(), u, again)
					if err != nil {
						return exit{exitUnmeasured, testbed.InCache(err)}
					}
					tell(row)
				}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Format  int        `json:"format"`
					Devices []builtRow `json:"devices"`
				}{jsonFormat, rows})
			}
			return nil
		},
	}
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&newest, "newest", false, "use Debian's current versions, not the pinned ones")
	c.Flags().BoolVar(&java, "java", false, "also build its Java runtime")
	c.Flags().BoolVar(&again, "again", false, "rebuild even if up to date")
	return c
}

// buildable refuses a name of which no machine can be built.
func buildable(name string) (string, error) {
	_, core := device.FindCore(name)
	if _, machine := qemu.Find(name); !core && !machine {
		return "", fmt.Errorf("unknown emulated device %q; to list them: edgegauge devices list", name)
	}
	return name, nil
}

// A machinePart is something that is built once and stays.
type machinePart struct {
	name        string
	open, build func() error
}

func (p machinePart) make(ctx context.Context, u qemu.Builder, again bool) (builtRow, error) {
	began := time.Now()
	did, err := u.Once(ctx, again, p.open, p.build)
	switch {
	case err != nil:
		return builtRow{}, err
	case !did:
		return builtRow{Name: p.name, State: upToDate}, nil
	}
	return builtRow{p.name, "built", time.Since(began).Seconds()}, nil
}

// A builtRow says what came of building a machine, or a part of one.
type builtRow struct {
	Name  string  `json:"name"`
	State string  `json:"state"` // built or up to date
	Took  float64 `json:"took_s"`
}

const upToDate = "up to date"

func (r builtRow) String() string {
	if r.State == upToDate {
		return r.Name + ": " + upToDate
	}
	return fmt.Sprintf("%s: built in %.1f s", r.Name, r.Took)
}
