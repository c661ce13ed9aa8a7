package reference

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

func TestSensorsOfTheKernel(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("hwmon0/temp1_input", "21437\n")
	file("iio0/in_temp_raw", "-312\n")
	file("iio0/in_temp_scale", "62.5\n")
	file("iio1/in_temp_input", "21500\n")
	file("iio2/in_temp_raw", "100\n")
	file("iio2/in_temp_scale", "10\n")
	file("iio2/in_temp_offset", "-20.5\n")
	good := "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n"
	for _, x := range []struct {
		name string
		want int64
		err  string
	}{
		{"fixed:21.5", 2150, ""},
		{"fixed:warm", 0, "not a temperature"},
		{"hwmon:" + filepath.Join(dir, "hwmon0"), 2144, ""}, // 21.437 °C
		{"hwmon:" + filepath.Join(dir, "hwmon0/temp1_input"), 2144, ""},
		{"hwmon:" + filepath.Join(dir, "hwmon1"), 0, "no such file"},
		{"iio:" + filepath.Join(dir, "iio0"), -1950, ""}, // -312 × 62.5 m°C
		{"iio:" + filepath.Join(dir, "iio1"), 2150, ""},
		{"iio:" + filepath.Join(dir, "iio2"), 80, ""}, // (100 - 20.5) × 10 = 795 m°C
		{"w1:" + file("w1_slave", good), 2313, ""},
		{"w1:" + file("w1_bad", strings.Replace(good, "YES", "NO", 1)), 0, "checksum is wrong"},
		{"w1:28-none", 0, "no such file"},
		{"pressure:1", 0, "supported: fixed:CELSIUS"},
		{"program:read x; echo 19.25", 1925, ""},
		{"program:exit 3", 0, "was disconnected"},
	} {
		s, err := openSensor(x.name)
		if err == nil {
			var got int64
			got, err = s.read()
			s.close()
			if err == nil && got != x.want {
				t.Errorf("%s reads %d, want %d", x.name, got, x.want)
			}
		}
		if x.err == "" && err != nil || x.err != "" && (err == nil || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%s: got %v, want %q", x.name, err, x.err)
		}
	}
}

