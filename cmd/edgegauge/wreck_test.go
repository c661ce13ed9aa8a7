package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/kernel"
)

// cmdWreck runs a lab again and again, at random instants kills or stops processes
// that it started, supervisors and programs alike, and asks it to end, once or
// twice: wreck TIMES STUDY. Each time it must end, and leave no process.
func cmdWreck(ts *testscript.TestScript, neg bool, args []string) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	hit := 0
	for i := range atoi(ts, args[0]) {
		twice := i%2 == 0
		cmd := labCommand(ts, []string{"run", args[1], "--out", fmt.Sprintf("wrecked-%d", i)})
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		ts.Check(cmd.Start())
		for range 3000 { // until it has started something
			if len(kernel.Descendants(cmd.Process.Pid)) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		what := []string{fmt.Sprintf("seed %d, round %d", seed, i)}
		for range 3 {
			time.Sleep(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
			how := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[random.IntN(2)]
			if all := kernel.Descendants(cmd.Process.Pid); len(all) > 0 {
				pid := all[random.IntN(len(all))]
				if syscall.Kill(pid, how) == nil {
					hit++
					what = append(what, fmt.Sprintf("%v %d of %v", how, pid, all))
				}
			}
		}
		cmd.Process.Signal(syscall.SIGINT)
		if twice {
			time.Sleep(50 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGINT)
		}
		endsWithin(ts, cmd, time.Minute, strings.Join(what, "; "), &said)
		cmdLeftover(ts, false, nil)
	}
	ts.Logf("%d processes were killed or stopped, seed %d", hit, seed)
	if hit == 0 {
		ts.Fatalf("no process was hit: nothing was tested")
	}
}

// cmdInterruptTwice stops all that a lab has started, as if it hung, and sends the
// lab Ctrl-C twice: interrupttwice ARGUMENTS. An orderly end would wait for those
// programs for seconds; the second signal must not.
//
// Programs that still start are killed at once, which is orderly, too: then it is tried again, later in the trial.
func cmdInterruptTwice(ts *testscript.TestScript, neg bool, args []string) {
	for try := range 6 {
		var said strings.Builder
		cmd := labCommand(ts, args)
		cmd.Stderr = &said
		ts.Check(cmd.Start())
		time.Sleep(time.Duration(try) * 300 * time.Millisecond)
		stopped := stopAll(cmd.Process.Pid, 4) // two supervisors with a program each
		ts.Check(cmd.Process.Signal(syscall.SIGINT))
		time.Sleep(2 * sameSignal)
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		began := time.Now()
		endsWithin(ts, cmd, time.Minute, fmt.Sprintf("%d processes stopped", len(stopped)), &said)
		took, code := time.Since(began), cmd.ProcessState.ExitCode()
		if len(stopped) < 4 || took > orderlyEnd/6 || code != exitUnmeasured {
			ts.Fatalf("%d processes were stopped; it took %v to end after the second signal, with exit code %d, and said: %s",
				len(stopped), took, code, said.String())
		}
		if _, how, ok := strings.Cut(said.String(), "stopped immediately"); ok {
			if how != "; run the same command again to resume\n" {
				ts.Fatalf("the last words are %q", how)
			}
			return
		}
	}
	ts.Fatalf("no second signal had anything to end")
}

// stopAll stops all that a process has started, once that is so many, and none comes or
// goes any more.
func stopAll(pid, many int) (stopped []int) {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if stopped = kernel.Descendants(pid); len(stopped) < many {
			continue
		}
		for _, p := range stopped {
			syscall.Kill(p, syscall.SIGSTOP)
		}
		time.Sleep(100 * time.Millisecond)
		if slices.Equal(kernel.Descendants(pid), stopped) {
			break
		}
	}
	return stopped
}

func endsWithin(ts *testscript.TestScript, cmd *exec.Cmd, most time.Duration, what string, said *strings.Builder) {
	late := time.AfterFunc(most, func() { cmd.Process.Signal(syscall.SIGQUIT) })
	cmd.Wait()
	if !late.Stop() {
		ts.Fatalf("it did not end within %v: %s: %s", most, what, said.String())
	}
}
