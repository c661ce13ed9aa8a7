package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge/devices"
	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
	"edgegauge/internal/device/ssh"
	"edgegauge/internal/lab"
	"edgegauge/internal/link"
	"edgegauge/internal/stack"
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
	names := append(device.Names(all), emulated()...)
	for _, n := range emulated() {
		names = append(names, n+qemu.PacedSuffix)
	}
	for _, c := range device.Cores() {
		names = append(names, c.Name)
	}
	return names
}

// emulated are the names of the machines that can be emulated.
func emulated() []string {
	var names []string
	for _, b := range qemu.Boards() {
		names = append(names, b.Name)
	}
	return names
}

// neededDevices are the devices that a plan of these stacks uses.
func neededDevices(ctx context.Context, p study.Plan, stacks map[string]stack.Description, exe string) (map[string]device.Device, error) {
	all, _ := deviceProfiles()
	here := device.Local{Exe: exe}
	out := map[string]device.Device{}
	machines := uint8(0)
	for _, t := range p.Trials {
		for _, name := range placesOf(t.Setup) {
			if out[name] != nil {
				continue
			}
			board, paced, emulated := findMachine(name)
			core, counting := device.FindCore(name)
			switch profile, ok := all[name]; {
			case counting:
				d, err := countingDevice(ctx, core, exe)
				if err != nil {
					return nil, err
				}
				out[name] = d
			case emulated:
				d, err := emulatedDevice(ctx, board, paced, p.Study.Time, runsJava(p, stacks, name), exe, machines)
				if err != nil {
					return nil, err
				}
				out[name] = d
				machines++
			case name == "local":
				out[name] = here
			case strings.HasPrefix(name, ssh.Scheme):
				b, err := ssh.New(name, exe, version())
				if err != nil {
					return nil, err
				}
				out[name] = b
			case ok && profile.Limits != nil:
				if f := profile.Limits.Check(); f.Bad { // once, before anything runs
					return nil, fmt.Errorf("device %s: %s", name, f.Do)
				}
				out[name] = device.Constrained{Local: here, Limits: *profile.Limits}
			default:
				return nil, fmt.Errorf("no device %q; edgegauge devices list shows them", name)
			}
		}
	}
	return out, nil
}

// placesOf are the devices of a treatment: the server has a machine of its own
// where a link lies before it.
func placesOf(s *study.Setup) []string {
	client, server := s.Client.Device, s.Server.Device
	if _, _, machine := findMachine(client); machine && client == server && lab.IsLinked(s) {
		server = lab.Second(server)
	}
	return []string{client, server}
}

// findMachine finds the emulated machine of a name.
func findMachine(name string) (b qemu.Board, paced, ok bool) {
	plain, paced := strings.CutSuffix(lab.First(name), qemu.PacedSuffix)
	b, ok = qemu.Find(plain)
	return b, paced, ok
}

// runsJava says whether a plan has Java programs on a device.
func runsJava(p study.Plan, stacks map[string]stack.Description, device string) bool {
	for _, t := range p.Trials {
		at := placesOf(t.Setup)
		if at[0] == device && stacks[t.Setup.Client.Stack].Call.Runs("java") || at[1] == device && stacks[t.Setup.Server.Stack].Serve.Runs("java") {
			return true
		}
	}
	return false
}

// emulatedDevice is a machine that was built, ready to be booted, the number-th of its run.
func emulatedDevice(ctx context.Context, b qemu.Board, paced bool, time study.Time, java bool, exe string, number uint8) (device.Device, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	u := qemu.Builder{Cache: cache}
	im, err := qemu.OpenImage(b, u.Dir(b))
	if err != nil {
		return nil, err
	}
	if java {
		j, err := u.OpenJava(b)
		if err != nil {
			return nil, err
		}
		im.Java = &j
	}
	guest, err := guestProgram(ctx, b.Name, b.GOARCH, b.GOARM, exe)
	if err != nil {
		return nil, err
	}
	if time == study.Instructions {
		return qemu.NewEnclosed(ctx, im, exe, guest)
	}
	d := &qemu.Interactive{Image: im, Exe: exe, Guest: guest, Mode: qemu.Free, Build: version(), Cache: filepath.Join(cache, "states"), Number: number}
	if paced {
		d.Mode = qemu.Paced
	}
	return d, nil
}

