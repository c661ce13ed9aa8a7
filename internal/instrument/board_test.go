package instrument

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A hungBoard answers nothing.
type hungBoard struct{ Agent }

func (hungBoard) Clock(ctx context.Context) (time.Time, time.Duration, error) {
	<-ctx.Done()
	return time.Time{}, 0, ctx.Err()
}

// A board that hangs when its meter is to begin is given up, also where the observation has ended meanwhile.
func TestMeterOfABoardThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &boardMeter{agent: func(context.Context) (Agent, error) { return hungBoard{}, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := m.Observe(ctx, func(measure.Sample) {}); err == nil || time.Since(began) != answerWithin {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}
