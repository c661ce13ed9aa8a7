package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A locked Namer is for many requests at a time.
type locked struct {
	mu    sync.Mutex
	namer *dpws.Namer
}

func (l *locked) append(dst []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.namer.Append(dst)
}

// A dpwsCaller is a caller that found its device, and whose envelopes have
// addressing headers.
type dpwsCaller struct {
	*caller
	found         stack.Phases
	namer         *dpws.Namer
	header, reply dpws.Header
	alone         bool // one request at a time: an answer relates to the last
}

func (c *dpwsCaller) Encode(_ uint64, buf []byte) ([]byte, error) {
	if !c.over {
		c.begin()
	}
	c.header.MessageID = c.namer.Append(c.header.MessageID[:0])
	buf = c.header.AppendStart(buf)
	buf = codec.Append(codec.XML, buf, c.name, false, &c.request)
	return append(buf, dpws.End...), nil
}

func (c *dpwsCaller) Decode(_ uint64, status int, body []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("status %d: %.300s", status, bytes.TrimSpace(body))
	}
	c.reply.Reset()
	if err := codec.DecodeEnvelope(c.encoding, body, c.name, true, &c.response, c.reply.Read); err != nil {
		return err
	}
	if c.alone && !bytes.Equal(c.reply.RelatesTo, c.header.MessageID) {
		return errors.New("answer relates to another request")
	}
	c.answered()
	return nil
}

func (c *dpwsCaller) phases() stack.Phases {
	p := c.found.Or(c.firstInvoke.phases())
	c.found = stack.Phases{}
	return p
}

// A dpwsSeeker looks for its device before each request, or before the first of
// every run.
type dpwsSeeker struct {
	*dpwsCaller
	onlyFirst bool
	locate    locate
	epr       string
	at        []string
}

// A locate finds a device whose endpoint reference is known: by a Probe for its
// type, or by a Resolve.
type locate func(ctx context.Context, epr string) (dpws.Target, error)

func locator(f *dpws.Finder, s *stack.Call) locate {
	if s.Options["search"] == "resolve" {
		return f.Resolve
	}
	return func(ctx context.Context, epr string) (dpws.Target, error) { return f.Locate(ctx, epr, dpwsDevice) }
}

// Prepare finds the device anew. It must still be where it was: drive has its
// connection.
func (c *dpwsSeeker) Prepare(seq uint64, patience time.Duration) error {
	if c.onlyFirst && seq > 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	t, err := c.locate(ctx, c.epr)
	if err == nil && fmt.Sprint(t.XAddrs) != fmt.Sprint(c.at) {
		err = fmt.Errorf("the device has moved from %v to %v", c.at, t.XAddrs)
	}
	return err
}

// findDPWS looks for the device and reads its description, as often as the
// option says, each phase timed on its own.
func findDPWS(p *program, s *stack.Call, plain *caller) (drive.Call, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Fragment == "" {
		return nil, fmt.Errorf("url %q names no device; write dpws://HOST:PORT/SERVICE#urn:uuid:…", s.URL)
	}
	params, err := dpwsParams(s.Options)
	if err != nil {
		return nil, err
	}
	at, err := addressTo(u)
	if err != nil {
		return nil, err
	}
	network, err := dpws.JoinAt(at, false)
	if err != nil {
		return nil, err
	}
	finder := dpws.NewFinder(network, params)
	find := locator(finder, s)
	ctx, cancel := context.WithTimeout(context.Background(), max(time.Duration(s.Timeout), 3*params.MatchTimeout))
	defer cancel()
	c := &dpwsCaller{caller: plain, namer: dpws.NewNamer(), alone: max(s.Concurrency, 1) == 1}
	began := time.Now()
	target, err := find(ctx, u.Fragment)
	if err != nil {
		finder.Close()
		return nil, fmt.Errorf("%w; is multicast from %v possible?", err, at)
	}
	located := time.Now()
	hosted, err := describe(ctx, target, s.Service)
	if err != nil {
		finder.Close()
		return nil, err
	}
	c.found = stack.Phases{Discovery: located.Sub(began), Metadata: time.Since(located)}
	s.URL = hosted.Addresses[0]
	c.header.Action = []byte(codec.Action(c.name))
	c.header.To = []byte(s.URL)
	c.header.ReplyTo = []byte(dpws.Anonymous)
	switch s.Options["discovery"] {
	case "each", "first":
		return &dpwsSeeker{c, s.Options["discovery"] == "first", find, u.Fragment, target.XAddrs}, nil
	}
	return c, finder.Close()
}

// describe reads a device's description over connections of its own.
func describe(ctx context.Context, t dpws.Target, id string) (*dpws.Hosted, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	d, err := dpws.Fetch(ctx, &http.Client{Transport: transport}, t)
	if err != nil {
		return nil, err
	}
	return d.Service(dpwsService, id)
}
