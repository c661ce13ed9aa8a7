package instrument

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// printReadings is the program of exec: in these tests.
func printReadings(how string) int {
	mono := func() float64 {
		var ts unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		return float64(ts.Nano()) / 1e9
	}
	switch how {
	case "silent":
		io.Copy(io.Discard, os.Stdin)
		return 0
	case "stubborn":
		fmt.Println("t,V,A")
		time.Sleep(time.Hour)
	case "heedless":
		fmt.Println(`{"type":"meter","rate":10}`)
		time.Sleep(time.Hour)
	case "dies":
		fmt.Println(`{"type":"meter","rate":10}`)
		time.Sleep(200 * time.Millisecond)
		fmt.Fprintln(os.Stderr, "meter: no device found")
		return 3
	case "csv":
		fmt.Println("t,V,A,marker")
	case "hangs":
		fmt.Println(`{"type":"meter","clock":"none","kind":"cumulative","rate":100}`)
	case "host":
		fmt.Println(`{"type":"meter","clock":"host","kind":"mean","rate":100,"resolution":{"W":0.001}}`)
	case "counter":
		fmt.Println(`{"type":"meter","clock":"none","kind":"cumulative","rate":100}`)
	}
	ended := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
	first := mono()
	for k := 0; ; k++ { // readings of every 10 ms, however late this process runs
		t := float64(k) / 100
		select {
		case <-ended:
			return 0
		case <-time.After(time.Duration((first + t - mono()) * 1e9)):
		}
		switch how {
		case "csv": // a device whose clock began at 1000 s and runs 0.1 % fast
			fmt.Printf("%.6f,5.0,0.2,%d\n", 1000+t*1.001, k/20%2)
			if k%10 == 5 {
				fmt.Println("A1: 3.09 V") // what some tools print in between
			}
		case "host":
			fmt.Printf("{\"t\":%.9f,\"W\":1.5,\"V\":5}\n", first+t)
		case "hangs":
			if k < 20 {
				fmt.Println(`{"J":1}`)
			}
		case "counter":
			fmt.Printf("{\"J\":%.6f}\n", (mono()-first)*2)
		}
	}
}

// openProgram opens this test binary as a meter.
func openProgram(t *testing.T, how string) (Meter, error) {
	t.Helper()
	t.Setenv("PRINT_READINGS", how)
	m, err := Open(t.Context(), fmt.Sprintf("exec:[%q]", os.Args[0]), Options{})
	if err == nil {
		t.Cleanup(func() { m.(io.Closer).Close() })
	}
	return m, err
}

func observe(t *testing.T, m Meter, length time.Duration) ([]measure.Sample, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var samples []measure.Sample
	err := m.Observe(ctx, func(s measure.Sample) { samples = append(samples, s) })
	return samples, err
}

func TestProgramsThatPrintReadings(t *testing.T) {
	for how, watts := range map[string]float64{"csv": 1, "host": 1.5, "counter": 2} {
		t.Run(how, func(t *testing.T) {
			m, err := openProgram(t, how)
			if err != nil {
				t.Fatal(err)
			}
			// Lines that wait for a CPU on their way are late, and say so only on average: then once more.
			for try := 1; ; try++ {
				err := readsAsPrinted(t, m, how, watts)
				if err == nil {
					break
				}
				if try == 10 {
					t.Fatal(err)
				}
				t.Logf("%v; once more", err)
			}
		})
	}
}

// readsAsPrinted observes for a second and a half, and finds what is wrong.
func readsAsPrinted(t *testing.T, m Meter, how string, watts float64) error {
	t.Helper()
	samples, err := observe(t, m, 1500*time.Millisecond)
	if err != nil {
		return err
	}
	j, err := energy.NewTrace(m.Facts(), samples).Energy(energy.Window{From: 200 * time.Millisecond,
		To: 1200 * time.Millisecond})
	if err != nil || math.Abs(j/watts-1) > 0.02 {
		return fmt.Errorf("%v: %.4f J in a second, want %g: %w", m.Facts().Interval, j, watts, err)
	}
	q := m.Stats()
	if how == "csv" {
		edges := 0
		for _, s := range samples {
			if s.Quantity == energy.Marker {
				edges++
			}
		}
		if q.Garbage < 5 || q.Clock.Method != "arrival" || math.Abs(q.Clock.Skew+0.001) > 0.003 || edges < 3 {
			return fmt.Errorf("%+v, %d edges; want the garbage counted, a skew of -0.1 %%", q, edges)
		}
	} else if q.Garbage != 0 {
		return fmt.Errorf("%+v", q)
	}
	return nil
}

