package reference

import (
	"context"
	"fmt"
	"net/netip"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A floorCaller sends and awaits as many bytes as the encoding's messages have.
type floorCaller struct {
	body   []byte
	answer int
}

func (f floorCaller) Encode(_ uint64, buf []byte) ([]byte, error) { return append(buf, f.body...), nil }
func (f floorCaller) Decode(uint64, int, []byte) error            { return nil }

// floorCall makes both messages once, for their lengths; an empty message
// becomes one byte, since nothing cannot be exchanged.
func floorCall(name string, enc codec.Encoding, m stack.Message) (floorCaller, error) {
	var req, resp service.Message
	service.Make(service.Name(name), m.Seed, m.N, service.Width{Letters: m.Letters, Max: m.Max}, &req)
	env := service.Env{
		Keep:   func(data, back []byte) ([]byte, error) { return append(back[:0], data...), nil },
		Sensor: func() (int64, int64, error) { return 2150, 1700000000000, nil },
	}
	if err := service.Answer(service.Name(name), &req, &resp, env); err != nil {
		return floorCaller{}, err
	}
	body := codec.Append(enc, nil, service.Name(name), false, &req)
	if len(body) == 0 {
		body = []byte{0}
	}
	return floorCaller{body, max(1, len(codec.Append(enc, nil, service.Name(name), true, &resp)))}, nil
}

// within refuses messages that are longer than what a body may be.
func (f floorCaller) within(l stack.Limits) error {
	if most := max(len(f.body), f.answer); most > unpacked(l) {
		return fmt.Errorf("a message of %d B is above limits.body, %d B", most, l.Body)
	}
	return nil
}

// Sizes are those of a service's message and of its answer in an encoding, in B. Of more than a million elements it
// makes none: no element takes less than half a byte.
func Sizes(name string, enc codec.Encoding, m stack.Message) (out, in int, err error) {
	if m.N > 1e6 {
		return m.N / 2, 0, nil
	}
	f, err := floorCall(name, enc, m)
	return len(f.body), f.answer, err
}

// CheckFloor finds a message that a stack, if it is the floor of UDP, would refuse. Of more than a million elements it
// makes none.
func CheckFloor(name string, s stack.Call) error {
	k, ok := find(name)
	if !ok || k.transport != "udp" {
		return nil
	}
	if s.Message.N > 1e6 { // it is not made: no element takes less than half a byte
		return drive.FitsDatagram(s.Message.N/2, 0)
	}
	c, err := floorCall(s.Service, (&program{kind: k}).encoding(s.Encoding), s.Message)
	if err != nil {
		return err
	}
	return drive.FitsDatagram(len(c.body), c.answer)
}

// A floorServer answers bytes with bytes. It sees neither phases nor requests,
// only their number.
type floorServer struct {
	*drive.Floor
	p        *program
	at       string
	size     record
	reported int64
	end      context.CancelFunc
	ended    chan struct{}
}

func serveFloor(p *program, s stack.Serve) (server, error) {
	call, err := floorCall(s.Service, p.encoding(s.Encoding), s.Message)
	if err == nil {
		err = call.within(s.Limits)
	}
	if err != nil {
		return nil, err
	}
	host, err := netip.ParseAddr(s.Host)
	if err != nil {
		return nil, err
	}
	f := &floorServer{p: p, size: record{in: uint32(len(call.body)), out: uint32(call.answer)}, ended: make(chan struct{})}
	at := netip.AddrPortFrom(host, uint16(s.Port))
	if p.part {
		f.Floor, err = drive.ListenFloorShared(at, len(call.body), call.answer)
	} else {
		f.Floor, err = drive.ListenFloor(p.kind.transport, at, len(call.body), call.answer)
	}
	if err != nil {
		return nil, err
	}
	f.at = fmt.Sprintf("%s://%s", p.kind.transport, f.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	f.end = cancel
	go func() {
		defer close(f.ended)
		if err := f.Serve(ctx); err != nil {
			p.log.Print(err)
		}
	}()
	return f, nil
}

func (f *floorServer) url() string { return f.at }

func (f *floorServer) take() *records {
	if f.p.part && f.Full() {
		f.p.full.Store(true)
	}
	n := f.Served()
	got := &records{n: int(n - f.reported), same: &f.size}
	f.reported = n
	return got
}

func (f *floorServer) close() { f.end(); <-f.ended }
