package packet

import (
	"testing"
	"time"
)

// delays makes a capture of exchanges that take so long, and carry 80 B each.
func delays(each ...time.Duration) (c Capture) {
	for i, d := range each {
		c.Exchanges = append(c.Exchanges, UDPCall{Call: Call{Start: time.Duration(i) * time.Second, Delay: d,
			Out: Traffic{Packets: 1, Bytes: 50}, In: Traffic{Packets: 1, Bytes: 30}}})
	}
	return c
}

// Jitter is of successive calls: one that failed has none, nor has the call after it.
func TestJitterAcrossFailures(t *testing.T) {
	c := delays(3*ms, 100*ms, 100*ms, 102*ms, 7*ms, 110*ms, 111*ms) // the first is of the warm-up
	for _, tt := range []struct {
		what   string
		failed map[uint64]bool
		want   map[uint64]float64 // s
	}{
		{"none", nil, map[uint64]float64{2: 0, 3: 0.002, 4: 0.095, 5: 0.103, 6: 0.001}},
		{"the first", map[uint64]bool{1: true}, map[uint64]float64{3: 0.002, 4: 0.095, 5: 0.103, 6: 0.001}},
		{"one in the middle", map[uint64]bool{4: true}, map[uint64]float64{2: 0, 3: 0.002, 6: 0.001}},
		{"two in a row", map[uint64]bool{3: true, 4: true}, map[uint64]float64{2: 0, 6: 0.001}},
		{"all but the last", map[uint64]bool{1: true, 2: true, 3: true, 4: true, 5: true}, nil},
	} {
		got, err := c.Samples(Selection{Unit: PerExchange, Skip: 1, Count: 6, Failed: tt.failed,
			Quantities: quantities(Jitter, JitterRFC3550)})
		if err != nil {
			t.Fatal(tt.what, err)
		}
		if len(got) != 2*len(tt.want) {
			t.Errorf("%s: got %d samples, want %d: %v", tt.what, len(got), 2*len(tt.want), got)
		}
		rfc := 0.0
		for _, s := range got {
			want, ok := tt.want[s.Seq]
			if s.Quantity == JitterRFC3550 {
				rfc += (want - rfc) / 16
				want = rfc
			}
			if d := s.Value - want; !ok || d > 1e-12 || d < -1e-12 {
				t.Errorf("%s: %s of call %d: got %g, want %g", tt.what, s.Quantity.Name, s.Seq, s.Value, want)
			}
		}
	}
}
