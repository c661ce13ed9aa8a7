package conform

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"edgegauge.example/edgegauge/internal/stack"
)

const wrongOption = "refuses a wrong value of an option"

// wrongValue is one that no option of the name takes. A delay is in nanoseconds; who reads only the digits takes 20ms
// for 20 ns, and who reads a number or nothing takes it for none.
func wrongValue(option string) string {
	if option == "delay" {
		return "20ms"
	}
	return "no-such-value"
}

// refusesOption asks the side or sides that the stack has for a wrong value of an option. Both get the options of a
// study, and one of them reads it.
func (c suite) refusesOption(service, option string) error {
	options := maps.Clone(c.options())
	if options == nil {
		options = map[string]string{}
	}
	options[option] = wrongValue(option)
	server, line := c.d, c.serve(service)
	if c.has("server") {
		line.Options = options
	} else {
		server, _ = c.peer(service)
	}
	err := c.with(server, "serve", func(ctx context.Context, srv *stack.Conn) error {
		ready, err := serve(ctx, srv, line)
		if err != nil || !c.has("client") {
			return err
		}
		return c.withoutCare(c.d, "call", func(ctx context.Context, client *stack.Conn) error {
			ask := c.call(service, ready.URL, 1)
			ask.Options = options
			_, err := call(ctx, client, ask)
			return err
		})
	})
	if refused := new(stack.ProgramError); errors.As(err, &refused) {
		return nil
	}
	return fmt.Errorf("option %s with the value %q got %w, want an \"error\" line: treatments of that option would not "+
		"differ", option, options[option], orNot(err))
}
