package link

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink/nl"
)

const ms = time.Millisecond

func TestSerializationIsTrue(t *testing.T) {
	p := newPipe(Shape{Rate: 9600, Delay: 10 * ms, Queue: 10}, 1, 1)
	// 152 B at 9600 bit/s take 126.666 ms: the second waits for the first,
	// the third comes when the line is idle again.
	for i, tt := range []struct{ at, want time.Duration }{
		{0, 126666666 + 10*ms},
		{0, 2*126666666 + 10*ms},
		{1000 * ms, 1000*ms + 126666666 + 10*ms},
	} {
		if due, ok := p.take(tt.at, 152); !ok || due != tt.want {
			t.Errorf("packet %d: got %v %v, want %v", i, due, ok, tt.want)
		}
	}
	p = newPipe(Shape{Rate: 250_000, Overhead: 23}, 1, 1)
	if due, _ := p.take(0, 102); due != 4*ms { // (102+23)*8/250000
		t.Errorf("with overhead: got %v, want 4ms", due)
	}
	p = newPipe(Shape{Rate: 250_000, Overhead: 25, Frame: 100}, 1, 1)
	if due, _ := p.take(0, 200); due != 8*ms { // two frames: (200+2*25)*8/250000
		t.Errorf("in frames: got %v, want 8ms", due)
	}
}

func TestQueueDropsItsTail(t *testing.T) {
	p := newPipe(Shape{Rate: 8000, Queue: 3}, 1, 1) // 100 B take 100 ms
	var taken []bool
	for range 6 { // one under way, three wait, two are dropped
		_, ok := p.take(0, 100)
		taken = append(taken, ok)
	}
	if want := []bool{true, true, true, true, false, false}; !slices.Equal(taken, want) {
		t.Errorf("got %v, want %v", taken, want)
	}
	if _, ok := p.take(100*ms, 100); !ok { // the second has begun, so one place is free
		t.Error("no place although a transmission has begun")
	}
	if _, ok := p.take(100*ms, 100); ok {
		t.Error("a place although three wait")
	}
	if p.counts.Dropped != 3 || p.counts.In != 8 {
		t.Errorf("got %+v, want 3 of 8 dropped", p.counts)
	}
}

func TestQueueStaysTrueOverManyPackets(t *testing.T) {
	p := newPipe(Shape{Rate: 8_000_000, Queue: 50}, 1, 1) // 1 ms for 1000 B
	var starts []time.Duration
	rng := rand.New(rand.NewPCG(1, 2))
	now, free := time.Duration(0), time.Duration(0)
	for i := range 20_000 {
		now += time.Duration(rng.ExpFloat64() * float64(ms) * 0.9)
		waiting := 0
		for _, s := range starts[max(0, len(starts)-60):] {
			if s > now {
				waiting++
			}
		}
		_, ok := p.take(now, 1000)
		if want := waiting < 50 || free <= now; ok != want {
			t.Fatalf("packet %d with %d waiting: got %v", i, waiting, ok)
		}
		if ok {
			start := max(now, free)
			starts = append(starts, start)
			free = start + ms
		}
	}
	if p.counts.Dropped == 0 {
		t.Error("the queue never filled: the test tests nothing")
	}
}

func TestLossIsAsAsked(t *testing.T) {
	const n = 100_000
	p := newPipe(Shape{Loss: 0.05}, 7, 1)
	for range n {
		p.take(0, 100)
	}
	if share := float64(p.counts.Lost) / n; math.Abs(share-0.05) > 0.003 {
		t.Errorf("got %.4f lost, want 0.05 ± 0.003", share)
	}
	for _, l := range []float64{0, 1} {
		p := newPipe(Shape{Loss: l}, 7, 1)
		for range 100 {
			p.take(0, 100)
		}
		if got := float64(p.counts.Lost) / 100; got != l {
			t.Errorf("loss %g: got %g", l, got)
		}
	}
}

func TestLossComesInBursts(t *testing.T) {
	const n = 400_000
	for _, tt := range []struct{ loss, burst float64 }{{0.05, 4}, {0.2, 10}, {0.01, 1}} {
		p := newPipe(Shape{Loss: tt.loss, Burst: tt.burst}, 3, 1)
		lost, bursts, in := 0, 0, false
		for range n {
			_, ok := p.take(0, 100)
			if !ok {
				lost++
				if !in {
					bursts++
				}
			}
			in = !ok
		}
		if got := float64(lost) / n; math.Abs(got/tt.loss-1) > 0.08 {
			t.Errorf("loss %g in bursts of %g: got %.4f", tt.loss, tt.burst, got)
		}
		if got := float64(lost) / float64(bursts); math.Abs(got/tt.burst-1) > 0.05 {
			t.Errorf("bursts of %g: got a mean length of %.3f", tt.burst, got)
		}
	}
}

func TestLostPacketsTakeTheirTime(t *testing.T) {
	p := newPipe(Shape{Loss: 1, Rate: 8000}, 1, 1)
	p.take(0, 100)
	if p.txEnd != 100*ms {
		t.Errorf("transmitter free at %v, want 100ms", p.txEnd)
	}
}