// Neither a reader in a session of its own, which keeps the output open and gets no signal to the program's group, nor
// a program that is stopped is waited for.
func TestProgramThatDoesNotEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for name, then := range map[string]string{
		"left its group": `setsid sh -c 'trap "" HUP TERM; sleep 20' & wait`, "is stopped": `kill -STOP $$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv, err := json.Marshal([]string{"sh", "-c",
				`echo '{"type":"meter","clock":"none","kind":"cumulative","rate":100}'; ` + then})
			if err != nil {
				t.Fatal(err)
			}
			m, err := openExec(t.Context(), string(argv), Options{})
			if err != nil {
				t.Fatal(err)
			}
			closed := make(chan error, 1)
			go func() { closed <- m.(io.Closer).Close() }()
			select {
			case <-closed:
			case <-time.After(15 * time.Second):
				t.Errorf("the meter waits for a program that %s", name)
			}
		})
	}
}

func TestProgramsThatFail(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	if _, err := openProgram(t, "stubborn"); err == nil || !strings.Contains(err.Error(), "does not declare its rate") {
		t.Errorf("a program without rate or readings: %v", err)
	}
	m, err := openProgram(t, "dies")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := observe(t, m, 5*time.Second); err == nil ||
		!strings.Contains(err.Error(), "exited: meter: no device found") {
		t.Errorf("a program that dies: %v", err)
	}
	m, err = openProgram(t, "heedless")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m.(io.Closer).Close()
	if took := time.Since(began); took > 30*time.Second { // it would sleep for an hour
		t.Errorf("a program that heeds nothing took %v to end", took)
	}
	for spec, want := range map[string]string{
		"exec:":                         "no program",
		"exec:[1,2]":                    "not a JSON list",
		`exec:["/no/such/program"]`:     "no such file",
		`exec:["echo","hello"]`:         "neither V and A",
		`exec:["echo","{\"type\":1}"]`:  "cannot unmarshal",
		`exec:["true"]`:                 "closed its output",
		`exec:["sh","-c","echo x >&2"]`: "exited: x",
	} {
		if m, err := Open(t.Context(), spec, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v %v, want %q", spec, m, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	t.Setenv("PRINT_READINGS", "silent")
	if _, err := Open(ctx, fmt.Sprintf("exec:[%q]", os.Args[0]), Options{}); err == nil {
		t.Error("a silent program opened")
	}
}

// A program that falls silent ends the observation, not only the patience of who waits for the trial.
func TestProgramThatFallsSilent(t *testing.T) {
	m, err := openProgram(t, "hangs")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = observe(t, m, 8*time.Second)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "printed nothing for 1s") ||
		took < time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// A reading of an instantaneous meter that was dropped, or did not come, is a gap; one that is late is none.
func TestGapsOfPrograms(t *testing.T) {
	const every = 100 * time.Millisecond
	line := func(t float64, watts float64) []byte { return fmt.Appendf(nil, `{"t":%g,"W":%g}`, t, watts) }
	for _, c := range []struct {
		what  string
		clock clock
		kind  energy.Kind
		print func(i int) (at float64, watts float64) // NaN: nothing
		holed bool
	}{
		{"all there", clockHost, energy.Instant, func(i int) (float64, float64) { return float64(i) / 10, 1 }, false},
		{"one impossible", clockHost, energy.Instant, func(i int) (float64, float64) {
			return float64(i) / 10, map[bool]float64{true: 1e9, false: 1}[i == 20]
		}, true},
		{"one lacks", clockHost, energy.Instant, func(i int) (float64, float64) {
			return float64(i) / 10, map[bool]float64{true: math.NaN(), false: 1}[i == 20]
		}, true},
		{"one lacks, time of arrival", clockNone, energy.Instant, func(i int) (float64, float64) {
			return float64(i) / 10, map[bool]float64{true: math.NaN(), false: 1}[i == 20]
		}, true},
		{"one late", clockNone, energy.Instant, func(i int) (float64, float64) {
			return float64(i)/10 + map[bool]float64{true: 0.04}[i == 20], 1
		}, false},
		{"one impossible, means", clockHost, energy.Mean, func(i int) (float64, float64) {
			return float64(i) / 10, map[bool]float64{true: 1e9, false: 1}[i == 20]
		}, true},
	} {
		r := newExecRecord(time.Now())
		r.monoton = 0
		f := form{kind: c.kind, clock: c.clock}
		for i := range 50 {
			if at, watts := c.print(i); !math.IsNaN(watts) {
				r.take(f, line(at, watts), r.zero.Add(seconds(at)))
			}
		}
		at, err := r.times(c.clock)
		if err != nil {
			t.Fatal(c.what, err)
		}
		var samples []measure.Sample
		r.emit(f, every, at, func(s measure.Sample) { samples = append(samples, s) })
		trace := energy.NewTrace(energy.Facts{Kind: c.kind, Interval: every}, samples)
		if _, err := trace.Energy(energy.Window{From: time.Second, To: 3 * time.Second}); (err != nil) != c.holed {
			t.Errorf("%s: %v", c.what, err)
		}
		if _, err := trace.Energy(energy.Window{From: 3 * time.Second, To: 4 * time.Second}); err != nil {
			t.Errorf("%s, a window behind it: %v", c.what, err)
		}
	}
}

func TestLinesThatAreNoReadings(t *testing.T) {
	f, err := parseHeader("t,V,A,marker")
	if err != nil {
		t.Fatal(err)
	}
	r := newExecRecord(time.Now())
	for _, line := range []string{"", "1,2", "1,2,3,4,5", "x,5,1,0", "NaN,5,1,0", "1,5,NaN,0", "1e300,5,1,0", "1,5,,0",
		"A1: 3.09 V"} {
		r.take(f, []byte(line), time.Now())
	}
	if r.q.Garbage != 9 || r.q.Readings != 0 {
		t.Errorf("%d of 9 counted as garbage, %d as readings", r.q.Garbage, r.q.Readings)
	}
	r.take(f, []byte("1,5,933000,0"), time.Now())
	if r.q.Impossible != 1 {
		t.Error("933 kA passed")
	}
	r.take(f, []byte("2,5,1,0"), time.Now())
	r.take(f, []byte("1,5,1,0"), time.Now())
	if r.q.Steps != 1 || r.q.Readings != 1 || r.q.Err() == nil {
		t.Errorf("time that went back passed: %+v", r.q)
	}
	for _, bad := range []string{"t,t,V,A", "t,V", "", `{"type":"meter","kind":"odd"}`, `{"type":"meter","clock":"sun"}`,
		`{"type":"meter","rate":-1}`, `{"type":"dog"}`, "{"} {
		if _, err := parseHeader(bad); err == nil {
			t.Errorf("header %q passed", bad)
		}
	}
}

func FuzzExecLines(f *testing.F) {
	f.Add("t,V,A,marker", "1,5,0.2,0\n2,5,0.3,1\n")
	f.Add(`{"type":"meter","clock":"device","kind":"cumulative","rate":3}`, `{"t":1,"J":5}`+"\n"+`{"t":2,"J":1e999}`)
	f.Add("\uFEFFJ, t ,x", "1,2,3")
	f.Fuzz(func(t *testing.T, header, lines string) {
		form, err := parseHeader(header)
		if err != nil {
			return
		}
		r := newExecRecord(time.Now())
		n := uint64(0)
		for line := range strings.Lines(lines) {
			n++
			r.take(form, []byte(line), r.zero)
		}
		if q := r.q; q.Readings+q.Garbage+q.Impossible+q.Steps != n {
			t.Fatalf("%d lines, %+v", n, q)
		}
		at, _ := r.times(form.clock)
		r.emit(form, time.Second, at, func(s measure.Sample) {
			if math.IsInf(s.Value, 0) || math.IsNaN(s.Value) {
				t.Fatal(s)
			}
		})
	})
}

// A counter that goes back makes the observation invalid; one that stands is doubted.
func TestExecCounterThatGoesBack(t *testing.T) {
	for _, c := range []struct {
		joules     func(i int) float64
		err, doubt string
	}{
		{func(i int) float64 { return float64(i) }, "", ""},
		{func(i int) float64 { return float64(i % 40) }, "went backwards 1 times", ""},
		{func(i int) float64 { return float64(-i) }, "went backwards 49 times", ""},
		{func(int) float64 { return 7 }, "", "the same"},
	} {
		r := newExecRecord(time.Now())
		for i := range 50 {
			r.take(form{kind: energy.Cumulative, clock: clockNone}, fmt.Appendf(nil, `{"J":%g}`, c.joules(i)), time.Now())
		}
		if got := fmt.Sprint(r.q.Err()); (c.err == "") != (r.q.Err() == nil) || !strings.Contains(got, c.err) {
			t.Errorf("got %s, want %q", got, c.err)
		}
		if got := fmt.Sprint(r.q.Doubts()); (c.doubt == "") != (len(r.q.Doubts()) == 0) || !strings.Contains(got, c.doubt) {
			t.Errorf("got %s, want %q", got, c.doubt)
		}
	}
}
