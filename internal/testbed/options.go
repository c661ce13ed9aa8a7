package testbed

import (
	"fmt"

	"edgegauge.example/edgegauge/stacks/reference"
)

// seeOptions finds options that a stack inside edgegauge would refuse in each trial. What those of others may be only
// their programs know.
func (x *assembly) seeOptions() {
	for t := range x.treatments() {
		s := t.Setup
		for _, name := range []string{s.Client.Stack, s.Server.Stack} {
			if x.lab.Stacks[name].Dir != "" {
				continue
			}
			if o, err := reference.CheckOptions(name, s.Security, s.Transport, s.Options); err != nil {
				x.fault(t, fmt.Sprintf("stack %s: %v", name, err), "", "stack", "client.stack", "server.stack", "transport",
					"security", "options."+o)
			}
		}
	}
}
