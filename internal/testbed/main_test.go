package testbed

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/stacks/reference"
)

// recordVerb runs a stack that writes down what it is told, and does none of it.
const recordVerb = "record"

// TestMain makes the test binary the children of the labs that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch args := os.Args[2:]; os.Args[1] {
	case device.SuperviseVerb:
		os.Exit(device.Supervise(args))
	case device.EnterVerb:
		os.Exit(device.Enter(args))
	case lab.StackVerb:
		os.Exit(reference.Main(args, os.Stdin, os.Stdout, os.Stderr))
	case link.Verb:
		os.Exit(link.Main())
	case link.TryVerb:
		os.Exit(link.Try(args))
	case sensor.Verb:
		os.Exit(sensor.Main(os.Stdin, os.Stdout))
	case recordVerb:
		os.Exit(record(args))
	}
	os.Exit(m.Run())
}

// record is the program of the recording stack: record FILE HEAP serve|call.
func record(args []string) int {
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	here, _ := os.Getwd()
	group, _ := os.ReadFile("/proc/self/cgroup")
	fmt.Fprintf(f, "%s %s in %s, %t\n", args[2], args[1], filepath.Base(here),
		strings.Contains(string(group), "edgegauge"))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		line := in.Text()
		fmt.Fprintln(f, args[2], line)
		switch {
		case strings.Contains(line, `"type":"serve"`), strings.Contains(line, `"type":"call"`):
			fmt.Println(`{"type":"ready","url":"http://127.0.0.1:9/","version":"1","runtime":"none"}`)
		default:
			fmt.Println(`{"type":"end","count":0,"cpu":0}`)
		}
	}
	return 0
}

// bed is a testbed of this test's own: nothing of the machine's folders, and a
// folder of stacks.
func bed(t *testing.T, stacks ...string) *Testbed {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("", "t") // not below the test's, which others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil { // for servers that work as another user, as below /tmp
		t.Fatal(err)
	}
	o := Options{Exe: exe, Version: "test", Temp: temp, Together: temp, Cache: t.TempDir()}
	for _, dir := range stacks {
		o.Stacks = append(o.Stacks, Folder{Path: dir, Trusted: true})
	}
	return New(o)
}
