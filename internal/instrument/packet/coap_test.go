package packet

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCoAPExchanges(t *testing.T) {
	const (
		get     = 1
		content = 0x45
	)
	for _, c := range []struct {
		name  string
		build func(s *script)
		check func(t *testing.T, c Capture, x []UDPCall)
	}{
		{"request sent again, answered once", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.at += 2000 * ms
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, ack, content, 1, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || x[0].Retransmissions != 1 || x[0].Delay != 2002*ms || x[0].DelayToData != 2002*ms ||
				x[0].Packets() != 3 || x[0].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"separate response: the delay ends with its acknowledgement", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, ack, 0, 1, "")
			s.coap(coapAddr, cliAddr, con, content, 900, "a")
			s.at += 2000 * ms
			s.coap(coapAddr, cliAddr, con, content, 900, "a")
			s.coap(cliAddr, coapAddr, ack, 0, 900, "")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || !x[0].Separate || x[0].Retransmissions != 1 || x[0].Delay != 2004*ms || x[0].DelayToData != 2*ms ||
				x[0].Packets() != 5 || x[0].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"separate response not acknowledged", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, con, content, 900, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || x[0].NoDelay == "" || x[0].NoBytes == "" || x[0].NoData != "" || x[0].DelayToData != ms {
				t.Errorf("got %+v", x)
			}
		}},
		{"both ends use the same message id", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 5, "a")
			s.coap(coapAddr, cliAddr, con, content, 5, "a")
			s.coap(cliAddr, coapAddr, ack, 0, 5, "")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || x[0].Packets() != 3 || x[0].NoDelay != "" || x[0].Delay != 2*ms {
				t.Errorf("got %+v", x)
			}
		}},
		{"both ends ask, and the server answers under an id it asked under before", func(s *script) {
			s.coap(cliAddr, coapAddr, con, 0, 3, "") // a ping makes the first end the client
			s.coap(coapAddr, cliAddr, con, get, 9, "s")
			s.coap(cliAddr, coapAddr, ack, content, 9, "s")
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, con, content, 9, "a")
			s.coap(cliAddr, coapAddr, ack, 0, 9, "")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 2 || x[0].Packets() != 2 || x[0].Client != coapAddr || x[1].Packets() != 3 || x[1].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"interleaved, answered in the other order", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(cliAddr, coapAddr, non, get, 2, "b")
			s.coap(coapAddr, cliAddr, non, content, 77, "b")
			s.coap(coapAddr, cliAddr, ack, content, 1, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 2 || x[0].DelayToData != 3*ms || x[1].DelayToData != ms || x[1].NoDelay+x[0].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"block-wise: one exchange for each message id, one token", func(s *script) {
			for id := range uint16(5) {
				s.coap(cliAddr, coapAddr, con, get, id, "tk")
				s.coap(coapAddr, cliAddr, ack, content, id, "tk")
			}
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 5 || x[4].MessageID != 4 || x[4].Delay != ms || x[4].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"message ids come round, with an empty token", func(s *script) {
			for id := range 65_536 + 3 {
				s.coap(cliAddr, coapAddr, con, get, uint16(id), "")
				s.coap(coapAddr, cliAddr, ack, content, uint16(id), "")
			}
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 65_539 || x[65_538].Retransmissions != 0 || x[65_538].NoDelay != "" {
				t.Errorf("got %d exchanges", len(x))
			}
		}},
		{"notifications do not prolong the first answer", func(s *script) {
			s.udp(cliAddr, coapAddr, []byte{0x41, get, 0, 1, 'a', 0x60}) // Observe: 0
			s.coap(coapAddr, cliAddr, ack, content, 1, "a")
			s.at += 5000 * ms
			s.coap(coapAddr, cliAddr, non, content, 901, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || x[0].Delay != ms || c.Notifications != 1 || x[0].NoDelay != "" {
				t.Errorf("got %+v", x)
			}
		}},
		{"two answers to a request that asked for one", func(s *script) {
			s.coap(cliAddr, coapAddr, non, get, 1, "a")
			s.coap(coapAddr, cliAddr, non, content, 900, "a")
			s.coap(coapAddr, cliAddr, non, content, 901, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || !strings.Contains(x[0].NoDelay, "twice") {
				t.Errorf("got %+v", x)
			}
		}},
		{"rejected, unanswered, and an answer nobody asked for", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, rst, 0, 1, "")
			s.coap(cliAddr, coapAddr, con, get, 2, "b")
			s.coap(coapAddr, cliAddr, non, content, 3, "z")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 2 || !x[0].Reset || x[0].NoDelay == "" || !strings.Contains(x[1].NoData, "no response") ||
				c.Unmatched != 1 {
				t.Errorf("got %+v", x)
			}
		}},
		{"a ping is no exchange", func(s *script) {
			s.coap(cliAddr, coapAddr, con, 0, 9, "")
			s.coap(coapAddr, cliAddr, rst, 0, 9, "")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 0 || c.Pings != 2 {
				t.Errorf("got %+v, %d pings", x, c.Pings)
			}
		}},
		{"something else between the same ports", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.udp(coapAddr, cliAddr, []byte("nonsense"))
			s.coap(coapAddr, cliAddr, ack, content, 1, "a")
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || !strings.Contains(x[0].NoDelay, "not CoAP") {
				t.Errorf("got %+v", x)
			}
		}},
		{"fragmented datagram", func(s *script) {
			s.coap(cliAddr, coapAddr, con, get, 1, "a")
			s.coap(coapAddr, cliAddr, ack, content, 1, "a")
			reheader(s.coap(coapAddr, cliAddr, ack, content, 1, "a").Data, func(ip []byte) { ip[7] = 100 })
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || !strings.Contains(x[0].NoBytes, "fragmented") || c.Fragments != 1 {
				t.Errorf("got %+v", x)
			}
		}},
		{"captured twice", func(s *script) {
			for _, p := range []*Packet{s.coap(cliAddr, coapAddr, con, get, 1, "a"),
				s.coap(coapAddr, cliAddr, ack, content, 1, "a")} {
				q := *p
				q.At += 700
				s.pkts = append(s.pkts, q)
			}
			s.pkts[1], s.pkts[2] = s.pkts[2], s.pkts[1]
		}, func(t *testing.T, c Capture, x []UDPCall) {
			if len(x) != 1 || !strings.Contains(x[0].NoBytes, "twice") {
				t.Errorf("got %+v", x)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t)
			c.build(s)
			got := s.analyze(Options{Ports: []uint16{5683}})
			c.check(t, got, got.Exchanges)
		})
	}
}