func TestSpread(t *testing.T) {
	const n = 50_000
	p := newPipe(Shape{Delay: 40 * ms, DelayStdDev: 5 * ms, Reorder: true}, 5, 1)
	var sum, squares float64
	early := false
	last := time.Duration(0)
	for i := range n {
		at := time.Duration(i) * ms
		due, _ := p.take(at, 100)
		d := (due - at).Seconds()
		sum += d
		squares += d * d
		early = early || due < last
		last = due
	}
	mean := sum / n
	sd := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-0.040) > 0.0001 || math.Abs(sd-0.005) > 0.0001 {
		t.Errorf("got mean %.5f s, standard deviation %.5f s, want 0.040 and 0.005", mean, sd)
	}
	if !early {
		t.Error("no packet overtook another although that was asked for")
	}
	p = newPipe(Shape{Delay: ms, DelayStdDev: 5 * ms}, 5, 1)
	last = 0
	for i := range n {
		at := time.Duration(i) * 100 * time.Microsecond
		due, _ := p.take(at, 100)
		if due < at || due < last {
			t.Fatalf("packet %d: due at %v, came at %v, the one before is due at %v", i, due, at, last)
		}
		last = due
	}
}

func TestSameSeedSameFate(t *testing.T) {
	fate := func(seed, stream uint64) (f []time.Duration) {
		p := newPipe(Shape{Loss: 0.3, Delay: 10 * ms, DelayStdDev: ms}, seed, stream)
		for range 100 {
			due, _ := p.take(0, 100)
			f = append(f, due)
		}
		return f
	}
	if !slices.Equal(fate(1, 1), fate(1, 1)) {
		t.Error("the same seed gives another fate")
	}
	if slices.Equal(fate(1, 1), fate(2, 1)) || slices.Equal(fate(1, 1), fate(1, 2)) {
		t.Error("another seed, or the other direction, gives the same fate")
	}
}

func TestHeldLeaveInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	h := delayQueue{mtu: 8}
	type key struct{ due, seq time.Duration }
	var want []key
	for i := range 2000 {
		due := time.Duration(rng.IntN(300))
		want = append(want, key{due, time.Duration(i)})
		b := h.buffer()
		b[0], b[1] = byte(i), byte(i>>8)
		h.put(due, b[:2])
		if i%3 == 0 { // something leaves in between
			due, b := h.take()
			slices.SortFunc(want, func(a, b key) int { return int(a.due-b.due)*4000 + int(a.seq-b.seq) })
			if got := (key{due, time.Duration(int(b[0]) | int(b[1])<<8)}); got != want[0] {
				t.Fatalf("got %v, want %v", got, want[0])
			}
			want = want[1:]
			h.back(b)
		}
	}
	slices.SortFunc(want, func(a, b key) int { return int(a.due-b.due)*4000 + int(a.seq-b.seq) })
	for _, w := range want {
		due, b := h.take()
		if got := (key{due, time.Duration(int(b[0]) | int(b[1])<<8)}); got != w {
			t.Fatalf("got %v, want %v", got, w)
		}
	}
	if _, ok := h.next(); ok {
		t.Error("something is left")
	}
}

func TestLatenessQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var l lateness
	var all []time.Duration
	for range 10_001 {
		d := time.Duration(math.Exp(rng.NormFloat64()*3 + 10))
		l.add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.5, 0.99, 0.999, 1} {
		want := all[int(math.Ceil(q*10_001))-1]
		if got := l.quantile(q); got < want || float64(got) > 1.033*float64(want)+1 {
			t.Errorf("quantile %g: got %v, want %v to 3.2 %% above", q, got, want)
		}
	}
	if l.max != all[10_000] {
		t.Errorf("got max %v, want %v", l.max, all[10_000])
	}
	var few lateness
	few.add(3 * ms)
	few.add(7 * ms)
	if got := few.quantile(0.99); got != 7*ms {
		t.Errorf("p99 of two: got %v, want the maximum", got)
	}
	few.add(-1) // a clock that is read before the due instant
	if got := few.quantile(0.01); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	good := Link{Name: "x", Up: Shape{Delay: 20 * ms, DelayStdDev: ms, Loss: 0.1, Burst: 3, Rate: 9600, Queue: 5}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		l    Link
		want string
	}{
		{Link{Up: Shape{Loss: 5}}, "not a probability"},
		{Link{Down: Shape{DelayStdDev: ms}}, "set a delay"},
		{Link{Up: Shape{Queue: 5}}, "set a rate"},
		{Link{Up: Shape{Burst: 3}}, "need a loss"},
		{Link{Up: Shape{Burst: 3, Loss: 0.9}}, "maximum is 0.75"},
		{Link{Up: Shape{Burst: 1, Loss: 0.6}}, "maximum is 0.5"},
		{Link{Up: Shape{Burst: 0.5, Loss: 0.1}}, "shorter than one"},
		{Link{MTU: 576}, "1280"},
		{Link{Shaper: "tbf"}, "unknown shaper"},
		{Link{Up: Shape{Delay: -1}}, "must not be negative"},
		{Link{Shaper: Netem, Up: Shape{Delay: 40 * ms, DelayStdDev: 10 * ms, Reorder: true}}, "not normal"},
		{Link{Shaper: Netem, Up: Shape{Delay: 40 * ms, Loss: 0.1, Burst: 3}}, "neither loss in bursts"},
		{Link{Shaper: Netem, Up: Shape{Delay: 275 * time.Second}}, "write up to 4m30s"},
		{Link{Shaper: Netem, Up: Shape{Delay: 500}}, "counts microseconds"},
	} {
		tt.l.Name = "x"
		if err := tt.l.Check(); err == nil || !contains(err.Error(), tt.want) || !contains(err.Error(), "link x") {
			t.Errorf("%+v: got %v, want %q", tt.l, err, tt.want)
		}
	}
}

