package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/lab"
)

// A study whose hub, or whose last bench, has ended does not wait for it.
func TestAFleetWhoseProcessesEnd(t *testing.T) {
	for _, tt := range []struct {
		kills []int // 0: the hub, then the benches
		want  string
	}{{[]int{0}, "the hub of this machine has ended (signal: killed)"}, {[]int{1}, ""},
		{[]int{1, 2}, "the benches of this machine have ended (signal: killed)"}} {
		var all []*child
		for range 3 {
			c, err := start(exec.Command("sleep", "600"), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.cmd.Process.Kill(); <-c.ended })
			all = append(all, c)
		}
		f := &localFleet{hub: all[0], all: all[1:]}
		ctx, lost := context.WithCancelCause(t.Context())
		watched := make(chan struct{})
		go func() { f.watch(ctx, lost); close(watched) }()
		for _, k := range tt.kills {
			all[k].cmd.Process.Kill()
			<-all[k].ended
		}
		if tt.want == "" {
			select {
			case <-watched:
				t.Errorf("with a bench left it ends: %v", context.Cause(ctx))
			case <-time.After(50 * time.Millisecond):
			}
			lost(nil)
			<-watched
			continue
		}
		<-watched
		if got := context.Cause(ctx); got == nil || !strings.Contains(got.Error(), tt.want) {
			t.Errorf("got %v, want %s", got, tt.want)
		}
	}
}

// A hub that starts and says nothing, or is stopped meanwhile, holds nobody up: neither when it is waited for, nor when
// the lab is to end, nor when it is ended.
func TestAHubThatDoesNotStart(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "hub")
	if err := os.WriteFile(silent, []byte("#!/bin/sh\n[ -e $0.stopped ] && kill -STOP $$\ncat >/dev/null\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	for _, stopped := range []bool{false, true} {
		for _, asked := range []bool{false, true} { // to end
			temp, err := newScratch(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			f := &localFleet{temp: temp}
			ctx, cancel := context.WithCancel(t.Context())
			most, want := 300*time.Millisecond, "did not say within 300ms where it listens; run the same command again"
			if asked {
				most, want = time.Hour, lab.ErrStopped.Error()
				time.AfterFunc(300*time.Millisecond, cancel)
			}
			if err := f.startHub(ctx, silent, most); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("stopped %v, asked %v: got %v, want %q", stopped, asked, err, want)
			}
			cancel()
			f.stop()
			if s := f.hub.cmd.ProcessState; s == nil || s.ExitCode() != 0 {
				t.Errorf("stopped %v, asked %v: it had to be killed: %v", stopped, asked, s)
			}
		}
		if err := os.WriteFile(silent+".stopped", nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A hub that heeds nothing is killed.
func TestAHubThatDoesNotEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	heedless := kerneltest.Script(t, "trap '' TERM INT HUP\necho '{\"url\":\"nats://127.0.0.1:1\"}'\n"+
		"while :; do sleep 1000; done")
	temp, err := newScratch(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f := &localFleet{temp: temp}
	if err := f.startHub(t.Context(), heedless, time.Minute); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.stop()
	}()
	select {
	case <-ended:
		if s := f.hub.cmd.ProcessState; s == nil || s.ExitCode() == 0 {
			t.Errorf("it ended by itself: %v", s)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}

// Names of benches are trimmed, and refused where no bench can have them or where one is there twice.
func TestNamesOfBenches(t *testing.T) {
	for names, want := range map[string]string{"a, b": "", "a,a": "names a twice",
		"a,": "--benches: ", "a b": "--benches: "} {
		err := sharing{benches: names, creds: "x", lease: time.Minute}.check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", names, err, want)
		}
	}
	if got := (sharing{benches: "a, b"}).names(); len(got) != 2 || got[1] != "b" {
		t.Errorf("got %q", got)
	}
}

// A study that too few benches can measure is refused, and so is one of which all leave a treatment out.
func TestWhatBenchesAnswered(t *testing.T) {
	can, cannot := fleet.Reply{}, fleet.Reply{Why: "no frob"}
	without := func(cells ...int) fleet.Reply {
		r := fleet.Reply{Lacks: map[int]string{}}
		for _, c := range cells {
			r.Lacks[c] = fmt.Sprint("no program for ", c)
		}
		return r
	}
	for _, tt := range []struct {
		what    string
		replies []fleet.Reply
		least   int
		named   bool
		want    string
	}{
		{"all can", []fleet.Reply{can, can}, 1, true, ""},
		{"one can", []fleet.Reply{cannot, can}, 1, true, ""},
		{"one measures", []fleet.Reply{cannot, {Busy: true}}, 1, true, ""},
		{"none can", []fleet.Reply{cannot, cannot}, 1, true, "bench a: no frob\nbench b: no frob\nthe study takes 1 bench, " +
			"and 0 can measure it now"},
		{"too few can", []fleet.Reply{can, cannot}, 2, true, "the study takes 2 benches, and 1 can measure it now"},
		{"nobody is heard", nil, 1, false, "the study takes 1 bench, and 0 can measure it now"},
		{"each has what the other lacks", []fleet.Reply{without(1, 2), without(3)}, 1, true, ""},
		{"both lack one", []fleet.Reply{without(1, 2), without(2, 3)}, 1, true, "no bench can run one of the treatments: " +
			"no program for 2"},
		{"others may have it", []fleet.Reply{without(2)}, 1, false, ""},
	} {
		rows := []benchRow{{Name: "a"}, {Name: "b"}}
		err := (&app{quiet: true}).tellReplies(rows, tt.replies, tt.least, tt.named)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}
