package population

import (
	"cmp"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/drive/tally"
)

// Merge is the account of all devices from those of the processes that were a part of them
// each, and were started together. Counts are sums; lateness is that of all requests; the
// devices that were down are added up in steps of 8.4 ms. The most of the connections open at
// once is the sum of the parts' most, and may have been less.
func Merge(parts []*Account) *Account {
	all := &Account{Recovery: -1, Streams: true, Shards: len(parts)}
	var late tally.Histogram
	var steps []Step
	for _, p := range parts {
		all.Counts.add(&p.Counts)
		all.Devices += p.Devices
		all.Elapsed = max(all.Elapsed, p.Elapsed)
		all.CPU += p.CPU
		all.RunQueueWait = known(all.RunQueueWait, p.RunQueueWait)
		all.Dropped = known(all.Dropped, p.Dropped)
		all.Observers += p.Observers
		all.Kept += p.Kept
		all.FirstFailure = cmp.Or(all.FirstFailure, p.FirstFailure)
		all.Sampled = max(all.Sampled, p.Sampled)
		all.Outage, all.Began = max(all.Outage, p.Outage), max(all.Began, p.Began)
		all.Calm = max(all.Calm, p.Calm)
		all.Stopped = max(all.Stopped, p.Stopped)
		if p.Late != nil {
			late.Merge(p.Late)
		}
		steps = append(steps, p.Steps...)
	}
	all.LatenessP50, all.LatenessP99, all.LatenessMax = late.Quantile(0.5), late.Quantile(0.99), late.Max()
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	back := newRecovery(all.Devices, Outage{At: all.Began, For: all.Outage - all.Began}, max(all.Calm, calm))
	for i := 0; i < len(steps); {
		sum := Step{At: steps[i].At}
		for ; i < len(steps) && steps[i].At == sum.At; i++ {
			sum.add(steps[i])
		}
		for k := range sum.Ended {
			back.request(k >= sum.Ended-sum.Failed, sum.At)
		}
		back.change(sum.By, sum.At)
	}
	back.look(int64(all.Stopped))
	all.DownMost = back.most
	if all.Outage > 0 && all.Withheld > 0 && back.at >= 0 {
		all.Recovery = time.Duration(back.at - back.end)
	}
	all.Began, all.Outage, all.Calm, all.Stopped = 0, 0, 0, 0
	return all
}

// known is a sum of which no part is -1, unknown.
func known[T ~int64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// Thin says whether a row of a part, which kept one of its own Sampled, stays among the rows
// of all, of which one of so many stays. Rows are told apart by their number in the part.
func (r *Account) Thin(sampled int, part, row uint64) bool {
	n := uint64(sampled / max(r.Sampled, 1))
	return n <= 1 || draw(part, 0, forSample+row)%n == 0
}
