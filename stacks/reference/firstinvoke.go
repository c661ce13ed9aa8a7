package reference

import (
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/stack"
)

// A firstInvoke times a client's very first request. With more than one under
// way at once there is none.
type firstInvoke struct {
	began, decoded, took int64
	over                 bool
}

// begin is called before a request is serialized.
func (f *firstInvoke) begin() {
	f.over = f.over || f.began != 0
	if f.began == 0 {
		f.began = now()
	}
}

// answered is called after an answer was deserialized: the total ends there.
func (f *firstInvoke) answered() {
	if !f.over {
		f.decoded = now()
	}
}

// end is called after it was checked as well.
func (f *firstInvoke) end(err error) {
	if !f.over && err == nil {
		f.took = f.decoded - f.began
	}
	f.over = true
}

// phases takes what the first run shows, once.
func (f *firstInvoke) phases() stack.Phases {
	p := stack.Phases{FirstInvoke: time.Duration(f.took)}
	f.took = 0
	return p
}

// none says that several requests begin at once. Without it, one that was over early would be taken for the first.
func (f *firstInvoke) none() {
	f.over = f.over || f.began == 0
}

// noneIsFirst tells a caller so, if it times its first request.
func noneIsFirst(c drive.Call) {
	if f, ok := c.(interface{ none() }); ok {
		f.none()
	}
}

// phasesOf are the phases that a caller knows and has not told yet.
func phasesOf(c drive.Call) stack.Phases {
	if p, ok := c.(interface{ phases() stack.Phases }); ok {
		return p.phases()
	}
	return stack.Phases{}
}
