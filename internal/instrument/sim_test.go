package instrument

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
)

// lacking skips a test for want of something, which CI must not.
func lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI lacks %s", what)
	}
	t.Skipf("needs %s", what)
}

var simulator struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if how := os.Getenv("PRINT_READINGS"); how != "" {
		os.Exit(printReadings(how)) // this binary as the program of exec:
	}
	code := m.Run()
	if simulator.dir != "" {
		os.RemoveAll(simulator.dir)
	}
	os.Exit(code)
}

// simulate builds the firmware and its simulator, once, and returns a command
// that runs the one in the other.
func simulate(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	for _, tool := range []string{"avr-gcc", "gcc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			lacking(t, tool+" (apt-get install gcc-avr avr-libc gcc make libsimavr-dev libelf-dev)")
		}
	}
	if _, err := os.Stat("/usr/include/simavr/sim_avr.h"); err != nil {
		lacking(t, "simavr (apt-get install libsimavr-dev libelf-dev)")
	}
	// Subtle: go test knows only of files this process reads; make's would not
	// make a kept result stale.
	for _, f := range []string{"meter.c", "wire.h", "Makefile", "sim/meter_sim.c"} {
		if _, err := os.ReadFile("../../firmware/energy-meter/" + f); err != nil {
			t.Fatal(err)
		}
	}
	simulator.once.Do(func() {
		if simulator.dir, simulator.err = os.MkdirTemp("", "energy-meter"); simulator.err != nil {
			return
		}
		out, err := exec.Command("make", "-C", "../../firmware/energy-meter", "BUILD="+simulator.dir, "firmware",
			"sim").CombinedOutput()
		if err != nil {
			simulator.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if simulator.err != nil {
		t.Fatal(simulator.err)
	}
	return exec.Command(filepath.Join(simulator.dir, "meter_sim"),
		append(args, filepath.Join(simulator.dir, "meter.elf"))...)
}

// A script is what happens to a simulated meter.
type script struct{ strings.Builder }

func (s *script) at(t float64, what string, value any) {
	fmt.Fprintf(s, "%.9f %s %v\n", t, what, value)
}

func (s *script) send(t float64, kind byte, payload ...byte) {
	s.at(t, "rx", hex.EncodeToString(encodeFrame(kind, payload)))
}

// supply sets what the meter's inputs see: 10k:10k before the voltage input,
// 5 V at 1 A at the current input.
func (s *script) supply(t, volts, amps float64) {
	s.at(t, "v", int(volts*500+0.5))
	s.at(t, "i", int(amps*5000+0.5))
}

// simCal is the calibration of the simulated converter, whose full scale is 1023.
var simCal = Calibration{VoltsPerStep: 5.0 / 1023 * 2, AmpsPerStep: 5.0 / 1023 / 5, Label: "simavr"}

// virtual plays the script in virtual time and returns each byte of the meter
// with the time at which it was sent.
func (s *script) virtual(t testing.TB, args ...string) ([]byte, []time.Duration) {
	t.Helper()
	stamps := filepath.Join(t.TempDir(), "times")
	cmd := simulate(t, append([]string{"-times", stamps}, args...)...)
	cmd.Stdin = strings.NewReader(s.String())
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("meter_sim: %v\n%s", err, &stderr)
	}
	raw, err := os.ReadFile(stamps)
	if err != nil || len(raw) != 8*out.Len() {
		t.Fatalf("%d stamps for %d bytes: %v", len(raw)/8, out.Len(), err)
	}
	at := make([]time.Duration, out.Len())
	for i := range at {
		at[i] = time.Duration(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return out.Bytes(), at
}

// replay puts a meter's bytes into a record as they came.
func replay(t testing.TB, out []byte, at []time.Duration, r *record) (*decoder, error) {
	t.Helper()
	var d decoder
	var failed error
	described := false
	for i := range out {
		d.write(out[i:i+1], func(f frame) {
			if _, ok := f.info(); ok && !described {
				described = true // that of booting
				return
			}
			if err := r.take(f, at[i]); err != nil && failed == nil {
				failed = err
			}
		})
	}
	return &d, failed
}

// simInfo is the description of a meter that streams at its default rate.
var simInfo = info{format: 1, tick: 500, period: 11765, cal: simCal}

// A live is a simulated meter at a port. Its clock, which is also that of the host in these tests, stands still while
// the simulator does: a busy machine keeps it from running.
type live struct {
	path   string
	shared []byte // what meter_sim -shared says of it
}

func (l *live) number(i int) *uint64 { return (*uint64)(unsafe.Pointer(&l.shared[8*i])) }

// at is the time since power-up.
func (l *live) at() time.Duration { return time.Duration(atomic.LoadUint64(l.number(0))) }

var powerUp = time.Now() // of any simulator

func (l *live) now() time.Time { return powerUp.Add(l.at()) }

// wait waits until something of the meter is so.
func (l *live) wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 2 minutes", what)
		}
	}
}

// until waits for an instant since power-up.
func (l *live) until(t *testing.T, at time.Duration) {
	t.Helper()
	l.wait(t, fmt.Sprint(at, " since power-up"), func() bool { return l.at() >= at })
}

// streamed waits until the meter has sent so many bytes more.
func (l *live) streamed(t *testing.T, bytes uint64) {
	t.Helper()
	before := atomic.LoadUint64(l.number(3))
	l.wait(t, fmt.Sprint(bytes, " bytes"), func() bool { return atomic.LoadUint64(l.number(3)) >= before+bytes })
}

// goOn lets the script go on behind its hold, and says when that was, since power-up.
func (l *live) goOn(t *testing.T) time.Duration {
	t.Helper()
	atomic.AddUint64(l.number(1), 1)
	l.wait(t, "the end of a hold", func() bool { return atomic.LoadUint64(l.number(2)) > 0 })
	return time.Duration(atomic.LoadUint64(l.number(2)))
}

// observe has a meter observe until it is told to end. Its samples count from zero, since power-up.
func (l *live) observe(t *testing.T, m *EnergyMeter, emit func(measure.Sample)) (zero time.Duration, end func() error) {
	t.Helper()
	zero = l.at()
	ctx, cancel := context.WithCancel(WithStart(t.Context(), powerUp.Add(zero)))
	ended := make(chan error, 1)
	go func() { ended <- m.Observe(ctx, emit) }()
	return zero, func() error {
		cancel()
		return <-ended
	}
}

// realTime starts the script in real time. The script must end itself, and holds once at most.
func (s *script) realTime(t *testing.T, args ...string) *live {
	t.Helper()
	l := &live{}
	file := filepath.Join(t.TempDir(), "shared")
	f, err := os.Create(file)
	if err == nil {
		err = f.Truncate(4096)
	}
	if err == nil {
		l.shared, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	cmd := simulate(t, append([]string{"-pty", "-shared", file}, args...)...)
	cmd.Stdin = strings.NewReader(s.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, err2 := fmt.Sscanf(line, "pty %s", &l.path); err != nil || err2 != nil {
		t.Fatalf("meter_sim says %q: %v", line, err)
	}
	return l
}
