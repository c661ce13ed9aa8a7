package device

import (
	"fmt"
	"math"
	"os"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A kernel adds up to 64 pages of each thread late. Of a small program what is resident behind a run is looked at;
// where that is not known, the figure says how much it may lack. Of a large program VmHWM is kept as it is.
func TestPeakOfASmallProgram(t *testing.T) {
	page := int64(os.Getpagesize())
	here, exactly := kernel.Resident(os.Getpid())
	const nobody = math.MaxInt32 // no process has this number
	for _, tt := range []struct {
		what        string
		pid, kib    int
		threads     int
		exact       bool
		least, most int64 // the peak
		lacks       int64
	}{
		{"one page, looked at", os.Getpid(), 4, 3, true, here / 2, 4 * here, 0},
		{"one page, before the run", os.Getpid(), 4, 3, false, 4 << 10, 4 << 10, 3 * 64 * page},
		{"one page, of a kernel that does not count exactly", nobody, 4, 3, true, 4 << 10, 4 << 10, 3 * 64 * page},
		{"a tenth at most", nobody, 10 << 10, 4, true, 10 << 20, 10 << 20, 0},
		{"a large one", os.Getpid(), 100 << 20, 1, true, 100 << 30, 100 << 30, 0},
	} {
		if tt.exact && tt.pid == os.Getpid() && !exactly {
			continue // this kernel does not count so (CONFIG_PROC_PAGE_MONITOR)
		}
		s := kernel.Status(fmt.Sprintf("VmHWM:\t%d kB\nThreads:\t%d\n", tt.kib, tt.threads))
		peak, lacks := peakRSS(tt.pid, s, tt.exact)
		if peak < tt.least || peak > tt.most || lacks != tt.lacks {
			t.Errorf("%s: got %d B, which may lack %d B", tt.what, peak, lacks)
		}
	}
}

// The first reading, before a run, does not look at each page.
func TestMemoryIsLookedAtBehindTheRun(t *testing.T) {
	p := &Process{PID: os.Getpid()}
	for _, exact := range []bool{false, true, true} {
		if p.read.Load() != exact {
			t.Errorf("exact: %v, want %v", p.read.Load(), exact)
		}
		if _, err := p.used(""); err != nil {
			t.Fatal(err)
		}
	}
}

// Both kinds of control groups count what they killed.
func TestKillsForMemory(t *testing.T) {
	for file, two := range map[string]bool{"memory.events": true, "memory.oom_control": false} {
		dir := t.TempDir()
		g := &group{dirs: []string{dir}, two: two, l: Limits{Memory: 1 << 20}}
		if got := g.killedForMemory(); got != 0 {
			t.Errorf("%s: %d without a file", file, got)
		}
		os.WriteFile(dir+"/"+file, []byte("oom_kill_disable 0\nunder_oom 0\noom 7\noom_kill 5\n"), 0o644)
		if got := g.killedForMemory(); got != 5 {
			t.Errorf("%s: got %d", file, got)
		}
		if g.l.Memory = 0; g.killedForMemory() != 0 {
			t.Errorf("%s: without a limit", file)
		}
	}
}
