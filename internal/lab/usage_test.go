package lab

import (
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
)

// What both programs use is read at once: the run waits for both.
func TestBothProgramsAreReadAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		s, meet := soundStack(), make(chan int)
		s.usage = func(side int) (device.Usage, error) {
			if side == atClient {
				meet <- side
			} else {
				<-meet // read one after the other, they never meet
			}
			return device.Usage{CPU: time.Duration(side+1) * time.Second}, nil
		}
		l, alive := fakeLab(t, s, 1)
		defer l.Store.Close()
		o, err := l.Run(t.Context())
		alive.Wait()
		if err != nil || o.Valid != 1 {
			t.Errorf("got %+v, %v", o, err)
		}
	})
}
