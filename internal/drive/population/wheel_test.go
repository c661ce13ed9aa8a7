package population

import (
	"container/heap"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

func TestDeviceIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(device{}); n != 40 {
		t.Errorf("a device is %d B, want 40", n)
	}
	const n = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := sensors(n, time.Hour, Random)
	c := newCore(&s)
	c.begin(Load{For: time.Minute}, 1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := float64(after.HeapAlloc-before.HeapAlloc) / n; got > 40.1 {
		t.Errorf("%g B a device, want 40", got)
	}
	runtime.KeepAlive(c)
}

// timers is the oracle: a heap of instants.
type timers []turn

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(x any)        { *h = append(*h, x.(turn)) }
func (h *timers) Pop() any          { x := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return x }

// The wheel gives the same devices at the same time as a heap, whatever is added and
// removed meanwhile, over all of its levels: none too early, none a slot too late.
func TestWheelAgreesWithAHeap(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		const n = 200
		devices := make([]device, n)
		var w wheel
		w.reset(devices)
		var oracle timers
		wanted := make([]int64, n) // the instant a device waits for; -1: none
		reach := int64(1) << (21 + random.IntN(26))
		add := func(i int32, now int64) {
			devices[i].at = now + random.Int64N(reach)
			if random.IntN(8) == 0 {
				devices[i].at = now // at once
			}
			w.add(i)
			wanted[i] = devices[i].at
			heap.Push(&oracle, turn{devices[i].at, i})
		}
		for i := range int32(n) {
			add(i, 0)
		}
		taken := 0
		for now := int64(0); taken < 3000; now += random.Int64N(reach/8) + 1 {
			due := map[int32]bool{}
			for oracle.Len() > 0 && oracle[0].at>>tickBits<<tickBits <= now {
				x := heap.Pop(&oracle).(turn)
				if wanted[x.device] == x.at {
					due[x.device] = true
				}
			}
			var list []turn
			for {
				before := len(list)
				var ok bool
				if list, ok = w.take(now, list); !ok {
					break
				}
				for _, x := range list[before:] {
					if x.at>>tickBits != list[before].at>>tickBits && x.at>>tickBits > int64(w.tick) {
						t.Fatalf("seed %d: one slot held %d and %d", seed, x.at, list[before].at)
					}
				}
			}
			if len(list) != len(due) {
				t.Fatalf("seed %d, at %d: the wheel gave %d devices, the heap %d", seed, now, len(list), len(due))
			}
			for _, x := range list {
				if !due[x.device] {
					t.Fatalf("seed %d, at %d: device %d is due at %d", seed, now, x.device, x.at)
				}
				wanted[x.device] = -1
				devices[x.device].prev = away
			}
			if at, ok := w.next(); ok && oracle.Len() > 0 {
				for oracle.Len() > 0 && wanted[oracle[0].device] != oracle[0].at {
					heap.Pop(&oracle)
				}
				if oracle.Len() > 0 && at > oracle[0].at {
					t.Fatalf("seed %d: next says %d, but device %d is due at %d", seed, at, oracle[0].device, oracle[0].at)
				}
			}
			taken += len(list)
			for _, x := range list {
				add(x.device, now)
			}
			for range 20 { // another instant for some
				i := int32(random.IntN(n))
				w.remove(i)
				add(i, now)
			}
		}
	}
}
