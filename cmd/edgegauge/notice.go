package main

import (
	"encoding/json"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/web"
)

// A notice says what this process's lab does, for pages of other processes. The lab waits
// some µs for it, and never for whoever reads it.
type notice struct {
	*kernel.Notice
	mu  sync.Mutex
	now web.LabNotice
}

func newNotice() (*notice, error) {
	n, err := kernel.NewNotice(web.NoticeName)
	return &notice{Notice: n}, err
}

func (n *notice) tell(x lab.Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.Step = x.Step
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

func (n *notice) write() {
	if b, err := json.Marshal(n.now); err == nil {
		n.Write(b)
	}
}
