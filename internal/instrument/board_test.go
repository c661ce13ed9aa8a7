package instrument

import (
	"context"
	"errors"
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

// A fastBoard has a clock that runs 50 millionths fast, and a meter that reads each 100 s for ten minutes.
type fastBoard struct {
	Agent
	on    time.Time
	spent []time.Time // when it read
	clock Fit         // of the meter to the board's clock, as it tells
	leave bool        // it says where its clock stands only before it has read
}

func (b *fastBoard) now() time.Duration {
	return time.Hour + time.Duration(1.00005*float64(time.Since(b.on)))
}

func (b *fastBoard) Clock(context.Context) (time.Time, time.Duration, error) {
	if b.leave && b.spent != nil {
		return time.Time{}, 0, errors.New("it is gone")
	}
	return time.Now().Add(-b.now()), time.Microsecond, nil
}

func (b *fastBoard) Watch(_ context.Context, _ string, began func(time.Duration), emit func(measure.Sample),
	told any) error {
	at := b.now()
	began(at)
	var kept []measure.Sample
	for range 6 {
		time.Sleep(100 * time.Second)
		b.spent = append(b.spent, time.Now())
		kept = append(kept, measure.Sample{At: b.now() - at})
	}
	for _, s := range kept {
		emit(s)
	}
	told.(*Told).Quality = MeterStats{Readings: 6, Clock: b.clock}
	return nil
}

// The instants of readings are right to the clock's error, however far the board's clock has drifted meanwhile.
func TestMeterOfABoardWhoseClockDrifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := time.Now()
		b := &fastBoard{on: zero}
		m := &boardMeter{agent: func(context.Context) (Agent, error) { return b, nil }}
		n := 0
		err := m.Observe(t.Context(), func(s measure.Sample) {
			if off := zero.Add(s.At).Sub(b.spent[n]); off.Abs() > 10*time.Microsecond {
				t.Errorf("the reading at %v is said to be %v off", b.spent[n].Sub(zero), off)
			}
			n++
		})
		if err != nil || n != 6 {
			t.Errorf("got %d readings, %v", n, err)
		}
	})
}

// What is told of the clock is how far an instant of the meter may be off here, whether the meter has a clock of its
// own or not.
func TestMeterOfABoardSaysHowFarItsClockIsOff(t *testing.T) {
	for _, tt := range []struct{ of, want Fit }{
		{Fit{}, Fit{Method: "round trip", Bias: time.Microsecond}},
		{Fit{Method: "echo", Points: 9, Residual: 40 * time.Microsecond, Bias: 5 * time.Microsecond},
			Fit{Method: "echo", Points: 9, Residual: 40 * time.Microsecond, Bias: 6 * time.Microsecond}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &fastBoard{on: time.Now(), clock: tt.of}
			m := &boardMeter{agent: func(context.Context) (Agent, error) { return b, nil }}
			for range 2 { // the second is told nothing of the first
				err := m.Observe(t.Context(), func(measure.Sample) {})
				if got := m.Stats().Clock; err != nil || got != tt.want {
					t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
				}
			}
		})
	}
}

// A board of which nobody knows how far its clock has drifted has no instants.
func TestMeterOfABoardThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &fastBoard{on: time.Now(), leave: true}
		m := &boardMeter{agent: func(context.Context) (Agent, error) { return b, nil }}
		n := 0
		if err := m.Observe(t.Context(), func(measure.Sample) { n++ }); err == nil || n > 0 {
			t.Errorf("got %d readings, %v", n, err)
		}
	})
}
