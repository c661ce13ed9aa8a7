// Package link says what the network is made to do, and does it: a userspace
// link between two TUN interfaces in two network namespaces without names. It
// starts no stack and captures no packet.
package link

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Link is a wire between a client and a server.
type Link struct {
	Name     string
	Up, Down Shape // client to server, server to client
	MTU      int   // B of an IP packet; 0: 1500
	Shaper   Shaper
	Seed     uint64 // of losses and spreads
}

// A Shaper is what shapes a link's packets.
type Shaper string

const (
	Userspace Shaper = ""      // ours, over TUN interfaces: true serialization delay, lateness kept
	Netem     Shaper = "netem" // the kernel's, on a veth pair, where it has it
	Bare      Shaper = "bare"  // nobody: a veth pair and nothing else, for two ends that need a way to each other
)

// A Shape is what one direction of a link does to its packets.
type Shape struct {
	// Delay is added to each packet; DelayStdDev makes it normal, drawn again
	// while below 0, so that the mean of a wide spread is above Delay.
	Delay, DelayStdDev time.Duration
	Loss               float64 // probability that a packet is lost, 0 to 1
	// Burst is the mean length, in packets, of the bursts in which packets are
	// lost (Gilbert 1960; Elliott 1963 with nothing lost between bursts).
	// 0: each packet is lost independently of the others.
	Burst float64
	Rate  int64 // bit/s; 0: unlimited
	// Queue is how many packets may wait for the transmitter, behind the one
	// under way; more are dropped. It fills only behind a rate. 0: DefaultQueue.
	Queue    int
	Overhead int  // B that each frame costs on the wire besides its payload
	Frame    int  // B of payload of the largest frame; 0: a packet is one frame
	Reorder  bool // a spread may let packets overtake each other
}

const (
	DefaultQueue = 100  // packets
	defaultMTU   = 1500 // B
	minMTU       = 1280 // RFC 8200, section 5: less ends IPv6
	maxMTU       = 65535
)

// What a link does at most. A packet that is on its way for longer is no measurement, and figures beyond would
// overflow.
const (
	mostDelay    = 24 * time.Hour
	mostOnWire   = time.Hour // one packet
	mostQueue    = 1_000_000 // packets
	mostOverhead = 16 << 10  // B
	mostBurst    = 1e6       // packets
)

// LargestPacket is the size of the largest IP packet that l carries, in bytes.
func (l Link) LargestPacket() int { return l.mtu() }

func (l Link) mtu() int {
	if l.MTU == 0 {
		return defaultMTU
	}
	return l.MTU
}

