package instrument

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// The check value of CRC-16/CCITT-FALSE in the catalogue of parametrised CRCs.
func TestCRC16(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x29B1 {
		t.Errorf("got %#x, want 0x29b1", got)
	}
}

func dataFrame(seq uint16, ticks uint32, pairs uint16, v, i uint32) []byte {
	p := binary.LittleEndian.AppendUint16(nil, seq)
	p = binary.LittleEndian.AppendUint32(p, ticks)
	p = binary.LittleEndian.AppendUint16(p, pairs)
	p = append(p, byte(v), byte(v>>8), byte(v>>16), byte(i), byte(i>>8), byte(i>>16))
	p = binary.LittleEndian.AppendUint32(p, uint32(uint64(v)*uint64(i)/uint64(max(pairs, 1))))
	return encodeFrame(frameData, append(p, 0, 0))
}

// stream is n periods in order.
func stream(n int) (b []byte) {
	for k := range n {
		b = append(b, dataFrame(uint16(k), uint32(k+1)*11765, 28, 28*511, 28*358)...)
	}
	return b
}

func take(t *testing.T, b []byte) (*record, *decoder) {
	t.Helper()
	r, d := newRecord(simInfo), &decoder{}
	d.write(b, func(f frame) {
		if err := r.take(f, 0); err != nil {
			t.Fatal(err)
		}
	})
	return r, d
}

func TestPowerIsTheMeanOfProducts(t *testing.T) {
	// Half the period 5 V at 0 A, half 4 V at 1 A: 2 W, where the product of means is 2.25 W.
	c := Calibration{VoltsPerStep: 0.01, AmpsPerStep: 0.001, VoltsOffset: -0.005, AmpsOffset: -0.0005}
	volts, amps, watts := c.apply(data{pairs: 2, v: 500 + 400, i: 0 + 1000, vi: 400 * 1000})
	if math.Abs(volts-4.5) > 1e-9 || math.Abs(amps-0.5) > 1e-9 || math.Abs(watts-2) > 1e-9 {
		t.Errorf("%g V, %g A, %g W; want 4.5, 0.5, 2", volts, amps, watts)
	}
}

func TestSupplyThatSaggedIsCorrected(t *testing.T) {
	i := simInfo
	i.cal.Bandgap, i.bandgap = 14400, 15158 // AVcc 5 V when calibrated, 4.75 V now
	if got, want := i.now().VoltsPerStep/simCal.VoltsPerStep, 0.95; math.Abs(got-want) > 1e-3 {
		t.Errorf("scaled by %g, want %g", got, want)
	}
}

// Damage costs the frame it hits and is counted; those around it are kept.
func TestDamageIsCounted(t *testing.T) {
	clean := stream(100)
	const size = 25
	cut := func(from, to int) []byte { return append(bytes.Clone(clean[:from]), clean[to:]...) }
	put := func(at int, b ...byte) []byte {
		return append(append(bytes.Clone(clean[:at]), b...), clean[at:]...)
	}
	flipped := bytes.Clone(clean)
	flipped[50*size+9] ^= 4
	length := bytes.Clone(clean)
	length[50*size+2] = 255
	for _, c := range []struct {
		what           string
		b              []byte
		readings, lost uint64
		crc            bool
		garbageAtLeast uint64
	}{
		{"nothing wrong", clean, 100, 0, false, 0},
		{"a bit flipped", flipped, 99, 1, true, size},
		{"a length of 255", length, 99, 1, false, size},
		{"a byte lost", cut(50*size+7, 50*size+8), 99, 1, true, size - 1},
		{"40 bytes lost: parts of two or three frames", cut(50*size+7, 50*size+47), 98, 2, true, 1},
		{"begun in mid-frame", clean[10:], 99, 1, false, 15},
		{"garbage between frames", put(50*size, 1, 2, 3), 100, 0, false, 3},
		{"a false start between frames", put(50*size, frameSync, 'D', 20), 100, 0, true, 3},
		{"a start byte alone", put(50*size, frameSync), 100, 0, false, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, d := take(t, append(c.b, 0, 0)) // what follows ends a false start
			if r.q.Readings != c.readings || r.q.Missing != c.lost || (d.badCRC > 0) != c.crc || d.garbage < c.garbageAtLeast {
				t.Errorf("%d readings, %d missing, %d bad checksums, %d garbage; want %d, %d, bad %v, ≥%d",
					r.q.Readings, r.q.Missing, d.badCRC, d.garbage, c.readings, c.lost, c.crc, c.garbageAtLeast)
			}
		})
	}
}

func TestBytesComeInAnyPieces(t *testing.T) {
	clean := stream(60)
	for size := 1; size < 60; size++ {
		var d decoder
		n := 0
		for at := 0; at < len(clean); at += size {
			d.write(clean[at:min(at+size, len(clean))], func(frame) { n++ })
		}
		if n != 60 || d.garbage != 0 {
			t.Fatalf("in pieces of %d: %d frames, %d garbage", size, n, d.garbage)
		}
	}
}

