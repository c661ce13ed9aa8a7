package reference

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A caller is the application above drive: it makes the message anew for every
// request and checks every answer.
type caller struct {
	name              service.Name
	encoding          codec.Encoding
	request, response service.Message
	check             *service.Checker
	limit             int // of texts that an answer unpacks to
	wait              waits
	firstInvoke
}

func (c *caller) Encode(_ uint64, buf []byte) ([]byte, error) {
	if !c.over {
		c.begin()
	}
	c.wait.serialize()
	return codec.Append(c.encoding, buf, c.name, false, &c.request), nil
}

func (c *caller) Decode(_ uint64, status int, body []byte) error {
	c.wait.deserialize()
	if status/100 != 2 {
		return fmt.Errorf("status %d: %.300s", status, bytes.TrimSpace(body))
	}
	err := codec.DecodeWithin(c.encoding, body, c.name, true, &c.response, c.limit)
	c.answered()
	return err
}

// Check judges the answer decoded last; its time is nobody's deserialization.
func (c *caller) Check(uint64) error {
	err := c.check.Check(&c.response)
	if !c.over {
		c.end(err)
	}
	return err
}

// call answers one "call" after the other, each in the place of the one before, and runs what it is asked until stdin
// ends.
func (p *program) call() error {
	_, line, err := p.next("call")
	for err == nil {
		line, err = p.called(line)
	}
	return err
}

// called is the client of one "call" until stdin ends, or until a line asks for another, which it returns.
func (p *program) called(line []byte) ([]byte, error) {
	var s stack.Call
	if err := parse("call", line, &s); err != nil {
		return nil, err
	}
	wish := stack.Wish{Service: s.Service, Encoding: s.Encoding, Security: s.Security, Transport: s.Transport,
		Connection: s.Connection}
	if err := p.supports(wish); err != nil {
		return nil, err
	}
	c, err := p.caller(s)
	if err != nil {
		return nil, err
	}
	if p.kind.find != nil {
		if c, err = p.kind.find(p, &s, c.(*caller)); err != nil {
			return nil, err
		}
	}
	spec, err := p.spec(s, c)
	if err != nil {
		return nil, err
	}
	if s.Population != nil {
		return nil, p.populate(s, spec, c, 0)
	}
	return p.answerRuns(s, spec, c)
}

// answerRuns connects, and runs what it is asked until stdin ends, or until a line asks for another client, which it
// returns.
func (p *program) answerRuns(s stack.Call, spec drive.Spec, c drive.Call) ([]byte, error) {
	ctx := context.Background()
	d, err := drive.DialTelling(ctx, spec, func(x drive.Dialing) {
		fmt.Fprintf(p.log.Writer(), "%s%v\n", drive.Connecting, x)
	})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	p.ready(s.URL, phasesOf(c), p.again())
	for {
		kind, line, err := p.next(p.orAgain("run", "call")...)
		if err != nil || kind == "call" {
			return line, err
		}
		var r stack.Run
		if err := parse(kind, line, &r); err != nil {
			return nil, err
		}
		if err := p.run(ctx, d, s, r, c); err != nil {
			return nil, err
		}
	}
}

func (p *program) caller(s stack.Call) (drive.Call, error) {
	c := &caller{name: service.Name(s.Service), encoding: p.encoding(s.Encoding), limit: unpacked(s.Limits)}
	w := service.Width{Letters: s.Message.Letters, Max: s.Message.Max}
	if err := w.Check(); err != nil {
		return nil, err
	}
	service.Make(c.name, s.Message.Seed, s.Message.N, w, &c.request)
	if p.kind.transport == "tcp" || p.kind.transport == "udp" {
		f, err := floorCall(s.Service, c.encoding, s.Message)
		if err == nil {
			err = f.within(s.Limits)
		}
		return f, err
	}
	var err error
	if c.check, err = service.NewChecker(c.name, &c.request); err != nil {
		return nil, err
	}
	c.wait, err = readWaits(s.Options)
	return c, err
}

