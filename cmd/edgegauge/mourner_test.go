package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mourning waits until its input ends, and then ends all processes that work in a folder, and takes its file system
// away.
const mourning = `read word
for p in /proc/[0-9]*; do
	case $(readlink $p/cwd) in "$0" | "$0"/*) kill -9 ${p#/proc/} ;; esac
done 2>/dev/null
umount -l "$0/disk" 2>/dev/null
exit 0`

// mourn ends what works in a folder and unmounts its disk when the test has ended, however it ends: a test binary that
// is killed, as by its time limit, cleans nothing up. It returns how to end what is there.
func mourn(t *testing.T, dir string) func() {
	t.Helper()
	cmd := exec.Command("sh", "-c", mourning, dir)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		in.Close()
		cmd.Wait()
	}
}

// What a killed test has started ends.
func TestMourner(t *testing.T) {
	if dir := os.Getenv("EDGEGAUGE_MOURNED"); dir != "" {
		mourn(t, dir)
		cmd := exec.Command("sleep", "600")
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestMourner$")
	cmd.Env = append(os.Environ(), "EDGEGAUGE_MOURNED="+dir, "TMPDIR="+t.TempDir(),
		"EDGEGAUGE_TOGETHER="+dir) // it cannot clean up
	cmd.Run()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(text))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + string(text) + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	syscall.Kill(pid, syscall.SIGKILL)
	t.Error("a process of the killed test is left")
}
