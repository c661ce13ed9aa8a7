//go:build !board

package reference

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/dtls"
	"edgegauge.example/edgegauge/internal/stack"
)

// populate makes the client many devices, and runs what it is asked until stdin ends. A status is that of
// right answers; 0: the usual one.
func (p *program) populate(s stack.Call, d drive.Spec, c drive.Call, status int) error {
	if s.Request == nil && !Populates(p.kind.name) {
		return fmt.Errorf("a population speaks CoAP, MQTT, HTTP/1.1 or bare TCP, not %s", p.kind.transport)
	}
	var spec population.Spec
	err := json.Unmarshal(s.Population, &spec)
	if err == nil {
		spec.Discreet = s.Request != nil
		err = fill(&spec, d, c, status)
	}
	if err != nil {
		return fmt.Errorf("call: population: %w", err)
	}
	if n := processes(&spec); n > 1 && !p.part {
		return p.share(s, spec, n)
	}
	devices, err := population.New(spec)
	if err != nil {
		return err
	}
	defer devices.Close()
	p.ready(s.URL, stack.Phases{}, false)
	for {
		var r stack.Run
		if err := p.read("run", &r); err != nil {
			return err
		}
		if err := p.runPopulation(devices, r); err != nil {
			return err
		}
	}
}

// CheckDevices finds what a stack's client would refuse of a call that makes it many devices. Nothing is opened and
// nobody is asked: where the server will be, and with which keys, need not be known.
func CheckDevices(name string, s stack.Call) error {
	k, ok := find(name)
	if !ok || !Populates(k.name) {
		return fmt.Errorf("stack %s cannot be many devices", name)
	}
	p := &program{kind: k}
	s.Security, s.URL = "none", k.transport+"://127.0.0.1:1/"+s.Service // there are no keys
	s.Options = maps.Clone(s.Options)
	delete(s.Options, "connection_id") // of a security
	c, err := p.caller(s)
	if err != nil {
		return err
	}
	d, err := p.spec(s, c)
	if err != nil {
		return err
	}
	var spec population.Spec
	if err := json.Unmarshal(s.Population, &spec); err != nil {
		return err
	}
	if err := fill(&spec, d, c, 0); err != nil {
		return err
	}
	return spec.Check()
}

// fill makes the one request of all devices, and what judges its answers.
func fill(spec *population.Spec, d drive.Spec, c drive.Call, right int) error {
	u, err := url.Parse(d.URL)
	if err != nil {
		return err
	}
	at, _, err := d.Address()
	if err != nil {
		return err
	}
	if port, here := strings.CutPrefix(at, "localhost:"); here {
		at = "127.0.0.1:" + port
	}
	if spec.Server, err = netip.ParseAddrPort(at); err != nil {
		return err
	}
	body, err := c.Encode(0, nil)
	if err != nil {
		return err
	}
	usual := 200
	if u.Scheme == "coap" || u.Scheme == "coaps" {
		usual = 205
		err = fillCoAP(spec, d, body)
	} else {
		err = fillStream(spec, d, strings.Trim(u.Path, "/"), body)
	}
	if err != nil {
		return err
	}
	spec.Status, right = right, cmp.Or(right, usual)
	spec.Body, spec.Timeout = len(body), d.Timeout
	checker, _ := c.(drive.Checker)
	spec.Judge = func(payload []byte) error {
		if err := drive.Within(d, len(payload)); err != nil {
			return err
		}
		err := c.Decode(0, right, payload)
		if err == nil && checker != nil {
			err = checker.Check(0)
		}
		return err
	}
	return nil
}

func fillCoAP(spec *population.Spec, d drive.Spec, body []byte) error {
	m, err := drive.CoAPRequest(d, body)
	if err != nil {
		return err
	}
	const header = 4 // without a token
	spec.Method, spec.Request, spec.NON = uint8(m.Code), m.Append(nil)[header:], d.NON
	r := coap.Message{Code: coap.GET}
	r.AddBytes(coap.Observe, nil) // 0: register
	for _, o := range m.Options {
		if o.Number == coap.URIHost || o.Number == coap.URIPort || o.Number == coap.URIPath || o.Number == coap.URIQuery {
			r.AddBytes(o.Number, o.Value)
		}
	}
	spec.Registration = r.Append(nil)[header:]
	if c := d.Credentials; len(c.OSCORE.Secret) > 0 || len(c.Key) > 0 {
		spec.Security = &population.Security{OSCORE: c.OSCORE,
			DTLS: dtls.Keys{Identity: c.Identity, Key: c.Key, CID: c.CID}}
	}
	return nil
}

// fillStream says how devices speak over connections: as the Driver would.
func fillStream(spec *population.Spec, d drive.Spec, name string, body []byte) error {
	spec.Request = body
	secret, err := drive.TLSConfig(d)
	if err != nil {
		return err
	}
	switch s, _, _ := strings.Cut(d.URL, ":"); s {
	case "http", "https":
		spec.Stream = &population.Stream{Protocol: population.HTTP, PerRequest: d.Connection == drive.PerRequest}
		if spec.Request, err = drive.HTTPRequest(d, body); err != nil {
			return err
		}
	case "mqtt", "mqtts":
		spec.Stream = &population.Stream{Protocol: d.Protocol, QoS: d.QoS, Topic: name, ContentType: d.ContentType}
	default:
		spec.Stream, spec.Judge = &population.Stream{Protocol: population.TCP, Answer: d.Answer}, nil
	}
	spec.Stream.TLS = secret
	return nil
}

// sayDevices says how a run goes, a line of some 150 B: the lab reads while it waits for the end.
func (p *program) sayDevices(s population.State) {
	told, err := json.Marshal(s)
	if err == nil {
		_ = p.say(map[string]any{"type": stack.DevicesLine, "population": json.RawMessage(told)}) // the run's end tells
	}
}

// unrecorded is what is said of a run without records.
func unrecorded(r *population.Account) stack.End {
	return stack.End{Count: int(r.Requests), CPU: r.CPU,
		Failures: stack.Failures{Failed: int(r.Failed), FirstFailure: r.FirstFailure}}
}

func (p *program) runPopulation(devices *population.Population, r stack.Run) error {
	load := population.Load{For: time.Duration(r.Duration), Requests: r.Requests, Record: r.Record,
		Watch: p.sayDevices}
	result, err := devices.Run(context.Background(), load)
	if err != nil {
		return err
	}
	if !r.Record {
		return p.end(unrecorded(result))
	}
	var line []byte
	for x := range result.Exchanges() {
		line = stack.AppendExchange(line[:0], x)
		if _, err := p.out.Write(line); err != nil {
			return io.EOF // the lab is gone
		}
	}
	e, err := recorded(result)
	if err != nil {
		return err
	}
	return p.end(e)
}

// recorded is what is said of a run with records.
func recorded(r *population.Account) (stack.End, error) {
	told, err := json.Marshal(r)
	return stack.End{Count: r.Kept, CPU: r.CPU, Retransmissions: int(r.Retransmissions), Population: string(told)}, err
}
