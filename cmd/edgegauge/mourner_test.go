package main

import (
	"bytes"
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
find /proc/[0-9]*/cwd -maxdepth 0 "(" -lname "$0" -o -lname "$0/*" ")" 2>/dev/null |
	while IFS=/ read root proc pid cwd; do kill -9 $pid; done 2>/dev/null
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
	killedTest(t, "^TestMourner$", dir, dir)
	endsSoon(t, filepath.Join(dir, "pid"))
}

// killedTest runs a test of this program that ends itself with SIGKILL; what is how it knows.
func killedTest(t *testing.T, name, what, together string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run", name)
	cmd.Env = append(os.Environ(), "EDGEGAUGE_MOURNED="+what, "TMPDIR="+t.TempDir(), "GOTMPDIR=", // it cannot clean up
		"EDGEGAUGE_TOGETHER="+together)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
}

// endsSoon waits for the end of the process whose number a file has.
func endsSoon(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.TrimSpace(text)
	pid, _ := strconv.Atoi(string(text))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + string(text) + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	syscall.Kill(pid, syscall.SIGKILL)
	t.Error("a process of the killed test is left")
}

// Hubs and workers of a script end with a test that is killed.
func TestScriptsEndWithTheirTest(t *testing.T) {
	if file := os.Getenv("EDGEGAUGE_MOURNED"); file != "" {
		runScripts(t, file)
		return // and it runs
	}
	dir := t.TempDir()
	pid, script := filepath.Join(dir, "pid"), filepath.Join(dir, "killed.txtar")
	text := "exec sh -c 'echo $$ >" + pid + ".new; mv " + pid + ".new " + pid + "; exec sleep 600' &\n" +
		"exec sh -c 'until [ -e " + pid + " ]; do sleep 0.01; done; kill -9 $PPID'\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	killedTest(t, "^TestScriptsEndWithTheirTest$", script, dir)
	endsSoon(t, pid)
}
