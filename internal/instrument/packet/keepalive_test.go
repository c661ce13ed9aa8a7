package packet

import (
	"testing"
	"time"
)

// probe scripts a keep-alive probe as it is sent 15 s into a silence, and its answer.
func (e *end) probe(payload string) {
	e.s.at += 15 * time.Second
	e.segment(ackFlag, e.seq-1, []byte(payload))
	e.other.send(ackFlag, "")
}

// TestKeepAliveProbesBelongToNoRequest: three requests of 2 ms and 3 packets stay so, whoever probes between them, and
// whether or not the probe carries a byte.
func TestKeepAliveProbesBelongToNoRequest(t *testing.T) {
	for name, silence := range map[string]func(c, v *end){
		"of the client":             func(c, _ *end) { c.probe("") },
		"of the server":             func(_, v *end) { v.probe("") },
		"of the client with a byte": func(c, _ *end) { c.probe("\x00") },
		"of the server with a byte": func(_, v *end) { v.probe("\x00") },
		"of both, thrice": func(c, v *end) {
			for range 3 {
				c.probe("")
				v.probe("")
			}
		},
		"not answered": func(c, _ *end) {
			for range 3 {
				c.s.at += time.Second
				c.segment(ackFlag, c.seq-1, nil)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			c, v := s.open(cliAddr, srvAddr)
			for range 3 {
				call(c, v)
				silence(c, v)
			}
			hangUp(c, v)
			got := s.analyze(Options{})
			x := first(t, got)
			if int(x.Packets()) != len(s.pkts) || x.KeepAlives == 0 || len(x.Requests) != 3 {
				t.Fatalf("%d packets of %d, %d keep-alives, %d requests", x.Packets(), len(s.pkts), x.KeepAlives,
					len(x.Requests))
			}
			for i, r := range x.Requests {
				if r.Delay != 2*ms || r.DelayToData != ms || r.Packets() != 3 || r.NoDelay+r.NoBytes != "" {
					t.Errorf("request %d: %v, %v to data, %d packets, refused %q", i+1, r.Delay, r.DelayToData, r.Packets(),
						r.NoDelay+r.NoBytes)
				}
			}
			for _, j := range jitters(got.Calls(PerRequest), false) {
				if j != 0 {
					t.Errorf("jitter %v", j)
				}
			}
		})
	}
}

// TestProbesWhileAnAnswerIsAwaited: a request of 30 s keeps its delay, and probes cost it nothing.
func TestProbesWhileAnAnswerIsAwaited(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	c.send(ackFlag, "request")
	v.send(ackFlag, "")
	c.probe("")
	c.probe("")
	v.send(ackFlag, "response")
	c.send(ackFlag, "")
	hangUp(c, v)
	if r := first(t, s.analyze(Options{})).Requests; len(r) != 1 || r[0].Packets() != 4 || r[0].Delay < 30*time.Second {
		t.Errorf("got %+v", r)
	}
}

// TestProbesOfAClosedWindowBelongToTheRequest: it waits for their answer.
func TestProbesOfAClosedWindowBelongToTheRequest(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	c.send(ackFlag, "requ")
	v.window = 0
	v.send(ackFlag, "")
	c.segment(ackFlag, c.seq-1, nil)
	v.send(ackFlag, "")
	v.window = 5000
	v.send(ackFlag, "")
	c.send(ackFlag, "est")
	v.send(ackFlag, "response")
	c.send(ackFlag, "")
	hangUp(c, v)
	if r := first(t, s.analyze(Options{})).Requests; len(r) != 1 || r[0].Packets() != 8 {
		t.Errorf("got %+v", r)
	}
}

// TestAServerThatIsGone: the last packets of its connection are probes, which no answer takes longer for.
func TestAServerThatIsGone(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	c.probe("")
	s.at += 15 * time.Second
	c.segment(ackFlag, c.seq-1, nil)
	v.send(rstFlag|ackFlag, "")
	if x := first(t, s.analyze(Options{})); x.Delay != 5*ms || x.End != "RST by server" {
		t.Errorf("got %v, %s, want 5ms", x.Delay, x.End)
	}
}

// TestACaptureThatBeginsWithAProbe: the requests after it stand.
func TestACaptureThatBeginsWithAProbe(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	s.pkts = nil
	c.probe("")
	call(c, v)
	call(c, v)
	hangUp(c, v)
	x := first(t, s.analyze(Options{Ports: []uint16{srvAddr.Port()}}))
	if r := x.Requests; len(r) != 2 || r[0].NoDelay == "" || r[1].NoDelay+r[1].NoBytes != "" || r[1].Delay != 2*ms {
		t.Errorf("got %+v", r)
	}
}

// TestBetweenEndsBeforeAProbe: even one with a byte brings nothing.
func TestBetweenEndsBeforeAProbe(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	began := s.at
	call(c, v)
	c.probe("\x00")
	got := s.analyze(Options{Sizes: true}).Between(time.Unix(0, int64(began)), time.Unix(0, int64(s.at)))
	if got.Packets != 2 {
		t.Errorf("%d packets, want the request and its answer", got.Packets)
	}
}