func TestFaults(t *testing.T) {
	l := Link{Up: Shape{Delay: 20 * ms}, Down: Shape{Rate: 9600}}
	good := Report{Up: DirectionStats{Counts: Counts{In: 4, Out: 1, Lost: 1, Dropped: 1, Queued: 1}, Late: Late{P99: ms}},
		Down: DirectionStats{Late: Late{P99: 800 * time.Microsecond}}}
	if f := l.Fault(good); f != "" {
		t.Error(f)
	}
	for _, tt := range []struct {
		spoil func(*Report)
		want  string
	}{
		{func(r *Report) { r.Up.Out++ }, "4 packets entered"},
		{func(r *Report) { r.Up.Late.P99++ }, "limit is 1ms"},                          // 5 % of 20 ms
		{func(r *Report) { r.Down.Late.P99 = 834 * time.Microsecond }, "the limit is"}, // 5 % of 20 B at 9600 bit/s
		{func(r *Report) { r.Down.Unread = 1 }, "before the link could read"},
		{func(r *Report) { r.Down.Unwritten = 1 }, "refused"},
	} {
		r := good
		tt.spoil(&r)
		if f := l.Fault(r); !contains(f, tt.want) {
			t.Errorf("got %q, want %q", f, tt.want)
		}
	}
	// netem counts lost packets as dropped ones: only without a loss, and without a rate, none may be
	dropped := Report{Up: DirectionStats{Counts: Counts{In: 2, Out: 1, Dropped: 1}}}
	for _, up := range []Shape{{Delay: 20 * ms}, {Delay: 20 * ms, Loss: 0.1}, {Delay: 20 * ms, Rate: 9600}} {
		f := Link{Shaper: Netem, Up: up}.Fault(dropped)
		if want := up.Loss == 0 && up.Rate == 0; want != contains(f, "the kernel dropped 1 packets") {
			t.Errorf("%v: got %q", up, f)
		}
	}
}

// What netem is asked: the delay in ticks of 64 ns, no queue without a rate, and a rate of IP packets.
func TestWhatNetemIsAsked(t *testing.T) {
	for _, tt := range []struct {
		s         Shape
		ticks     uint32
		leastHeld uint32
		rate      uint32 // B/s
	}{
		{Shape{Delay: 100 * ms}, 1_562_500, 1_000_000, 0},
		{Shape{Delay: 270 * time.Second}, 4_218_750_000, 1_000_000, 0},
		{Shape{Delay: ms, Rate: 9600, Queue: 7}, 15_625, 7, 1200},
		{Shape{Rate: 80_000_000_000}, 0, DefaultQueue, math.MaxUint32},
	} {
		attrs, err := tt.s.netem()
		if err != nil {
			t.Fatal(err)
		}
		b := netemOptions(attrs).Serialize()[4:] // behind the length and the type
		q := nl.DeserializeTcNetemQopt(b)
		if q.Latency != tt.ticks || q.Jitter != 0 || q.Limit < tt.leastHeld || tt.s.Rate > 0 && q.Limit != tt.leastHeld {
			t.Errorf("%v: got %+v", tt.s, *q)
		}
		more, err := nl.ParseRouteAttr(b[nl.SizeofTcNetemQopt:])
		if err != nil {
			t.Fatal(err)
		}
		var rate nl.TcNetemRate
		var wide uint64
		for _, a := range more {
			switch a.Attr.Type {
			case nl.TCA_NETEM_RATE:
				rate = *nl.DeserializeTcNetemRate(a.Value)
			case nl.TCA_NETEM_RATE64:
				wide = nl.NativeEndian().Uint64(a.Value)
			}
		}
		want := nl.TcNetemRate{Rate: tt.rate}
		if tt.rate > 0 {
			want.PacketOverhead = -14
		}
		if rate != want || (wide > 0) != (tt.rate == math.MaxUint32) || wide > 0 && wide != uint64(tt.s.Rate)/8 {
			t.Errorf("%v: got %+v, %d", tt.s, rate, wide)
		}
	}
}
