package testbed

import (
	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// seePrograms finds programs of stacks that an emulated device would be asked to run and
// cannot: those that were not built for its architecture, and those that need a runtime
// which it does not have. A run would end at its first trial.
func (x *assembly) seePrograms() {
	type asked struct{ device, stack, side string }
	seen := map[asked]bool{}
	for t := range x.treatments() {
		at := places(t.Setup)
		for i, s := range []struct {
			side, stack string
			program     stack.Program
		}{{string(measure.Client), t.Setup.Client.Stack, x.lab.Stacks[t.Setup.Client.Stack].Call},
			{string(measure.Server), t.Setup.Server.Stack, x.lab.Stacks[t.Setup.Server.Stack].Serve}} {
			d := x.lab.Stacks[s.stack]
			key := asked{at[i], s.stack, s.side}
			if at[i] == "" || d.Dir == "" || len(s.program.Command) == 0 || seen[key] { // edgegauge itself is there
				continue
			}
			seen[key] = true
			if err := lacksProgram(at[i], d, s.program); err != nil {
				x.lack(t, err.Error(), "", s.side+".device", "stack", s.side+".stack")
			}
		}
	}
}

// lacksProgram says why an emulated device cannot run a stack's program, and what to do.
func lacksProgram(name string, d stack.Description, p stack.Program) error {
	var err error
	if c, ok := device.FindCore(name); ok {
		_, err = c.Program(d.Name, d.Dir, p.Command[0])
	} else if m, _, ok := findMachine(name); ok && !p.Runs("java") { // of Java readyMachine speaks
		_, err = m.File(d.Name, d.Dir, p.Command[0])
	}
	return err
}
