package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/ssh/sshtest"
)

// cmdBoard makes this script a board behind a real sshd: ssh://board. board small puts
// edgegauge-board where it is found. Later calls are what happens to it: board
// cut|reboot|kill AFTER ARGUMENTS… runs a lab with the arguments and does it in
// mid-trial, kill to the lab; board clean DIR fails if an agent left something there.
func cmdBoard(ts *testscript.TestScript, neg bool, args []string) {
	if missing := sshtest.Missing(); missing != "" {
		ts.Fatalf("%s", missing)
	}
	if len(args) == 0 {
		s, err := sshtest.Start(ts.MkAbs("."))
		ts.Check(err)
		ts.Defer(s.Stop)
		boards[ts.MkAbs(".")] = s
		ts.Setenv("HOME", s.Home)
		ts.Setenv("SSH_AUTH_SOCK", "")
		return
	}
	s := boards[ts.MkAbs(".")]
	switch args[0] {
	case "small":
		file := filepath.Join(s.Home, ".cache/edgegauge/edgegauge-board-"+runtime.GOARCH)
		build := exec.Command("go", "build", "-tags", "board", "-trimpath", "-ldflags", "-s -w -X 'main.stamp="+version()+"'",
			"-o", file,
			"edgegauge.example/edgegauge/cmd/edgegauge-board")
		if out, err := build.CombinedOutput(); err != nil {
			ts.Fatalf("%v: %s", err, out)
		}
	case "stranger":
		ts.Check(s.Know("other"))
	case "cut", "reboot", "kill":
		after, err := time.ParseDuration(args[1])
		ts.Check(err)
		cmd := labCommand(ts, args[2:])
		cmd.Env = append(cmd.Env, "HOME="+s.Home, "SSH_AUTH_SOCK=")
		said, err := os.Create(ts.MkAbs("said"))
		ts.Check(err)
		defer said.Close()
		cmd.Stdout, cmd.Stderr = said, said
		ts.Check(cmd.Start())
		for range 1000 { // until a stack runs there
			if s.Runs("serve") {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(after)
		switch args[0] {
		case "cut":
			s.Cut()
		case "reboot":
			s.Reboot()
		default:
			cmd.Process.Kill()
		}
		cmd.Wait()
	case "clean":
		var left []string
		for range 200 {
			if left, _ = filepath.Glob(filepath.Join(ts.MkAbs(args[1]), device.AgentPrefix+"*")); len(left) == 0 &&
				len(s.Programs()) == 0 {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		ts.Fatalf("left on the board: %v %v", left, s.Programs())
	default:
		ts.Fatalf("usage: board [small | stranger | cut|reboot|kill AFTER ARGUMENTS… | clean DIR]")
	}
}

// boards are those of the scripts that run, by their folders.
var boards = map[string]*sshtest.Server{}