func TestTicksWrap(t *testing.T) {
	var u unwrap
	begin := u.extend(0xFFFFFF00)
	if got := u.extend(0x100) - begin; got != 0x200 {
		t.Errorf("over the wrap: %#x ticks, want 0x200", got)
	}
	if got := u.extend(0xFFFFFFF0) - begin; got != 0xF0 {
		t.Errorf("an older stamp after the wrap: %#x, want 0xf0", got)
	}
	// A day of frames: 40 wraps.
	r := newRecord(simInfo)
	var tick uint64 = 1 << 31
	n := 170 * 86400 / 100
	for k := range n {
		d := data{seq: uint16(k * 100), t: uint32(tick), pairs: 28, v: 28 * 511, i: 28 * 358, vi: 28 * 511 * 358}
		r.takeData(d)
		tick += 100 * 11765
	}
	if got, want := r.periods[n-1].end-r.periods[0].end, time.Duration(n-1)*100*5882500; got != want || r.q.Steps > 0 {
		t.Errorf("a day of readings spans %v, want %v; %d steps", got, want, r.q.Steps)
	}
}

func TestImpossibleReadingsAndLeapsAreCounted(t *testing.T) {
	good := func(k int) []byte { return dataFrame(uint16(k), uint32(k+1)*11765, 28, 28*511, 28*358) }
	for _, c := range []struct {
		what  string
		frame []byte
		wrong func(MeterStats) uint64
	}{
		{"no conversion at all", dataFrame(10, 11*11765, 0, 0, 0), func(q MeterStats) uint64 { return q.Impossible }},
		{"more than 1023 a conversion", dataFrame(10, 11*11765, 28, 28*511, 28*1024),
			func(q MeterStats) uint64 { return q.Impossible }},
		{"the clock back by a period", dataFrame(10, 9*11765, 28, 28*511, 28*358),
			func(q MeterStats) uint64 { return q.Steps }},
		{"the clock ahead by a second", dataFrame(10, 11*11765+2e6, 28, 28*511, 28*358),
			func(q MeterStats) uint64 { return q.Steps }},
		{"a number twice", dataFrame(9, 10*11765, 28, 28*511, 28*358), func(q MeterStats) uint64 { return q.Steps }},
	} {
		t.Run(c.what, func(t *testing.T) {
			var b []byte
			for k := range 10 {
				b = append(b, good(k)...)
			}
			b = append(b, c.frame...)
			for k := 11; k < 20; k++ {
				b = append(b, good(k)...)
			}
			r, _ := take(t, b)
			if c.wrong(r.q) == 0 {
				t.Errorf("passed as sound: %+v", r.q)
			}
		})
	}
	// A calibration gone mad: 933 kA.
	mad := simInfo
	mad.cal.AmpsPerStep = 2606
	r, d := newRecord(mad), decoder{}
	d.write(stream(5), func(f frame) { r.take(f, 0) })
	if r.q.Impossible != 5 || r.q.Readings != 0 || r.q.Err() == nil {
		t.Errorf("933 kA passed: %+v", r.q)
	}
}

func FuzzMeterFrames(f *testing.F) {
	f.Add(stream(3), 7)
	f.Add(encodeFrame(frameInfo, make([]byte, 42)), 1)
	f.Add(append([]byte{frameSync, 'E', 11}, encodeFrame(frameEcho, make([]byte, 11))...), 2)
	f.Add(encodeFrame(frameEdge, []byte{1, 0, 0, 0, 128, 3}), 3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		read := func(size int) (frames [][]byte, d decoder) {
			r := newRecord(simInfo)
			r.sent[0] = 0
			for at := 0; at < len(b); at += size {
				d.write(b[at:min(at+size, len(b))], func(f frame) {
					frames = append(frames, encodeFrame(f.kind, f.payload))
					r.take(f, time.Second)
				})
			}
			r.emit(Fit{slope: 1}, func(s measure.Sample) {
				if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
					t.Fatalf("emitted %v", s)
				}
			})
			return frames, d
		}
		whole, d := read(len(b) + 1)
		pieces, d2 := read(max(1, cut&31))
		if len(whole) != len(pieces) {
			t.Fatalf("%d frames whole, %d in pieces", len(whole), len(pieces))
		}
		total := uint64(len(d.buf)) + d.garbage
		for i, fr := range whole {
			if !bytes.Equal(fr, pieces[i]) || !bytes.Contains(b, fr) {
				t.Fatalf("frame %d: %x whole, %x in pieces", i, fr, pieces[i])
			}
			total += uint64(len(fr))
		}
		if total != uint64(len(b)) || d.badCRC != d2.badCRC {
			t.Fatalf("%d of %d bytes accounted for", total, len(b))
		}
	})
}