// spec is what drive must know of the server and the protocol.
func (p *program) spec(s stack.Call, call drive.Call) (drive.Spec, error) {
	enc := p.encoding(s.Encoding)
	spec := drive.Spec{URL: s.URL, Connection: s.Connection, Concurrency: max(s.Concurrency, 1),
		Timeout: time.Duration(s.Timeout), MostBody: int(min(s.Limits.Body, drive.MostBody)), Limit: "limits.body"}
	switch p.kind.transport {
	case "coap", "coap-tcp":
		number, _ := enc.ContentFormat()
		spec.ContentType = fmt.Sprint(number)
		if c, ok := call.(*caller); ok {
			spec.Largest = len(codec.Append(c.encoding, nil, c.name, false, &c.request))
		}
		var err error
		if spec.NON, err = unconfirmable(s.Options); err != nil {
			return spec, err
		}
		if spec.Credentials.CID, err = connectionID(s.Security, s.Options); err != nil {
			return spec, err
		}
	case "mqtt":
		spec.Protocol = drive.MQTT5
		if s.Transport == mqtt311 {
			spec.Protocol = drive.MQTT311
		}
		var err error
		if spec.QoS, err = mqttQoS(s.Options); err != nil {
			return spec, err
		}
	case "tcp", "udp":
		spec.Answer = call.(floorCaller).answer
	case "grpc":
		spec.Protocol, spec.ContentType = drive.GRPC, "application/grpc+proto"
	default:
		switch p.kind.transport {
		case "http2":
			spec.Protocol = drive.HTTP2
		case "http3":
			spec.Protocol = drive.HTTP3
		}
		spec.ContentType = enc.MediaType(service.Name(s.Service), false)
		spec.Nagle = s.Options["nodelay"] == "off"
		if action := enc.SOAPAction(service.Name(s.Service)); action != "" {
			spec.Header = []string{"SOAPAction: " + action}
		}
	}
	switch s.Security {
	case "tls":
		spec.Credentials.CA = s.Credentials["ca"]
	case "oscore":
		var err error
		if spec.Credentials.OSCORE, err = oscoreKeys(s.Credentials); err != nil {
			return spec, err
		}
	case "dtls-psk":
		key, err := hex.DecodeString(s.Credentials["psk"])
		if err != nil || len(key) == 0 {
			return spec, errors.New("credentials: psk is not a hexadecimal key")
		}
		spec.Credentials.Identity, spec.Credentials.Key = s.Credentials["psk_identity"], key
	}
	return spec, nil
}

// run drives one run and prints its records after it.
func (p *program) run(ctx context.Context, d *drive.Driver, s stack.Call, r stack.Run, c drive.Call) error {
	if r.Concurrency > max(s.Concurrency, 1) {
		return fmt.Errorf("concurrency %d exceeds the %d announced in call", r.Concurrency, max(s.Concurrency, 1))
	}
	load := drive.Load{Record: r.Record, For: time.Duration(r.Duration)}
	if r.Requests == 0 && r.Duration == 0 {
		return errors.New("a run needs requests or duration")
	}
	switch {
	case r.Rate > 0 && r.Arrival == "poisson":
		load.Schedule = drive.Poisson(r.Rate, r.Seed, r.Requests, load.For)
	case r.Rate > 0:
		load.Schedule = drive.Constant(r.Rate, r.Requests, load.For)
	default:
		load.Schedule = drive.ClosedLoop(r.Requests, time.Duration(r.Interval))
		if s.Concurrency > 1 && r.Requests != 1 {
			noneIsFirst(c)
		}
	}
	record, err := d.Run(ctx, load, c)
	if err != nil {
		return err
	}
	if !r.Record {
		n, failed, why := record.Ended()
		return p.end(stack.End{Count: n, Phases: phasesOf(c),
			Failures: stack.Failures{Failed: failed, FirstFailure: why}})
	}
	var line []byte
	for x := range record.Exchanges() {
		if s.Request != nil { // copying a body is nobody's serialization
			x.Serialization, x.Deserialization = 0, 0
		}
		line = stack.AppendExchange(line[:0], x)
		if _, err := p.out.Write(line); err != nil {
			return io.EOF // the lab is gone
		}
	}
	q := record.Quality
	return p.end(stack.End{Count: record.Len(), CPU: q.CPU - q.Spin, Phases: phasesOf(c),
		Repetitions: q.Repetitions, Retransmissions: q.Retransmissions, Reconnects: q.Reconnects, Surplus: q.Surplus,
		Unsure: q.Unsure})
}
