package population

import (
	"math/rand/v2"
	"testing"
	"time"
)

// An event is what happens at an instant: requests end, then devices go down or come up.
type event struct {
	at               int // ms
	answered, failed int
	by               int
}

func (r *recovery) have(events []event) {
	for _, e := range events {
		now := int64(e.at) * 1e6
		for k := range e.answered + e.failed {
			r.request(k >= e.answered, now)
		}
		r.change(e.by, now)
	}
}

// steady are requests that end every 100 ms, of which so many fail.
func steady(from, to, answered, failed int) (all []event) {
	for at := from; at < to; at += 100 {
		all = append(all, event{at: at, answered: answered, failed: failed})
	}
	return all
}

func joined(parts ...[]event) (all []event) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// An outage from 10 to 20 s: when have the devices recovered?
func TestWhenDevicesHaveRecovered(t *testing.T) {
	const s, never = time.Second, -time.Second
	one := func(at, answered, failed, by int) []event { return []event{{at, answered, failed, by}} }
	down := one(15_000, 0, 500, 500)
	for _, tt := range []struct {
		name    string
		devices int
		timeout time.Duration
		events  []event
		want    time.Duration // after the outage
	}{
		{"when they are up", 1000, 3 * s, joined(down, one(26_000, 490, 0, -490), steady(27_000, 60_000, 10, 0)), 6 * s},
		{"nobody was down", 1000, 3 * s, steady(20_000, 60_000, 10, 0), 0},
		{"they stay down", 1000, 3 * s, joined(down, steady(20_000, 60_000, 10, 0)), never},
		{"up for less than 10 s", 1000, 3 * s, joined(down, one(51_000, 490, 0, -490), steady(52_000, 60_000, 10, 0)), never},
		// They try again at once, so few are down, and one request of ten fails up to 33 s. Of the 990 in 10 s, 9 may.
		{"few are down, but their requests fail", 1000, 3 * s, joined(steady(20_000, 33_050, 9, 1),
			steady(33_100, 60_000, 10, 0)), 12_100 * time.Millisecond},
		{"one request in 100 fails, before and after", 1000, 3 * s, joined(steady(0, 10_000, 99, 1), down,
			one(26_000, 490, 0, -490), steady(27_000, 60_000, 99, 1)), 6 * s},
		{"three in 100 fail, and one did", 1000, 3 * s, joined(steady(0, 10_000, 99, 1), down,
			one(26_000, 490, 0, -490), steady(27_000, 60_000, 97, 3)), never},
		{"as many are down as were", 1000, 3 * s, joined(one(0, 0, 30, 30), down, one(26_000, 490, 0, -490),
			steady(27_000, 60_000, 10, 0)), 6 * s},
		// What was sent at 17 s and waits for 15 s says at 32 s that it was lost.
		{"requests wait for longer than 10 s", 1000, 15 * s, joined(steady(20_000, 32_000, 10, 0),
			one(32_000, 0, 100, 100), one(35_000, 100, 0, -100), steady(36_000, 60_000, 10, 0)), 15 * s},
		{"too few requests to say so", 1000, 3 * s, joined(one(25_000, 20, 0, 0), steady(25_100, 32_000, 1, 0)), never},
		{"too few in 10 s", 1000, 3 * s, joined(down, one(25_000, 0, 0, -490), steady(25_500, 60_000, 1, 0)), 5 * s},
		{"of 20 devices as many requests", 20, 3 * s, joined(one(15_000, 0, 20, 20), one(22_000, 20, 0, -20)), 2 * s},
	} {
		r := newRecovery(tt.devices, Outage{At: 10 * s, For: 10 * s, Share: 1}, Calm(tt.timeout))
		r.have(tt.events)
		r.look(int64(60 * s))
		got := never
		if r.at >= 0 {
			got = time.Duration(r.at - r.end)
		}
		if got != tt.want {
			t.Errorf("%s: recovered after %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Parts that tell of steps know as one does when all have recovered, but for the length of a step; and however much
// happens, what they tell fits into one line.
func TestStepsSayWhenDevicesHaveRecovered(t *testing.T) {
	const devices, parts = 1000, 4
	o := Outage{At: 10 * time.Second, For: 10 * time.Second, Share: 1}
	for _, length := range []float64{60, 1200} {
		r := rand.New(rand.NewPCG(1, uint64(length)))
		one := newRecovery(devices, o, calm)
		var shards [parts]recovery
		for i := range shards {
			shards[i] = newRecovery(devices/parts, o, calm)
			shards[i].keep = true
		}
		var down [devices]bool
		all := 0
		for at := 0.0; at < length; at += r.ExpFloat64() / 500 {
			i, now := r.IntN(devices), int64(at*1e9)
			failed := at >= 10 && at < 24 || (at < 10 || at > 40) && r.IntN(1000) == 0
			for _, x := range []*recovery{&one, &shards[i%parts]} {
				x.request(failed, now)
				switch {
				case failed && !down[i]:
					x.change(1, now)
				case !failed && down[i]:
					x.change(-1, now)
				}
			}
			down[i] = failed
			all++
		}
		one.look(int64(length * 1e9))
		var told []*Account
		ended, wider := 0, 0
		for _, x := range shards {
			told = append(told, &Account{Counts: Counts{Withheld: 1}, Devices: devices / parts, Steps: x.steps,
				Began: o.At, Outage: o.At + o.For, Calm: calm, Stopped: time.Duration(length * 1e9)})
			for _, s := range x.steps {
				ended += s.Ended
			}
			wider = max(wider, x.wider)
			if len(x.steps) > mostSteps {
				t.Errorf("%g s: %d steps, want at most %d", length, len(x.steps), mostSteps)
			}
		}
		if length > 1000 != (wider > 0) || ended != all {
			t.Errorf("%g s: steps %d times as wide, with %d of %d requests", length, 1<<wider, ended, all)
		}
		got, want := Merge(told), time.Duration(one.at-one.end)
		if d := (got.Recovery - want).Abs(); one.at < 0 || d > 1<<quietBits+1<<(stepBits+wider) {
			t.Errorf("%g s: recovered after %v, want %v", length, got.Recovery, want)
		}
		if got.DownMost > devices || got.DownMost < one.most*99/100 {
			t.Errorf("%g s: %d were down, of one %d", length, got.DownMost, one.most)
		}
	}
}
