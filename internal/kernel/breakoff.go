package kernel

import (
	"context"
	"time"
)

// BreakOff makes the end of ctx break off reads and writes that wait, by a deadline that has passed. After release,
// which is called once, none is set any more: else the end of one wait might end a later one. It says whether one was.
func BreakOff(ctx context.Context, setDeadline func(time.Time) error) (release func() (set bool)) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		setDeadline(time.Unix(1, 0))
	})
	return func() bool {
		if stop() {
			return false
		}
		<-done
		return true
	}
}