// Check says what in l cannot be done.
func (l Link) Check() error {
	var errs []error
	if m := l.mtu(); m < minMTU || m > maxMTU {
		errs = append(errs, fmt.Errorf("invalid MTU of %d B; write 1280 (the least that IPv6 allows) to 65535", l.MTU))
	}
	if l.Shaper == Bare && (l.Up != Shape{} || l.Down != Shape{}) {
		errs = append(errs, errors.New("a bare link takes no delay, loss, rate or other setting; remove them"))
	}
	if l.Shaper != Userspace && l.Shaper != Netem && l.Shaper != Bare {
		errs = append(errs, fmt.Errorf("unknown shaper %q; leave it out for the userspace link, or write netem", l.Shaper))
	}
	type way struct {
		name string
		Shape
	}
	ways := []way{{"up", l.Up}, {"down", l.Down}}
	if l.Up == l.Down {
		ways = []way{{"up and down", l.Up}}
	}
	for _, d := range ways {
		err := d.check()
		if took := d.serialization(l.mtu()); err == nil && (took > mostOnWire || took < 0) {
			err = fmt.Errorf("a packet of %d B is sent for %v; write a higher rate", l.mtu(), took)
		}
		if err == nil && l.Shaper == Netem {
			_, err = d.netem()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("link %s: %w", l.Name, err)
	}
	return nil
}

// Replace gives s the one figure that key names, as a study has it, of another shape.
func (s *Shape) Replace(key string, by Shape) {
	switch key {
	case "delay":
		s.Delay = by.Delay
	case "delay_stddev":
		s.DelayStdDev = by.DelayStdDev
	case "loss":
		s.Loss = by.Loss
	case "loss_burst":
		s.Burst = by.Burst
	case "rate":
		s.Rate = by.Rate
	case "queue":
		s.Queue = by.Queue
	case "order":
		s.Reorder = by.Reorder
	}
}

func (s Shape) check() error {
	for _, x := range []struct {
		name  string
		value int64
	}{{"delay", int64(s.Delay)}, {"delay_stddev", int64(s.DelayStdDev)}, {"rate", s.Rate}, {"queue", int64(s.Queue)},
		{"overhead", int64(s.Overhead)}, {"frame", int64(s.Frame)}} {
		if x.value < 0 {
			return fmt.Errorf("%s must not be negative", x.name)
		}
	}
	switch {
	case s.Delay > mostDelay || s.DelayStdDev > mostDelay:
		return fmt.Errorf("a delay or spread of more than %v; write less", mostDelay)
	case s.Queue > mostQueue:
		return fmt.Errorf("a queue of %d packets; write up to %d", s.Queue, mostQueue)
	case s.Overhead > mostOverhead:
		return fmt.Errorf("an overhead of %d B; write up to %d", s.Overhead, mostOverhead)
	case !(s.Loss >= 0 && s.Loss <= 1): // NaN is neither
		return fmt.Errorf("loss %g is not a probability; write 0.05 for 5 %%", s.Loss)
	case s.DelayStdDev > 0 && s.Delay == 0:
		return errors.New("a spread needs a mean; set a delay")
	case s.Reorder && s.DelayStdDev == 0:
		return errors.New("only a spread lets packets overtake each other; set delay_stddev, or remove order: free")
	case s.Queue > 0 && s.Rate == 0:
		return errors.New("a queue fills only with a rate limit; set a rate, or remove the queue")
	case (s.Overhead > 0 || s.Frame > 0) && s.Rate == 0:
		return errors.New("overhead and frames take time only with a rate limit; set a rate")
	case s.Burst != 0 && !(s.Burst >= 1 && s.Burst <= mostBurst):
		if s.Burst > mostBurst || s.Burst != s.Burst {
			return fmt.Errorf("bursts of %g packets; write up to %g", s.Burst, mostBurst)
		}
		return fmt.Errorf("a burst of %g packets is shorter than one packet; write 1 or more", s.Burst)
	case s.Burst > 1 && s.Loss == 0:
		return errors.New("bursts of loss need a loss; set loss")
	case s.Burst > 0 && s.Loss > s.Burst/(s.Burst+1):
		return fmt.Errorf("a loss of %g is impossible in bursts of %g packets with at least one packet between them; the "+
			"maximum is %g", s.Loss, s.Burst, s.Burst/(s.Burst+1))
	}
	return nil
}

// serialization is how long a packet of n bytes takes to be sent, with all that
// its frames add.
func (s Shape) serialization(n int) time.Duration {
	if s.Rate == 0 {
		return 0
	}
	frames := 1
	if s.Frame > 0 {
		frames = (n + s.Frame - 1) / s.Frame
	}
	return time.Duration(int64(n+frames*s.Overhead) * 8 * int64(time.Second) / s.Rate)
}

// Occupied is how long packets of so many bytes in all keep the transmitter busy, at least, as far as a duration says.
func (s Shape) Occupied(packets, bytes float64) time.Duration {
	if s.Rate == 0 {
		return 0
	}
	frames := packets
	if s.Frame > 0 {
		frames = max(frames, bytes/float64(s.Frame))
	}
	const most = 1 << 60
	return time.Duration(min((bytes+frames*float64(s.Overhead))*8/float64(s.Rate)*1e9, most))
}

func (s Shape) queue() int {
	if s.Queue == 0 {
		return DefaultQueue
	}
	return s.Queue
}

// String says a shape in the words of a study.
func (s Shape) String() string {
	var words []string
	add := func(on bool, format string, v any) {
		if on {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	add(s.Delay > 0, "delay=%v", s.Delay)
	add(s.DelayStdDev > 0, "delay_stddev=%v", s.DelayStdDev)
	add(s.Loss > 0, "loss=%.4g%%", 100*s.Loss)
	add(s.Burst > 0, "loss_burst=%g", s.Burst)
	add(s.Rate > 0, "rate=%dbit", s.Rate)
	add(s.Queue > 0, "queue=%d", s.Queue)
	add(s.Reorder, "order=%s", "free")
	return strings.Join(words, " ")
}
