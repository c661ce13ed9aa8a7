package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// A list of an offer: its key, its names, and all names that there are; nil: whatever the stack calls it.
type list struct {
	key, one   string
	has, known []string
}

func (o Offer) lists() []list {
	var services, encodings []string
	for _, n := range service.Names() {
		services = append(services, string(n))
	}
	for i := range codec.Table {
		encodings = append(encodings, string(codec.Table[i].Name))
	}
	return []list{
		{"services", "service", o.Services, services}, {"encodings", "encoding", o.Encodings, encodings},
		{"security", "security", o.Security, nil},
		{"transports", "transport", o.Transports, []string{"http", "http2", "http3", "grpc", "coap", "coap-tcp",
			"coap-draft", "mqtt5", "mqtt311", "dpws", "tcp", "udp"}},
		{"sides", "side", o.Sides, []string{string(measure.Client), string(measure.Server)}},
		{"connections", "connection", o.Connections, []string{"keep-alive", "per-request", "pipelined", "multiplexed"}},
	}
}

// checkOffers says which lists are missing, and which names nobody knows, with their lines in the text of the file.
func (d Description) checkOffers(file string, text []byte) error {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var errs []error
	for i, o := range d.Serves {
		var missing []string
		for _, l := range o.lists() {
			if len(l.has) == 0 {
				missing = append(missing, l.key)
			}
			for j, name := range l.has {
				if l.known != nil && !slices.Contains(l.known, name) {
					errs = append(errs, fmt.Errorf("%s: line %d: there is no %s %q; %s", file,
						lineOf(&root, "serves", i, l.key, j), l.one, name,
						meant.Advice(name, l.known, "write one of "+strings.Join(l.known, ", "))))
				}
			}
		}
		if o.Concurrency < 0 {
			errs = append(errs, fmt.Errorf("%s: line %d: concurrency %d is negative; write the most requests that a client has "+
				"in flight", file, lineOf(&root, "serves", i, "concurrency"), o.Concurrency))
		}
		if len(missing) > 0 {
			errs = append(errs, fmt.Errorf("%s: line %d: no %s in serves[%d]; see stacks/PROTOCOL.md", file,
				lineOf(&root, "serves", i), strings.Join(missing, ", "), i))
		}
	}
	return errors.Join(errs...)
}

// lineOf is the line of what keys and indices lead to, as far as they do.
func lineOf(n *yaml.Node, path ...any) int {
	for n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line := n.Line
	for _, step := range path {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch at := step.(type) {
		case int:
			if n.Kind != yaml.SequenceNode || at >= len(n.Content) {
				return line
			}
			n = n.Content[at]
		case string:
			i := 0
			for n.Kind == yaml.MappingNode && i+1 < len(n.Content) && n.Content[i].Value != at {
				i += 2
			}
			if n.Kind != yaml.MappingNode || i+1 >= len(n.Content) {
				return line
			}
			n = n.Content[i+1]
		}
		line = n.Line
	}
	return line
}
