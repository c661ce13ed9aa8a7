package sensor

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSimulate(t *testing.T) {
	empty, built := t.TempDir(), t.TempDir()
	for _, f := range []string{"temperature_sim", "temperature.elf"} {
		if err := os.WriteFile(filepath.Join(built, f), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		name string
		in   []string
		avr  bool
		err  string
	}{
		{Simulated, []string{empty}, false, ""},
		{Simulated, []string{empty, built}, true, ""},
		{SimulatedAVR, []string{empty, built}, true, ""},
		{SimulatedAVR, []string{empty}, false, "make firmware"},
		{SimulatedGo, []string{built}, false, ""},
		{"simulated:pic", []string{built}, false, "supported: simulated"},
	} {
		s, err := Simulate(x.name, "/exe", x.in)
		if x.err == "" && (err != nil || (s.AVR != nil) != x.avr || s.Says == "") || x.err != "" &&
			(err == nil || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%s in %v: got %+v, %v, want %+v", x.name, x.in, s, err, x)
		}
	}
}

// ask asks once and says how long it took.
func ask(t *testing.T, line *os.File, from *bufio.Reader) (celsius float64, took time.Duration) {
	t.Helper()
	began := time.Now()
	if _, err := io.WriteString(line, "T\n"); err != nil {
		t.Fatal(err)
	}
	line.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, err := from.ReadString('\n')
	if err != nil {
		t.Fatalf("got %q: %v", text, err)
	}
	took = time.Since(began)
	if celsius, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil {
		t.Fatal(err)
	}
	return celsius, took
}

// behaves wants a thermometer of a room, no reading of which is quicker than 9600 Bd lets seven bytes through.
func behaves(t *testing.T, device string) {
	t.Helper()
	line, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	from := bufio.NewReader(line)
	quickest := time.Hour
	for range 20 {
		celsius, took := ask(t, line, from)
		if celsius < 15 || celsius > 30 {
			t.Errorf("it reads %v °C", celsius)
		}
		quickest = min(quickest, took)
	}
	const bytes = 7 * time.Second / 960
	if quickest < bytes-500*time.Microsecond { // the AVR's clock moves in steps of 200 µs
		t.Errorf("a reading took %v, below %v for seven bytes", quickest, bytes)
	}
	t.Logf("quickest reading %v", quickest)
}

func TestInGo(t *testing.T) {
	in, stop := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- Main(in, said) }()
	ready, err := ReadReady(out)
	if err != nil {
		t.Fatal(err)
	}
	behaves(t, ready.Device)
	stop.Close()
	if status := <-ended; status != 0 {
		t.Errorf("ended with %d", status)
	}
	if _, err := os.Stat(ready.Device); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", ready.Device, err)
	}
}

// The firmware itself, in simavr.
func TestInSimavr(t *testing.T) {
	for _, need := range []string{"avr-gcc", "make", "gcc"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("%s is missing; run: apt-get install gcc-avr avr-libc make gcc libsimavr-dev libelf-dev", need)
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "../../../firmware/temperature", "BUILD="+dir,
		"sim").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := Simulate(SimulatedAVR, "", []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, err := ReadReady(out)
	if err != nil {
		t.Fatal(err)
	}
	behaves(t, ready.Device)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
