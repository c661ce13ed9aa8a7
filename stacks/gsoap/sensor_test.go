package gsoap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// Whatever is wrong with the sensor is a SOAP fault within the time limit, and the next reading is right: stand-alone
// and as a CGI, whose every request
// is a process of its own.
func TestBadDaysOfASensor(t *testing.T) {
	for _, program := range []string{"../gsoap/build/gsoap", "../gsoap-apache/build/gsoap-apache"} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			stacktest.Built(t, ".")
			if d, err := stack.Read("../gsoap-apache"); err != nil || len(d.Missing(t.Context())) > 0 {
				t.Skip("Apache is missing")
			}
			dir, err := os.MkdirTemp("", "sensor-test-") // Apache's workers are another user: t.TempDir is closed to them
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			os.Chmod(dir, 0o755)
			tty := filepath.Join(dir, "tty")
			url := serveSensor(t, program, "serial:"+tty, dir)
			for _, x := range []struct {
				name   string
				behave func(*sensor.Line)
				want   string
			}{
				{"unplugged", nil, "No such file"},
				{"silent", func(*sensor.Line) {}, "was silent"},
				{"babbling", babble, "babbles"},
				{"no number", func(l *sensor.Line) { answer(l, "error\n") }, "no temperature"},
				{"no end of line", func(l *sensor.Line) { answer(l, "21.50") }, "did not end"},
			} {
				t.Run(x.name, func(t *testing.T) {
					if x.behave != nil {
						defer plug(t, tty, x.behave)()
					}
					began := time.Now()
					status, text := post(t, url, []byte(question))
					if took := time.Since(began); took > 4*time.Second || status != 500 || !strings.Contains(text, "Fault>") ||
						!strings.Contains(text, x.want) {
						t.Errorf("after %v: %d, want a fault that says %q: %s", took, status, x.want, text)
					}
				})
				pull := plug(t, tty, func(l *sensor.Line) { l.Serve() })
				if status, text := post(t, url, []byte(question)); status != 200 || !strings.Contains(text, "celsius>2") {
					t.Errorf("after %s the next reading is %d: %s", x.name, status, text)
				}
				pull()
			}
		})
	}
}

// Many at a time take turns at the line, and what it took is told of each.
func TestReadersTakeTurns(t *testing.T) {
	for _, program := range []string{"../gsoap/build/gsoap", "../gsoap-apache/build/gsoap-apache"} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			stacktest.Built(t, ".")
			dir, err := os.MkdirTemp("", "sensor-test-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			os.Chmod(dir, 0o755)
			tty := filepath.Join(dir, "tty")
			defer plug(t, tty, func(l *sensor.Line) { l.Serve() })()
			srv := stacktest.Start(t, "", program, "serve")
			ready, err := srv.Serve(within(t), temperature("serial:"+tty, dir))
			if err != nil {
				t.Fatal(err)
			}
			client := stacktest.Start(t, "", "build/gsoap", "call")
			_, err = client.Call(within(t), stack.Call{URL: ready.URL, Service: "temperature", Encoding: "soap11",
				Security: "none", Message: stack.Message{Seed: 7},
				Connection: "per-request", Timeout: int64(10 * time.Second)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Run(within(t), stack.Run{Requests: 40, Record: true, Concurrency: 4}, func(x measure.Exchange) {
				if x.Failure != "" {
					t.Errorf("request %d: %s", x.Seq, x.Failure)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			const line = 7 * time.Second / 960 // seven bytes at 9600 Bd
			_, err = srv.Report(within(t), false, func(x measure.Exchange) {
				n++
				if x.Sensor < line || x.Sensor > x.Processing {
					t.Errorf("request %d: sensor %v, processing %v", x.Seq, x.Sensor, x.Processing)
				}
			})
			if err != nil || n != 40 {
				t.Errorf("%d records, want 40: %v", n, err)
			}
		})
	}
}

const question = `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>` +
	`<temperature xmlns="urn:edgegauge:services:1"/></e:Body></e:Envelope>`

func temperature(name, dir string) stack.Serve {
	return stack.Serve{Service: "temperature", Encoding: "soap11", Security: "none", Transport: "http", Host: "127.0.0.1",
		Limits: stack.Limits{Body: 1e6},
		Sensor: name, Directory: dir}
}

func serveSensor(t *testing.T, program, name, dir string) string {
	t.Helper()
	ready, err := stacktest.Start(t, "", program, "serve").Serve(within(t), temperature(name, dir))
	if err != nil {
		t.Fatal(err)
	}
	return ready.URL
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
