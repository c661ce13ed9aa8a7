// Package population drives many devices that each do little: a hundred thousand
// sensors that report once a minute. Package drive is right for single exchanges and
// for requests as fast as they go; here a device has a period, a phase, an address
// and a way to come back after an outage.
//
//	p, err := population.New(population.Spec{Server: server, Devices: 100_000, Period: time.Minute, …})
//	account, err := p.Run(ctx, population.Load{For: 5 * time.Minute, Record: true})
//	for exchange := range account.Exchanges() { … }
//
// Its parts, to be read in this order:
//
//	behave.go   when a device is due: pure arithmetic from a seed
//	ramp.go     when it is switched on
//	lot.go      whether the outage cuts it off
//	alive.go    when it pings
//	core.go     what devices do: a state machine without clock and socket, over wheel.go
//	engine.go   one thread that brings clock and socket (socket.go) to it
//	secure.go   DTLS and OSCORE of devices that speak CoAP
//
// and, for devices that keep a connection,
//
//	stream.go   what they do besides: a state machine likewise
//	speak.go    MQTT, HTTP and the bare exchange, as they say it
//	connect.go  one thread that brings clock and connections to it
//	merge.go    the account of several processes, each with a part of the devices
//
// Devices that speak CoAP share one UDP socket. Each has an address of 127.0.0.0/8, every one of
// which is local on Linux: a datagram is sent from it, and the answer says in a control
// message for which it is (IP_PKTINFO, ip(7)). Servers see distinct peers.
package population

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"
)

// A Spec says who the devices are and what they do. Durations are in ns in JSON.
type Spec struct {
	Server  netip.AddrPort `json:"server"`  // in 127.0.0.0/8
	Devices int            `json:"devices"` // 1 to MostDevices
	Classes []Class        `json:"classes"` // at least one; their shares add up to 1
	Phase   string         `json:"phase"`   // Random or Aligned
	Ramp    float64        `json:"ramp"`    // devices switched on per second; 0: all at once
	Retry   Backoff        `json:"retry"`   // after a report that failed
	Outage  Outage         `json:"outage"`  // of the server, as devices see it; none: zero
	NON     bool           `json:"non"`     // requests are non-confirmable: a lost one is not sent again
	Timeout time.Duration  `json:"timeout"` // of a request, retransmissions included
	Seed    uint64         `json:"seed"`    // of all that is random
	// Shard of Shards, from 0: this process is each Shards-th of the Devices. Shards of 0
	// is 1 for a population; a program may take it to choose as many as it needs.
	Shard  int `json:"shard,omitempty"`
	Shards int `json:"shards,omitempty"`
	Rows   int `json:"rows,omitempty"` // the most that are kept; 0: MostRows
	// Servers, where there are any, are in place of Server: each device has one of them.
	Servers []netip.AddrPort `json:"servers,omitempty"`

	NAT time.Duration `json:"nat,omitempty"` // after so long a silence of a device it forgets it; 0: there is none

	Up   Way `json:"up"`   // of CoAP, to the server
	Down Way `json:"down"` // likewise, from it

	// Stream is how devices that keep a connection speak; nil: they speak CoAP over UDP.
	Stream *Stream `json:"-"`

	// Security protects what devices that speak CoAP send; nil: nothing does.
	Security *Security `json:"-"`

	// Registration is what devices that observe send over CoAP, as Request.
	Registration []byte `json:"-"`

	// Request is a CoAP message as RFC 7252 has it after the token: options and payload. Of
	// streams it is what goes out for each report: MQTT's payload, HTTP's head and body, bytes.
	Request []byte `json:"-"`
	Method  uint8  `json:"-"` // its code, such as 2 for POST
	Body    int    `json:"-"` // B of the payload in Request
	// Status is that of right answers, HTTP's, or 205 for CoAP's 2.05; 0: any of class 2.
	Status int `json:"-"`
	// Discreet: no failure repeats anything of an answer, which may echo a secret of the request.
	Discreet bool `json:"-"`
	// Judge says what is wrong with the payload of an answer of 2.xx, or MQTT's. One equal to a right
	// one is not judged again. nil: each is right.
	Judge func(payload []byte) error `json:"-"`
}

