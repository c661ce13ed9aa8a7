package testbed

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// seeMemory finds emulated machines that have no memory for what a trial brings: their kernel would unpack a part of
// it, and each trial would fail. Into a machine that others speak with, stacks come later.
func (x *assembly) seeMemory() {
	u, err := x.bed.Builder()
	if err != nil {
		return // as readyDevices says
	}
	seen := map[string]bool{}
	for t := range x.treatments() {
		for i, name := range places(t.Setup) {
			m, _, ok := findMachine(name)
			key := fmt.Sprint(name, t.Setup.Client.Stack, t.Setup.Server.Stack)
			if !ok || seen[key] {
				continue
			}
			seen[key] = true
			im := qemu.Image{Board: m, Dir: u.Dir(m)}
			if x.runsJava(name) {
				im.Java = &qemu.Java{Dir: u.JavaDir(m)}
			}
			program := x.bed.guestSize(guestProgram{m.GOARCH, m.GOARM, x.runsWhole(name)})
			if err := im.Fits(program, x.guestFiles(im, t)); err != nil {
				side := []string{"client", "server"}[i]
				x.lack(t, "device "+lab.First(name)+": "+err.Error(), "", side+".device", "stack", side+".stack")
			}
		}
	}
}

// guestFiles are what a machine has from its start for a trial. What is not built counts for nothing here.
func (x *assembly) guestFiles(im qemu.Image, t study.Trial) (all []device.File) {
	if x.plan.Study.Time != study.Instructions {
		return im.Files()
	}
	for _, end := range []struct{ stack, verb string }{{t.Setup.Client.Stack, "call"}, {t.Setup.Server.Stack, "serve"}} {
		d, ok := x.lab.Stacks[end.stack]
		program := d.Serve
		if end.verb == "call" {
			program = d.Call
		}
		if !ok || len(program.Command) == 0 {
			continue
		}
		_, files, err := im.Furnish(device.Program{Name: d.Name, Dir: d.Dir, Products: d.Build.Product},
			device.Command{Argv: program.Command})
		if err == nil {
			all = append(all, files...)
		}
	}
	return all
}