func TestDatagramsByTurns(t *testing.T) {
	s := newScript(t)
	to := coapAddr
	s.udp(cliAddr, to, []byte("{\"a\":1}")) // 0x7b: no CoAP
	s.udp(to, cliAddr, []byte("part 1"))
	s.udp(to, cliAddr, []byte("part 2"))
	s.udp(cliAddr, to, []byte("<x/>"))
	s.at += 500 * ms
	s.udp(cliAddr, to, []byte("<x/>"))
	s.udp(to, cliAddr, []byte("ok"))
	s.udp(cliAddr, to, []byte("lost"))
	for _, o := range []Options{{Application: Datagrams}, {Ports: []uint16{5683}}} {
		x := s.analyze(o).Exchanges
		if len(x) != 3 || x[0].Delay != 2*ms || x[0].In.Payload != 12 || x[1].Delay != 502*ms || x[1].Retransmissions != 1 ||
			x[1].NoDelay != "" || x[2].NoDelay == "" {
			t.Errorf("%+v: got %+v", o, x)
		}
	}
	// the same seen from the middle on: the server's port says who is who
	s.pkts = s.pkts[1:]
	if x := s.analyze(Options{Ports: []uint16{5683}}).Exchanges; len(x) != 2 || x[0].Client != cliAddr {
		t.Errorf("from the middle: got %+v", x)
	}
}

func TestJitter(t *testing.T) {
	s := newScript(t)
	for _, d := range []int{10, 30, 20} {
		s.udp(cliAddr, coapAddr, []byte("q"))
		s.at += time.Duration(d-1) * ms
		s.udp(coapAddr, cliAddr, []byte("r"))
	}
	c := s.analyze(Options{Application: Datagrams})
	got, err := c.Samples(Selection{Unit: PerExchange, Count: 3, Quantities: quantities(Jitter, JitterRFC3550),
		Origin: s.pkts[0].At})
	if err != nil {
		t.Fatal(err)
	}
	// |30-10| = 20, then |20-30| = 10; the estimator: 20/16 = 1.25, then 1.25 + (10-1.25)/16
	want := []float64{0.020, 0.00125, 0.010, 0.00125 + (0.010-0.00125)/16}
	if len(got) != 4 {
		t.Fatalf("got %d samples: %v", len(got), got)
	}
	for i, w := range want {
		if d := got[i].Value - w; d > 1e-12 || d < -1e-12 {
			t.Errorf("sample %d: got %v, want %v", i, got[i], w)
		}
	}
	if got[0].Seq != 2 || got[0].At != 11*ms {
		t.Errorf("got %+v, want Seq 2 at 11ms", got[0])
	}
	if _, err := c.Samples(Selection{Unit: PerExchange, Count: 2}); !errors.Is(err, ErrMismatch) {
		t.Errorf("3 calls where 2 were made: %v, want a mismatch", err)
	}
	if got, err := c.Samples(Selection{Unit: PerExchange, Skip: 2, Count: 1, Quantities: quantities(Delay)}); err != nil ||
		len(got) != 1 || got[0].Seq != 1 || got[0].Value != 0.020 {
		t.Errorf("after a warm-up of 2: got %v, %v", got, err)
	}
}
