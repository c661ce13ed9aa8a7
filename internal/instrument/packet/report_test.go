package packet

import (
	"encoding/json"
	"flag"
	"math"
	"net/netip"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata")

// reported is a capture with something of everything a report shows.
func reported(t *testing.T) Capture {
	s := newScript(t)
	for i := range uint16(3) {
		c, v := s.open(netip.AddrPortFrom(cliAddr.Addr(), 40000+i), srvAddr)
		call(c, v)
		s.at += 7 * ms
		switch i {
		case 0:
			call(c, v)
			hangUp(c, v)
		case 1:
			c.send(rstFlag|ackFlag, "")
		} // the third is not closed
	}
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.at += 3 * ms
	s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
	s.coap(cliAddr, coapAddr, con, 1, 8, "tl")
	return s.analyze(Options{})
}

// TestText compares with testdata/report.txt, which was checked by hand.
func TestText(t *testing.T) {
	var b strings.Builder
	if err := reported(t).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/report.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var got struct {
		Format      int
		Packets     int
		Problems    []string
		Connections []struct {
			Seq      int
			Client   string
			Delay    *int64 `json:"delay_ns"`
			Refused  map[string]string
			Requests []struct {
				Delay *int64 `json:"delay_ns"`
			}
		}
		Exchanges []struct {
			Delay   *int64 `json:"delay_ns"`
			Token   string
			Refused map[string]string
		}
		Summaries map[string][]struct {
			Name string
			N    int
			Mean float64
		}
	}
	if err := json.Unmarshal([]byte(jsonOf(t, reported(t))), &got); err != nil {
		t.Fatal(err)
	}
	c, x := got.Connections, got.Exchanges
	if got.Format != 1 || got.Packets != 28 || got.Problems == nil || len(c) != 3 || len(x) != 2 {
		t.Fatalf("got %+v", got)
	}
	if c[0].Client != "10.0.0.1:40000" || *c[0].Delay != 18e6 || len(c[0].Requests) != 2 || c[2].Delay != nil ||
		c[2].Refused["delay"] == "" {
		t.Errorf("connections: got %+v", c)
	}
	if *x[0].Delay != 4e6 || x[0].Token != "746b" || x[1].Delay != nil || x[1].Refused["delay"] == "" {
		t.Errorf("exchanges: got %+v", x)
	}
	s := got.Summaries["connection"][0]
	if s.Name != "delay" || s.N != 2 || math.Abs(s.Mean-0.0155) > 1e-12 {
		t.Errorf("summary: got %+v", s)
	}
	// of nothing, there is an object all the same
	if err := json.Unmarshal([]byte(jsonOf(t, Capture{})), &got); err != nil || got.Connections == nil {
		t.Errorf("an empty capture: %v, %+v", err, got)
	}
}
