// Package java_test tests what all Java stacks share, from outside.
package java_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device/sensor"
)

// A probe reads a sensor as the Java stacks do.
type probe struct {
	t    *testing.T
	ask  io.Writer
	said *bufio.Reader
}

// compiled is the folder of the shared classes and the probes. They are made once for all tests: that takes longer than
// most of them.
func compiled(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("javac is missing; run: apt-get install openjdk-17-jdk-headless")
	}
	if err := compile(); err != nil {
		t.Fatal(err)
	}
	return probes
}

// probes is where they are; it ends with all tests.
var probes string

func TestMain(m *testing.M) {
	var err error
	if probes, err = os.MkdirTemp("", "java-common"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(probes)
	os.Exit(code)
}

var compile = sync.OnceValue(func() error {
	sources, err := filepath.Glob("src/edgegauge/adapter/*.java")
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("no sources: %v", err)
	}
	args := append([]string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", // as build.sh has it
		"--release", "8", "-Xlint:-options", "-d", probes, "test/edgegauge/adapter/SensorProbe.java",
		"test/edgegauge/adapter/CallProbe.java", "test/edgegauge/adapter/ConnectProbe.java"}, sources...)
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

func open(t *testing.T, classes, name string) *probe {
	t.Helper()
	cmd := exec.Command("java", "-Xshare:auto", "-cp", classes, "edgegauge.adapter.SensorProbe", name)
	cmd.Stderr = os.Stderr
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
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &probe{t, in, bufio.NewReader(out)}
}

func (p *probe) read() string {
	p.t.Helper()
	fmt.Fprintln(p.ask)
	line, err := p.said.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestSensorsOfTheKernel(t *testing.T) {
	classes, dir := compiled(t), t.TempDir()
	for name, text := range map[string]string{
		"hwmon0/temp1_input": "21437\n", "iio0/in_temp_raw": "-312\n", "iio0/in_temp_scale": "62.5\n",
		"iio1/in_temp_input": "21500\n",
		"w1":                 "72 01 : crc=57 YES\n72 01 t=23125\n", "w1bad": "72 01 : crc=57 NO\n72 01 t=23125\n",
	} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"fixed:21.5": "2150", "hwmon:" + dir + "/hwmon0": "2144", "hwmon:" + dir + "/hwmon0/temp1_input": "2144",
		"iio:" + dir + "/iio0": "-1950",
		"iio:" + dir + "/iio1": "2150", "w1:" + dir + "/w1": "2313", "w1:" + dir + "/w1bad": "check sum",
		"pressure:1":              "no sensor",
		"serial:" + dir + "/none": "no such device", "serial:" + dir + "/w1": "no such device",
	} {
		if got := open(t, classes, name).read(); !strings.Contains(got, want) {
			t.Errorf("%s reads %s, want %s", name, got, want)
		}
	}
	if _, err := os.Stat(dir + "/none"); err == nil {
		t.Error("a sensor that was not there is a file now")
	}
}

// Whatever is wrong with a sensor is said within the limit, and the next reading is right.
func TestBadDaysOfASensor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tty")
	p := open(t, compiled(t), "serial:"+name)
	for _, x := range []struct {
		name   string
		behave func(*sensor.Line)
		want   string
	}{
		{"unplugged", nil, "no such device"},
		{"silent", func(*sensor.Line) {}, "was silent"},
		{"babbling", babble, "babbles"},
		{"no number", func(l *sensor.Line) { answer(l, "error\n") }, "no temperature"},
		{"half a line", func(l *sensor.Line) { answer(l, "50\n") }, "no temperature"},
		{"no end of line", func(l *sensor.Line) { answer(l, "21.50") }, "was silent"},
	} {
		t.Run(x.name, func(t *testing.T) {
			pull := func() {}
			if x.behave != nil {
				pull = plug(t, name, x.behave)
			}
			began := time.Now()
			if got := p.read(); !strings.Contains(got, x.want) {
				t.Errorf("got %q, want %q", got, x.want)
			}
			if took := time.Since(began); took > 8*time.Second { // the limit, and a busy machine
				t.Errorf("it took %v", took)
			}
			pull()
			pull = plug(t, name, func(l *sensor.Line) { l.Serve() })
			defer pull()
			if got, err := strconv.Atoi(p.read()); err != nil || got < 2000 || got > 2500 {
				t.Errorf("the next reading is %d: %v", got, err)
			}
		})
	}
}

// plug plugs in a sensor; what it returns pulls it.
func plug(t *testing.T, name string, behave func(*sensor.Line)) (pull func()) {
	t.Helper()
	l, err := sensor.NewLine()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.Device, name); err != nil {
		t.Fatal(err)
	}
	go behave(l)
	return func() {
		l.Close()
		os.Remove(name)
	}
}

func babble(l *sensor.Line) {
	for {
		if _, err := l.Write([]byte("21.50\n1.23\n")); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// answer says the text to every question.
func answer(l *sensor.Line, text string) {
	for b := make([]byte, 1); ; {
		if _, err := l.Read(b); err != nil {
			return
		}
		if b[0] == 'T' {
			l.Write([]byte(text))
		}
	}
}
