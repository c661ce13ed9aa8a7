package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// A second Ctrl-C ends a lab whose words nobody reads, as where the pager behind it is stopped.
func TestSecondInterruptOfALabThatNobodyHears(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a study")
	}
	t.Parallel()
	o := newOwn(t)
	t.Cleanup(mourn(t, o.dir))
	o.write(t, "s.yaml", "study: unheard\nservice: monitor\nstack: phantom\noptions: {fault: hang}\nrequests: 20\n"+
		"design: {replications: 3, warmup: 2}\ntimeouts: {request: 1m, ready: 1m}\n")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd := exec.Command(o.exe, "run", "s.yaml", "--out", "out")
	cmd.Dir, cmd.Stderr = o.dir, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	within := func(what string, so func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				cmd.Process.Kill()
				<-ended
				t.Fatalf("%s does not come", what)
			}
		}
	}
	within("a trial", func() bool {
		trials, _ := filepath.Glob(filepath.Join(o.dir, "out", "trials", "*"))
		return len(trials) > 0
	})
	fill(t, writer)
	for range 2 {
		cmd.Process.Signal(os.Interrupt)
		time.Sleep(2 * sameSignal)
	}
	within("the end", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != exitUnmeasured {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	within("the end of what it started", func() bool { return len(processesBelow(o.dir)) == 0 })
}

// fill writes to a pipe until it takes no more, and leaves who else writes to it waiting.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	again, err := syscall.Open("/proc/self/fd/"+strconv.Itoa(int(pipe.Fd())), syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(again)
	for err == nil {
		_, err = syscall.Write(again, make([]byte, 1))
	}
	if err != syscall.EAGAIN {
		t.Fatal(err)
	}
}