// What a program that is a sensor has started ends with it, and who still waits for a reading does not start it again.
func TestClosedProgramLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := openSensor("program:cd " + dir + "; sleep 1000 & echo $$ $! >>pids; while read x; do echo 20.00; done")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.read(); got != 2000 || err != nil {
		t.Fatalf("read %d, %v", got, err)
	}
	s.close()
	if _, err := s.read(); !errors.Is(err, errOver) {
		t.Errorf("reading when it was closed: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "pids"))
	pids := strings.Fields(string(b))
	if err != nil || len(pids) != 2 {
		t.Fatalf("started %q, %v", b, err)
	}
	for _, pid := range pids {
		n, _ := strconv.Atoi(pid)
		if p, err := kernel.ReadProcess(n); err == nil && !p.Ended() {
			t.Errorf("process %d is left", n)
			unix.Kill(n, unix.SIGKILL)
		}
	}
}

// A plug is a serial sensor whose device keeps its name while it is pulled and plugged in.
type plug struct {
	t    *testing.T
	name string
	line *sensor.Line
}

func newPlug(t *testing.T) *plug {
	p := &plug{t: t, name: filepath.Join(t.TempDir(), "tty")}
	t.Cleanup(p.pull)
	return p
}

// in plugs in a sensor that does what behave does with each question.
func (p *plug) in(behave func(*sensor.Line)) {
	p.t.Helper()
	p.pull()
	var err error
	if p.line, err = sensor.NewLine(); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(p.line.Device, p.name); err != nil {
		p.t.Fatal(err)
	}
	go behave(p.line)
}

func (p *plug) pull() {
	if p.line != nil {
		p.line.Close()
		os.Remove(p.name)
	}
	p.line = nil
}

func works(l *sensor.Line) { l.Serve() }

func silent(*sensor.Line) {}

func babbles(l *sensor.Line) {
	for {
		if _, err := l.Write([]byte("21.50\n1.23\n")); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// answers says the text to every question.
func answers(text string) func(*sensor.Line) {
	return func(l *sensor.Line) {
		for b := make([]byte, 1); ; {
			if _, err := l.Read(b); err != nil {
				return
			}
			if b[0] == 'T' {
				l.Write([]byte(text))
			}
		}
	}
}

// Whatever is wrong with a sensor is said within the limit, and the next reading is right.
func TestBadDaysOfASensor(t *testing.T) {
	t.Parallel()
	p := newPlug(t)
	s, err := openSensor("serial:" + p.name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, x := range []struct {
		name string
		do   func()
		want string
	}{
		{"never plugged in", func() {}, "no such file"},
		{"silent", func() { p.in(silent) }, "did not answer"},
		{"babbling", func() { p.in(babbles) }, "babbles"},
		{"unplugged while open", func() { p.in(works); s.read(); p.pull() }, ""},
		{"no number", func() { p.in(answers("error\n")) }, "with a temperature"},
		{"half a line", func() { p.in(answers("50\n")) }, "with a temperature"},
		{"no end of line", func() { p.in(answers("21.50")) }, "did not answer"},
		{"hotter than any sensor reads", func() { p.in(answers("2150.00\n")) }, "with a temperature"},
		{"an endless line", func() { p.in(answers(strings.Repeat("1", 40))) }, "babbles"},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.do()
			began := time.Now()
			got, err := s.read()
			took := time.Since(began)
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %d and %v, want an error that says %q", got, err, x.want)
			}
			if took > sensorLimit+5*time.Second { // the limit, and a busy machine
				t.Errorf("it took %v to say so", took)
			}
			p.in(works)
			if got, err := s.read(); err != nil || got < 2000 || got > 2500 {
				t.Errorf("the next reading is %d: %v", got, err)
			}
		})
	}
}

// An answer that comes after its reader gave up is not the next one's.
func TestLateAnswerIsNotTheNext(t *testing.T) {
	t.Parallel()
	p := newPlug(t)
	var questions atomic.Int64
	late := make(chan struct{})
	p.in(func(l *sensor.Line) {
		for b := make([]byte, 1); ; {
			if _, err := l.Read(b); err != nil {
				return
			}
			if b[0] != 'T' {
				continue
			}
			if questions.Add(1) == 2 {
				l.Write([]byte("11.11\n")) // of the first question, which timed out
				continue
			}
			time.AfterFunc(sensorLimit+200*time.Millisecond, func() {
				l.Write([]byte("22.22\n"))
				close(late)
			})
		}
	})
	s, _ := openSensor("serial:" + p.name)
	defer s.close()
	if _, err := s.read(); err == nil {
		t.Fatal("the first reading was not late")
	}
	<-late
	time.Sleep(200 * time.Millisecond) // its answer lies waiting now
	if got, err := s.read(); err != nil || got != 1111 {
		t.Errorf("got %d, want the answer to the second question: %v", got, err)
	}
}

// Readers of one line, in this process and through a second opening of it as another process has, wait for each other.
func TestReadersTakeTurns(t *testing.T) {
	p := newPlug(t)
	var asked, overlaps atomic.Int64
	p.in(func(l *sensor.Line) {
		for b := make([]byte, 1); ; {
			if _, err := l.Read(b); err != nil {
				return
			}
			if b[0] != 'T' {
				continue
			}
			if asked.Add(1) > 1 {
				overlaps.Add(1)
			}
			time.Sleep(2 * time.Millisecond)
			asked.Add(-1)
			l.Write([]byte("21.50\n"))
		}
	})
	var all sync.WaitGroup
	for range 2 {
		s, _ := openSensor("serial:" + p.name)
		t.Cleanup(s.close)
		for range 3 {
			all.Go(func() {
				for range 10 {
					if got, err := s.read(); err != nil || got != 2150 {
						t.Errorf("got %d: %v", got, err)
					}
				}
			})
		}
	}
	all.Wait()
	if n := overlaps.Load(); n > 0 {
		t.Errorf("%d questions came before the answer to another", n)
	}
}

// What the sensor took is its own figure, and a part of processing.
func TestSensorTimeIsPartOfProcessing(t *testing.T) {
	p := newPlug(t)
	p.in(works)
	w, err := newWorkers(stack.Serve{Service: "temperature", Sensor: "serial:" + p.name}, codec.JSON)
	if err != nil {
		t.Fatal(err)
	}
	defer w.sensor.close()
	x := w.pool.Get().(*worker)
	x.body = codec.Append(codec.JSON, nil, service.Temperature, false, &service.Message{})
	if err := w.work(x); err != nil {
		t.Fatal(err)
	}
	w.keep(x)
	const line = 7 * time.Second / 960 // seven bytes at 9600 Bd: no reading is quicker
	n := 0
	for e := range w.kept.take().exchanges() {
		n++
		if e.Sensor < line || e.Sensor > e.Processing || e.Processing > e.Total {
			t.Errorf("sensor %v, processing %v, total %v", e.Sensor, e.Processing, e.Total)
		}
	}
	if n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}
