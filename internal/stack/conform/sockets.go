package conform

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"edgegauge.example/edgegauge/internal/stack"
)

// discoveryGroup is WS-Discovery's (OASIS WS-Discovery 1.1, section 3.1.1). A socket
// that is bound to it hears the group, and nothing else of its port.
var discoveryGroup = netip.MustParseAddr("239.255.255.250")

// boundToHost checks that no socket of a program takes what is sent to another
// address than 127.0.0.1.
func (c suite) boundToHost(p Running) error {
	sockets, err := p.Sockets()
	if err != nil {
		return err
	}
	host := netip.MustParseAddr("127.0.0.1")
	var errs []error
	for _, s := range sockets {
		at := s.Local.Addr()
		if at != host && !(at == discoveryGroup && c.wish.Transport == "dpws") {
			errs = append(errs, fmt.Errorf("a %s socket is bound to %s, not to 127.0.0.1", s.Network, s.Local))
		}
	}
	return errors.Join(errs...)
}

// clientBinds looks at a client's sockets after it was used.
func (c suite) clientBinds(srv *stack.Conn, client *program, service, url string) error {
	return c.seated(client, c.call(service, url, messageN), srv, func(ctx context.Context, s *stack.Session) error {
		return errors.Join(c.exchanges(recorded)(ctx, s), c.boundToHost(client.running))
	})
}
