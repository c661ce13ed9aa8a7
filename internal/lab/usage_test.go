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

// A kernel that keeps no account of waiting for a CPU, or tells no memory, says nothing: no 0 stands in its place.
func TestWhatTheKernelDoesNotSayIsNoZero(t *testing.T) {
	for _, untold := range []bool{false, true} {
		r := soundDevices()
		for side := range r.usage.of {
			u := &r.usage.of[side][behindRun]
			if u.WaitingUntold = untold; !untold {
				u.PeakRSS = 1 << 20
			}
		}
		r.summarize()
		got := map[string]bool{}
		for _, x := range r.findings.results {
			got[x.Response] = true
		}
		for _, q := range r.findings.quality {
			got[q.Key] = true
		}
		for key, want := range map[string]bool{"run_queue_wait_client": !untold, "waiting_untold_client": untold,
			"peak_rss": !untold} {
			if got[key] != want {
				t.Errorf("untold %v: %s is there: %v", untold, key, got[key])
			}
		}
	}
}

// What the kernel killed at the device's limit, and what it counts late, is noted of the side.
func TestKillsAndLatePagesAreNoted(t *testing.T) {
	r := sound()
	r.usage.of[atServer][behindRun] = device.Usage{PeakRSS: 4096, PeakLacks: 1 << 18, Killed: 3}
	r.summarize()
	got := map[string]float64{}
	for _, q := range r.findings.quality {
		got[q.Key] = q.Value
	}
	if got["peak_rss_lacks_server"] != 1<<18 || got["killed_for_memory_server"] != 3 {
		t.Errorf("got %v", got)
	}
	for _, key := range []string{"peak_rss_lacks_client", "killed_for_memory_client"} {
		if _, there := got[key]; there {
			t.Errorf("%s is noted", key)
		}
	}
}