// A Class is devices of one kind.
type Class struct {
	Name   string        `json:"name"`   // as the study has it
	Share  float64       `json:"share"`  // of all devices, 0 to 1
	Period time.Duration `json:"period"` // between two reports; 0: it only observes
	Jitter float64       `json:"jitter"` // each report is later by 0 to Jitter periods, drawn anew
	// KeepAlive is the longest silence: a device that has sent nothing for so long sends
	// an empty confirmable message, CoAP's ping (RFC 7252, section 4.3), or MQTT's PINGREQ;
	// over HTTP and bare TCP the kernel sends its probe. 0: it does not.
	KeepAlive time.Duration `json:"keepalive"`
	// Observe makes a device hear of the changes of what it asks for: over CoAP it registers (RFC 7641), and
	// again when it has heard nothing for so long; over MQTT it subscribes to all requests. 0: it does not.
	Observe time.Duration `json:"observe,omitempty"`
	Sleep   Sleep         `json:"sleep"`
}

// The phases of devices.
const (
	Random  = "random"  // each device's first report is uniform in its period
	Aligned = "aligned" // all report at once, as devices with a clock do at full minutes
)

// A Backoff says when a device whose report failed tries again. First of 0: with its
// next report.
type Backoff struct {
	First  time.Duration `json:"first"`  // delay before the first retry
	Factor float64       `json:"factor"` // of each further one, at least 1
	Most   time.Duration `json:"most"`   // no delay is longer
	Jitter string        `json:"jitter"` // None, Equal or Full
}

// The jitters of a back-off, by Brooker, "Exponential Backoff And Jitter" (AWS
// Architecture Blog, 2015).
const (
	None  = "none"  // the delay itself
	Equal = "equal" // half the delay, and a random part up to the other half
	Full  = "full"  // uniform from 0 to the delay
)

// An Outage cuts devices off: what they send is lost, and what is sent to them.
type Outage struct {
	At    time.Duration `json:"at"`    // since the recorded run began
	For   time.Duration `json:"for"`   // 0: there is none
	Share float64       `json:"share"` // of the devices
}

// MostDevices is how many addresses 127.0.0.0/8 leaves to devices.
const MostDevices = 16_000_000

// mostStream is the largest request over a connection.
const mostStream = 60_000

// mostBody is the largest message that goes without blocks (RFC 7959).
const mostBody = 1024

// Check refuses what cannot be driven.
func (s *Spec) Check() error {
	share := 0.0
	for _, c := range s.Classes {
		share += c.Share
		switch {
		case c.Period < time.Millisecond && !(c.Period == 0 && c.Observe > 0):
			return fmt.Errorf("a period of %v; write at least 1ms", c.Period)
		case c.Period > longest:
			return fmt.Errorf("a period of %v; write at most %v", c.Period, longest)
		case !(c.Jitter >= 0 && c.Jitter <= 1):
			return fmt.Errorf("a jitter of %g; write 0 to 1", c.Jitter)
		case c.KeepAlive != 0 && c.KeepAlive < time.Millisecond:
			return fmt.Errorf("keepalive of %v; write at least 1ms", c.KeepAlive)
		}
	}
	if err := s.parts(); err != nil {
		return err
	}
	if err := s.reach(); err != nil {
		return err
	}
	loopback := netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8)
	switch {
	case s.Devices < 1 || s.Devices > MostDevices:
		return fmt.Errorf("%d devices; write 1 to %d", s.Devices, MostDevices)
	case math.Abs(share-1) > 1e-9:
		return fmt.Errorf("the shares of the classes add up to %g, not to 1", share)
	case !loopback.Contains(s.server(0).Addr()):
		return fmt.Errorf("the server is at %v; devices have addresses of 127.0.0.0/8 and reach only this machine", s.Server)
	case s.Phase != Random && s.Phase != Aligned:
		return fmt.Errorf("unknown phase %q; write %s or %s", s.Phase, Random, Aligned)
	case s.Ramp < 0:
		return errors.New("a ramp below 0")
	case s.Timeout < time.Millisecond:
		return fmt.Errorf("a timeout of %v; write at least 1ms", s.Timeout)
	case s.Stream != nil && len(s.Request) > mostStream:
		return fmt.Errorf("a request of %d B; devices send at most %d", len(s.Request), mostStream)
	case s.Stream == nil && s.Body > mostBody:
		return fmt.Errorf("a body of %d B; devices send at most %d, what goes without blocks", s.Body, mostBody)
	case s.Retry.First < 0 || s.Retry.First > 0 && (s.Retry.Factor < 1 || s.Retry.Most < s.Retry.First):
		return fmt.Errorf("a back-off from %v by %g to %v; it must not shrink", s.Retry.First, s.Retry.Factor, s.Retry.Most)
	case s.Retry.First > 0 && s.Retry.Jitter != None && s.Retry.Jitter != Equal && s.Retry.Jitter != Full:
		return fmt.Errorf("unknown jitter %q of a back-off; write %s, %s or %s", s.Retry.Jitter, None, Equal, Full)
	case s.Outage.For < 0 || s.Outage.At < 0 || s.Outage.For > 0 && !(s.Outage.Share > 0 && s.Outage.Share <= 1):
		return errors.New("an outage needs an instant, a length, and a share above 0 and up to 1")
	}
	return nil
}

