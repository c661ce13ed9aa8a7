package reference

import (
	"fmt"
	"sync/atomic"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/stack"
)

// News tells the observers of a service of each request that it answered: its state is the
// latest answer. They are told one change after the other, beside the requests.
type news struct {
	last atomic.Pointer[[]byte]
	due  chan struct{} // an element for each change that is not told yet
	over chan struct{}
}

// mostNews are changes that wait to be told; more become one (RFC 7641, section 1.3: what
// counts is that observers come to know the latest state).
const mostNews = 4096

// observable reads the option observe.
func observable(security, transport string, options map[string]string) (bool, error) {
	switch v := options["observe"]; {
	case v == "" || v == "off":
		return false, nil
	case v != "on":
		return false, fmt.Errorf("unknown observe %q; supported: on, off", v)
	case security == "oscore" || transport == "coap-tcp":
		return false, fmt.Errorf("observe does not go with %s over %s; remove it", security, transport)
	}
	return true, nil
}

func newsOf(s stack.Serve, srv *coap.Server, path string) (*news, error) {
	if wanted, err := observable(s.Security, s.Transport, s.Options); err != nil || !wanted {
		return nil, err
	}
	n := &news{due: make(chan struct{}, mostNews), over: make(chan struct{})}
	n.last.Store(new([]byte))
	srv.Observable = func(p []byte) bool { return string(p) == path }
	srv.MaxObservers, srv.MaxPeers = mostSecured, 2*mostSecured // many devices are peers of their own
	go func() {
		defer close(n.over)
		for range n.due {
			srv.Changed(path)
		}
	}()
	return n, nil
}

func (n *news) latest() []byte { return *n.last.Load() }

// changed notes an answer.
func (n *news) changed(answer []byte) {
	b := append([]byte(nil), answer...)
	n.last.Store(&b)
	select {
	case n.due <- struct{}{}:
	default:
	}
}

// close ends the telling, after the server has ended.
func (n *news) close() {
	close(n.due)
	<-n.over
}
