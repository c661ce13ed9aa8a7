package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// mostPackets of one request are shown, each with so many bytes of its payload.
const (
	mostPackets = 200
	mostPayload = 1024
)

// A capturedCall is a request in a capture, with its packets.
type capturedCall struct {
	call    packet.Call
	packets []capturedPacket
	bytes   int64
	more    bool
}

type capturedPacket struct {
	number, length int
	since, gap     time.Duration // since the first of the request; since the one before
	d              packet.Dissection
	data           []byte
}

// columns opens one side's records of the trial. Close them.
func (t *trialAt) columns(side measure.Side) (*store.Columns, error) {
	return t.kept.Columns(t.state.ID, side)
}

// callIn finds a request of the recorded run, which the last count calls of the
// capture are: those before were the warm-up's.
func (t *trialAt) callIn(file string, unit packet.Unit, count int, seq uint64) (capturedCall, error) {
	f, err := t.open("packets/" + file)
	if err != nil {
		return capturedCall{}, err
	}
	defer f.Close()
	all, err := packet.Analyze(f)
	if err != nil {
		return capturedCall{}, err
	}
	calls := all.Calls(unit)
	if len(calls) < count || seq > uint64(count) {
		return capturedCall{}, fmt.Errorf("the capture has %d requests, but the client recorded %d: packets cannot be "+
			"assigned to requests", len(calls), count)
	}
	i := len(calls) - count + int(seq) - 1
	out := capturedCall{call: calls[i]}
	// The next request of the same two ends begins where this one's packets end.
	end := all.Last + 1
	if next := slices.IndexFunc(calls[i+1:], func(c packet.Call) bool {
		return c.Client == out.call.Client && c.Server == out.call.Server
	}); next >= 0 {
		end = calls[i+1+next].Start
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return out, err
	}
	return out, out.collect(f, end)
}

// collect takes the packets between the call's two ends, from its start to the end.
func (c *capturedCall) collect(r io.Reader, end time.Duration) error {
	x, err := packet.NewReader(r)
	if err != nil {
		return err
	}
	var p packet.Packet
	last := c.call.Start
	for n := 1; ; n++ {
		if err := x.Next(&p); err != nil {
			return nil // the capture was read to its end before
		}
		if p.At < c.call.Start || p.At >= end {
			continue
		}
		d := packet.Dissect(&p)
		if !c.between(d.From, d.To) {
			continue
		}
		c.bytes += int64(p.Length)
		if len(c.packets) == mostPackets {
			c.more = true
			continue
		}
		c.packets = append(c.packets, capturedPacket{n, p.Length, p.At - c.call.Start, p.At - last, d,
			slices.Clone(d.Data[:min(len(d.Data), mostPayload)])})
		last = p.At
	}
}

func (c *capturedCall) between(a, b netip.AddrPort) bool {
	return a == c.call.Client && b == c.call.Server || a == c.call.Server && b == c.call.Client
}

// scheme is that of the server's address, as its program said it, or as the study has it.
func (t *trialAt) scheme() string {
	address := t.Treatments[t.treatment].Setup().URL
	if f, err := t.open(t.logFolder(t.state.Attempt) + "/ready.json"); err == nil && address == "" {
		defer f.Close()
		var ready struct{ Server struct{ URL string } }
		if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&ready) == nil {
			address = ready.Server.URL
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme
}

// unhurried gives each part of a long answer time of its own.
type unhurried struct {
	w       io.Writer
	control *http.ResponseController
}

func (u *unhurried) Write(b []byte) (int, error) {
	_ = u.control.SetWriteDeadline(time.Now().Add(time.Minute)) // a recorder in a test has none
	return u.w.Write(b)
}