// reach refuses what cannot be heard, and radios that cannot sleep so.
func (s *Spec) reach() error {
	for _, c := range s.Classes {
		switch z := c.Sleep; {
		case c.Observe < 0 || c.Observe > longest || c.Observe > 0 && c.Observe < time.Millisecond:
			return fmt.Errorf("observe of %v; write 1ms to %v", c.Observe, longest)
		case c.Observe > 0 && s.Stream != nil && !s.Stream.mqtt():
			return errors.New("observe is for CoAP over UDP and for MQTT")
		case c.Observe > 0 && s.Security != nil && len(s.Security.OSCORE.Secret) > 0:
			return errors.New("observe does not go with OSCORE")
		case z.Mode != "" && z.Mode != PSM && z.Mode != EDRX:
			return fmt.Errorf("unknown sleep %q; write %s or %s", z.Mode, PSM, EDRX)
		case z.Active < 0 || z.Mode == EDRX && z.Cycle < time.Millisecond:
			return fmt.Errorf("a radio that is active for %v and paged every %v; write 0 or more, and at least 1ms",
				z.Active, z.Cycle)
		}
	}
	if s.Stream != nil && (s.Up != Way{} || s.Down != Way{}) {
		return errors.New("devices with connections have no link")
	}
	for _, w := range []Way{s.Up, s.Down} {
		if w.Delay < 0 || w.Spread < 0 || !(w.Loss >= 0 && w.Loss < 1) || w.Rate < 0 || w.Overhead < 0 || w.Frame < 0 ||
			w.Delay > time.Hour || w.Spread > time.Hour {
			return fmt.Errorf("a link of %+v; write no figure below 0, and a loss below 1", w)
		}
	}
	if s.NAT < 0 {
		return fmt.Errorf("a NAT that forgets after %v; write at least 0", s.NAT)
	}
	return nil
}

// here is how many of the devices are this process's.
func (s *Spec) here() int {
	n := max(s.Shards, 1)
	return (s.Devices - s.Shard + n - 1) / n
}

// parts refuses a division that is none, and a way to speak that is unknown.
func (s *Spec) parts() error {
	switch {
	case s.Shards < 0 || s.Shard < 0 || s.Shard >= max(s.Shards, 1) || s.Shards > s.Devices:
		return fmt.Errorf("part %d of %d, of %d devices", s.Shard, s.Shards, s.Devices)
	case s.Stream == nil && (s.Shards > 1 || len(s.Servers) > 0):
		return errors.New("devices that speak CoAP are one process, with one server")
	case s.Rows < 0 || s.Rows > MostRows:
		return fmt.Errorf("%d rows; write 0 to %d", s.Rows, MostRows)
	case s.Stream != nil:
		return s.Stream.check()
	}
	return nil
}

// server is the one of a device.
func (s *Spec) server(number int) netip.AddrPort {
	if n := len(s.Servers); n > 0 {
		return s.Servers[number%n]
	}
	return s.Server
}
