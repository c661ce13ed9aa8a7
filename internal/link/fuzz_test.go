package link

import (
	"testing"
	"time"
)

// A profile that is taken is one that a link can be made of: each packet is lost or due at an instant, none before it
// was sent, and none years later.
func FuzzProfile(f *testing.F) {
	for _, shape := range []string{"delay: {value: 40ms, source: s}", "rate: {value: 60kbit, source: s}",
		"loss: {value: nan, source: s}", "loss: {value: 5%, source: s}\n  loss_burst: {value: 3, source: s}",
		"rate: {value: 1bit, source: s}\n  overhead: {value: 9223372036854775807, source: s}",
		"rate: {value: 1e30Gbit, source: s}", "delay: {value: 2000000h, source: s}\n  delay_stddev: {value: 2000000h, source: s}",
		"rate: {value: 0.5bit, source: s}\n  frame: {value: 1, source: s}", "loss: {value: 1, source: s}\n  loss_burst: {value: inf, source: s}"} {
		f.Add([]byte("title: t\nboth:\n  " + shape + "\n"))
	}
	f.Add([]byte("title: t\nmtu: {value: 1280, source: s}\nshaper: netem\nup:\n  delay: {value: 1ms, source: s}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := readProfile("x", text)
		if err != nil {
			return
		}
		for _, s := range []Shape{l.Up, l.Down} {
			p := newPipe(s, 1, 2)
			for i := range 4 {
				now := time.Duration(i) * time.Second
				due, ok := p.take(now, l.LargestPacket())
				if ok && (due < now || due > 10*365*24*time.Hour) {
					t.Fatalf("%s: a packet sent at %v is due at %v", text, now, due)
				}
			}
			if c := p.counts; c.In != 4 || c.Lost+c.Dropped > 4 {
				t.Fatalf("%s: %+v", text, c)
			}
		}
	})
}
