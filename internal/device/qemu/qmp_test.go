package qemu

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
	"time"
)

// said is a QEMU that has said all it will, and hears everything.
type said struct {
	net.Conn
	*bytes.Reader
}

func (s said) Read(b []byte) (int, error) { return s.Reader.Read(b) }
func (said) Write(b []byte) (int, error)  { return len(b), nil }
func (said) SetDeadline(time.Time) error  { return nil }
func (said) Close() error                 { return nil }
func monitorOf(text []byte) *monitor {
	s := said{Reader: bytes.NewReader(text)}
	return &monitor{conn: s, in: bufio.NewReader(s)}
}

// Whatever stands in QEMU's place says, each command ends with an answer or with an error that says whose fault it
// is, in few words.
func FuzzMonitor(f *testing.F) {
	f.Add([]byte("{\"QMP\":{}}\n{\"return\":{}}\n{\"event\":\"STOP\"}\n{\"return\":{\"status\":\"running\"}}\n"))
	f.Add([]byte("{\"QMP\":{}}\n{\"return\":{}}\n{\"error\":{\"class\":\"x\",\"desc\":\"y\"}}\n"))
	f.Add([]byte("{\"QMP\":{}}\n{\"return\":{}}\n{\"return\":[]}\n"))
	f.Add([]byte("{\"QMP\":{}}\nnull\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := monitorOf(text)
		err := m.greet(t.Context())
		if err == nil {
			_, err = m.status(t.Context())
		}
		if err != nil && (!strings.Contains(err.Error(), errMonitor.Error()) || len(err.Error()) > 5000) {
			t.Fatalf("%d B: %.300v", len(err.Error()), err)
		}
	})
}

// A line without an end is not kept whole.
func TestMonitorOfEndlessLines(t *testing.T) {
	m := monitorOf(bytes.Repeat([]byte("x"), 8*mostLine))
	err := m.greet(t.Context())
	if err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("got %v", err)
	}
	if left := m.conn.(said).Len(); left < 6*mostLine {
		t.Errorf("%d B of %d were read", 8*mostLine-left, 8*mostLine)
	}
}
