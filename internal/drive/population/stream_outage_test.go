package population

import (
	"testing"
	"time"
)

// What a device over HTTP does around an outage from 8 to 18 s, step by step: it opens a connection when it has a
// report to send, and at no other time. It asks at 0 and 10 s, gives up after 5 s, and tries again a second later.
func TestOutageOfDevicesOverHTTP(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
	answered := func(p *paper) { p.s.received(0, []byte(ok), p.at) }
	first := func(p *paper) {
		p.until(0)
		p.s.opened(0, p.at)
		answered(p)
	}
	for _, tt := range []struct {
		name       string
		perRequest bool
		do         func(p *paper)
		want       string
		counts     Counts
		down       int
	}{
		{"the server closes at rest: nothing to do until the next report", false, func(p *paper) {
			first(p)
			p.at = int64(s)
			p.s.broken(0, p.at, errClosed)
			p.until(7 * s)
		}, `dial 0, send 0 "q", hang 0`, Counts{Requests: 1, Answered: 1, Connects: 1, Broken: 1, OpenMost: 1, BytesOut: 1,
			BytesIn: int64(len(ok))}, 0},
		// Its connection is given up at 15 s. The one of 16 s opens after the outage: TCP tries again at 17 and 19 s.
		{"a connection that was kept", false, func(p *paper) {
			first(p)
			p.until(15*s + 9*ms)
			p.until(16*s + 30*ms)
			p.until(19*s + 40*ms)
			p.s.opened(0, p.at)
			answered(p)
		}, `dial 0, send 0 "q", hang 0, dial 0, send 0 "q"`, Counts{Requests: 3, Answered: 2, Failed: 1, Retries: 1,
			Connects: 2, Broken: 1, Withheld: 2, OpenMost: 1, BytesOut: 2, BytesIn: 2 * int64(len(ok))}, 0},
		{"a connection for each request", true, func(p *paper) {
			first(p)
			p.until(15*s + 9*ms)
			p.until(16*s + 30*ms)
			p.until(19*s + 40*ms)
			p.s.opened(0, p.at)
			answered(p)
		}, `dial 0, send 0 "q", hang 0, dial 0, send 0 "q", hang 0`, Counts{Requests: 3, Answered: 2, Failed: 1, Retries: 1,
			Connects: 3, ConnectFailed: 1, Withheld: 2, OpenMost: 1, BytesOut: 2, BytesIn: 2 * int64(len(ok))}, 0},
		{"a request that fails within it", false, func(p *paper) {
			first(p)
			p.until(15*s + 9*ms)
		}, `dial 0, send 0 "q", hang 0`, Counts{Requests: 2, Answered: 1, Failed: 1, Connects: 1, Broken: 1, Withheld: 1,
			OpenMost: 1, BytesOut: 1, BytesIn: int64(len(ok))}, 1},
		{"the server refuses connections after it", false, func(p *paper) {
			first(p)
			p.until(15*s + 9*ms)
			p.until(16*s + 30*ms)
			p.until(19*s + 40*ms)
			p.s.broken(0, p.at, errClosed)
		}, `dial 0, send 0 "q", hang 0, dial 0, hang 0`, Counts{Requests: 3, Answered: 1, Failed: 2, Retries: 1, Connects: 2,
			ConnectFailed: 1, Broken: 1, Withheld: 2, OpenMost: 1, BytesOut: 1, BytesIn: int64(len(ok))}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := onPaper(func(x *Spec) {
				x.Stream = &Stream{Protocol: HTTP, PerRequest: tt.perRequest}
				x.Outage = Outage{At: 8 * s, For: 10 * s, Share: 1}
			})
			tt.do(p)
			if got := p.took(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if p.s.Counts != tt.counts {
				t.Errorf("got %+v, want %+v", p.s.Counts, tt.counts)
			}
			if p.s.back.down != tt.down {
				t.Errorf("%d devices are down, want %d", p.s.back.down, tt.down)
			}
		})
	}
}