// counter is the file of the counter of instructions.
func counter(cache string) string { return filepath.Join(cache, "devices", "libcount.so") }

// countingDevice counts the instructions of programs for a core.
func countingDevice(ctx context.Context, c device.Core, exe string) (device.Device, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	guest, err := guestProgram(ctx, c.Name, c.GOARCH, c.GOARM, exe)
	if err != nil {
		return nil, err
	}
	return device.Counting{Local: device.Local{Exe: exe}, Core: c, Plugin: counter(cache), Guest: guest}, nil
}

// boardName says what is wrong with the URL of a device.
func boardName(name string) error {
	_, err := ssh.ParseTarget(name)
	return err
}

// closeDevices ends what runs on other machines, and says what may be left there.
func closeDevices(all map[string]device.Device) {
	for _, d := range all {
		if away, ok := d.(device.Away); ok {
			if err := away.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
}

// boardAddresses are those at which servers on other machines may be reached,
// and this one from them.
func boardAddresses(ctx context.Context, all map[string]device.Device) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, d := range all {
		if b, ok := d.(device.Behind); ok {
			n, err := b.Network(ctx, link.Link{}.LargestPacket())
			if err != nil {
				return nil, err
			}
			out = append(out, n.Device.IPv4, n.Device.IPv6, n.Here.IPv4, n.Here.IPv6)
		} else if away, ok := d.(device.Away); ok {
			board, lab, err := away.Addresses(ctx)
			if err != nil {
				return nil, err
			}
			for _, a := range []netip.Addr{board, lab} {
				if a.IsValid() {
					out = append(out, a)
				}
			}
		}
	}
	return out, nil
}

// refuseAway finds what cannot be done where a side is on another machine.
func refuseAway(p study.Plan) error {
	for _, t := range p.Trials {
		linked, packets := lab.IsLinked(t.Setup), lab.NeedsPackets(p.Study)
		why := lab.Refusal(t.Setup, linked, packets)
		if why == "" {
			why = refuseMachine(p.Study, t.Setup, linked, packets)
		}
		if why != "" {
			return fmt.Errorf("%s: %s", p.Study.File, why)
		}
	}
	return nil
}

// refuseMachine says what of a treatment an emulated machine cannot do; empty: nothing.
func refuseMachine(s study.Study, t *study.Setup, linked, packets bool) string {
	client, server := t.Client.Device, t.Server.Device
	_, _, one := findMachine(client)
	_, _, two := findMachine(server)
	switch {
	case !one && !two:
	case lab.IsAway(client) || lab.IsAway(server):
		return "an emulated machine is reached from this machine only; put the other side on this one or on another emulated one"
	case packets && client == server && !linked && s.Time != study.Instructions:
		return "both sides are in one emulated machine, where no packets are captured; give a link, and the server gets a machine of its own"
	}
	return ""
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
			cache, err := cacheDir()
			if err != nil {
				return err
			}
			for _, c := range device.Cores() {
				fmt.Fprintf(w, "%s\t%s: counts, takes no times\n", c.Name, c.Title)
			}
			for _, b := range qemu.Boards() {
				state := "built"
				if _, err := qemu.OpenImage(b, qemu.Builder{Cache: cache}.Dir(b)); errors.Is(err, qemu.ErrNotBuilt) {
					state = "not built; run: edgegauge devices build " + b.Name
				} else if err != nil {
					state = err.Error()
				}
				fmt.Fprintf(w, "%s\temulated %s (%s)\n", b.Name, b.Title, state)
			}
			fmt.Fprintf(w, "ssh://USER@HOST\tany Linux machine that ssh reaches: doc/devices.md\n")
			return errors.Join(w.Flush(), broken)
		},
	}
}
