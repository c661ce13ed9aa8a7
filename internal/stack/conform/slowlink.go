package conform

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

// A slowLink stands between a client and a server.
type slowLink interface {
	addr() string
	close()
}

// overTCP are the transports whose connection begins with TCP's handshake.
var overTCP = []string{"http", "http2", "grpc", "coap-tcp", "mqtt5", "mqtt311"}

// opening is the least time that opening a connection takes behind a slow link.
func (c suite) opening() time.Duration {
	const roundTrip = 2 * linkDelay
	var d time.Duration
	if slices.Contains(overTCP, c.wish.Transport) {
		d += handshakeDelay
	}
	switch {
	case c.wish.Security == "tls12", strings.HasPrefix(c.wish.Security, "dtls"):
		d += 2 * roundTrip // RFC 5246, section 7.3: a whole handshake; a cookie of DTLS takes one more
	case c.wish.Security == "tls", c.wish.Transport == "http3":
		d += roundTrip // RFC 8446, section 2
	}
	if strings.HasPrefix(c.wish.Transport, "mqtt") {
		d += roundTrip // CONNECT
	}
	return d
}

// slowly puts a slow link before the server at url: the link, and the url through it.
func (c suite) slowly(server string) (slowLink, string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, "", err
	}
	var link slowLink
	if slices.Contains(overTCP, c.wish.Transport) {
		link, err = newSlowTCP(u.Host)
	} else {
		link, err = newSlowUDP(u.Host)
	}
	if err != nil {
		return nil, "", err
	}
	u.Host = link.addr()
	return link, u.String(), nil
}

// connectsBeforeSent checks what doc/glossary.md says of RTT and connection: with
// a connection for each request, behind a link on which opening one takes much
// longer than a round trip, opening is in "connection" and the round trip in the RTT.
func (c suite) connectsBeforeSent(srv *stack.Conn, client *program, service, server string) error {
	link, slow, err := c.slowly(server)
	if err != nil {
		return err
	}
	defer link.close()
	asked := c.call(service, slow, messageN)
	asked.Connection = "per-request"
	var all, served exchangesOf
	err = c.seated(client, asked, srv, func(ctx context.Context, s *stack.Session) error {
		if _, err := s.WarmUp(ctx, stack.Run{Requests: 1}); err != nil {
			return err
		}
		_, err := s.Measure(ctx, stack.Run{Requests: 3}, &all, &served)
		return err
	})
	return errors.Join(err, judgeConnecting(all, c.opening()))
}

// exchangesOf is a stack.Sink that keeps one side's records.
type exchangesOf []measure.Exchange

func (e *exchangesOf) Record(x measure.Exchange) error { *e = append(*e, x); return nil }
func (*exchangesOf) End(stack.End) error               { return nil }

// judgeConnecting judges requests behind a slow link. A machine that is busy
// makes times longer: lower bounds hold for every request, upper ones for the quickest.
func judgeConnecting(all []measure.Exchange, opening time.Duration) error {
	const roundTrip = 2 * linkDelay
	const clocks = 20 * time.Millisecond // what a kernel's timer and two clocks may differ by
	if len(all) == 0 {
		return errors.New("no record")
	}
	quickest, rest := all[0].RTT(), all[0].Total
	for _, x := range all {
		quickest = min(quickest, x.RTT())
		rest = min(rest, x.Total-x.Connection-x.Serialization-x.RTT()-x.Deserialization)
		switch {
		case x.Failure != "":
			return fmt.Errorf("request %d: %s", x.Seq, x.Failure)
		case x.RTT() < roundTrip-clocks:
			return fmt.Errorf("request %d: RTT %v on a link whose round trip is %v", x.Seq, x.RTT(), roundTrip)
		case x.Connection < opening-clocks:
			return fmt.Errorf("request %d: connection %v (RTT %v) on a link where opening one takes %v: a client that opens "+
				"one for each request records that time as \"connection\", and reads \"sent\" after it", x.Seq, x.Connection,
				x.RTT(), opening)
		case x.Connection+x.RTT() > x.Total+time.Millisecond:
			return fmt.Errorf("request %d: connection %v + RTT %v exceed the total %v", x.Seq, x.Connection, x.RTT(), x.Total)
		}
	}
	if opening > 0 && quickest > roundTrip+opening-clocks {
		return fmt.Errorf("RTT %v or more: it contains opening the connection, which takes %v", quickest, opening)
	}
	if rest > roundTrip-clocks {
		return fmt.Errorf("%v or more of the total are in no phase: it seems to contain the peer's goodbye when the "+
			"connection closes, which is no part of it", rest)
	}
	return nil
}
