package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/web"
)

// A notice says what this process's lab does, for pages of other processes. The lab waits
// some µs for it, and never for whoever reads it.
type notice struct {
	*kernel.Notice
	mu    sync.Mutex
	now   web.LabNotice
	ended chan struct{}
}

func newNotice() (*notice, error) {
	k, err := kernel.NewNotice(web.NoticeName)
	if err != nil {
		return nil, err
	}
	n := &notice{Notice: k, ended: make(chan struct{})}
	n.beat()
	go func() {
		beats := time.NewTicker(web.BeatEvery)
		defer beats.Stop()
		for {
			select {
			case <-beats.C:
				n.beat()
			case <-n.ended:
				return
			}
		}
	}()
	return n, nil
}

// Close ends it.
func (n *notice) Close() error {
	close(n.ended)
	return n.Notice.Close()
}

// beat says that this process runs.
func (n *notice) beat() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.Beat = time.Now().UnixMilli()
	n.write()
}

func (n *notice) tell(x lab.Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.Step, n.now.Devices = x.Step, nil
	n.write()
}

func (n *notice) watch(side measure.Side, watts float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.now.Watts == nil {
		n.now.Watts = map[measure.Side]float64{}
	}
	n.now.Watts[side] = watts
	n.now.At = time.Now().UnixMilli()
	n.write()
}

func (n *notice) devices(s population.State) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.Devices = &s
	n.write()
}

// mostShown is how many benches a notice has room for.
const mostShown = 300

// show says how the benches are; of too many, first those that something is wrong with.
func (n *notice) show(all []fleet.BenchState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortStableFunc(all, func(a, b fleet.BenchState) int { return cmp.Compare(well(a), well(b)) })
	shown := all[:min(len(all), mostShown)]
	for i := range shown {
		if w := shown[i].Why; len(w) > 100 {
			shown[i].Why = strings.ToValidUTF8(w[:100], "") + " …"
		}
	}
	n.now.Benches, n.now.MoreBenches = shown, len(all)-len(shown)
	n.write()
}

// well is 0 for a bench that something is wrong with.
func well(b fleet.BenchState) int {
	if b.Standing == fleet.Up {
		return 1
	}
	return 0
}

func (n *notice) write() {
	if b, err := json.Marshal(n.now); err == nil {
		n.Write(b)
	}
}
