package sensor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// byteTime is that of ten bits at 9600 Bd: start, eight of data, stop.
const byteTime = time.Second / 960

// A Line is a simulated thermometer on a pseudo terminal.
type Line struct {
	Device string // the terminal's name, for whoever reads it
	pty    *kernel.PTY
}

// NewLine makes a line whose sensor is not connected yet. Every user may read it:
// a CGI runs as another one.
func NewLine() (*Line, error) {
	pty, err := kernel.NewPTY(9600)
	if err != nil {
		return nil, err
	}
	return &Line{Device: pty.Name, pty: pty}, nil
}

// Close unplugs the sensor.
func (l *Line) Close() error { return l.pty.Close() }

// Read and Write are the sensor's end of the line, unpaced.
func (l *Line) Read(b []byte) (int, error) { return l.pty.Master.Read(b) }

// Write sends bytes to whoever reads the sensor.
func (l *Line) Write(b []byte) (int, error) { return l.pty.Master.Write(b) }

// Serve answers each "T" with a temperature, no byte sooner than its line lets
// it through, until the line is closed.
func (l *Line) Serve() error {
	began := time.Now()
	var b [1]byte
	for {
		if _, err := l.Read(b[:]); err != nil {
			return err
		}
		arrived := time.Now().Add(byteTime)
		if b[0] != 'T' {
			continue
		}
		for i, c := range []byte(reading(time.Since(began))) {
			time.Sleep(time.Until(arrived.Add(time.Duration(i+1) * byteTime)))
			if _, err := l.Write([]byte{c}); err != nil {
				return err
			}
		}
	}
}

// reading is between 20 and 25 °C and back within 100 s, so that successive ones differ.
func reading(since time.Duration) string {
	t := since % (100 * time.Second)
	if t > 50*time.Second {
		t = 100*time.Second - t
	}
	return fmt.Sprintf("%.2f\n", 20+t.Seconds()/10)
}

// Main is the simulation in Go as a program of its own: it says Ready, and ends
// when stdin ends.
func Main(in io.Reader, out io.Writer) int {
	l, err := NewLine()
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate a sensor: %v\n", err)
		return 1
	}
	json.NewEncoder(out).Encode(Ready{Device: l.Device})
	go l.Serve()
	io.Copy(io.Discard, in)
	l.Close()
	return 0
}
