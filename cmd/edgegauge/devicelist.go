package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge/devices"
	"edgegauge/internal/device"
	"edgegauge/internal/study"
)

// deviceProfiles are those of the program and of the user's folders, the later
// hiding the earlier: ./devices, then those of EDGEGAUGE_DEVICES.
func deviceProfiles() (map[string]device.Profile, error) {
	folders := []fs.FS{devices.Profiles, os.DirFS("devices")}
	for _, dir := range filepath.SplitList(os.Getenv("EDGEGAUGE_DEVICES")) {
		folders = append(folders, os.DirFS(dir))
	}
	return device.LoadProfiles(folders...)
}

// deviceNames are the devices a study may name here.
func deviceNames() []string {
	all, _ := deviceProfiles()
	return device.Names(all)
}

// neededDevices are the devices that a plan uses.
func neededDevices(p study.Plan, exe string) (map[string]device.Device, error) {
	all, _ := deviceProfiles()
	here := device.Local{Exe: exe}
	out := map[string]device.Device{}
	for _, t := range p.Trials {
		for _, name := range []string{t.Setup.Client.Device, t.Setup.Server.Device} {
			switch profile, ok := all[name]; {
			case name == "local":
				out[name] = here
			case ok && profile.Limits != nil:
				out[name] = device.Constrained{Local: here, Limits: *profile.Limits}
			default:
				return nil, fmt.Errorf("no device %q; edgegauge devices list shows them", name)
			}
		}
	}
	return out, nil
}

func devicesListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the devices that a study may name as client or server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, broken := deviceProfiles()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DEVICE\tWHAT")
			for _, n := range device.Names(all) {
				title := all[n].Title
				if n == "local" {
					title = "this machine"
				}
				fmt.Fprintf(w, "%s\t%s\n", n, title)
			}
			return errors.Join(w.Flush(), broken)
		},
	}
}
