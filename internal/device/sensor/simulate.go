package sensor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// byteTime is that of ten bits at 9600 Bd: start, eight of data, stop.
const byteTime = time.Second / 960

// A Line is a simulated thermometer on a pseudo terminal.
type Line struct {
	Device string // the terminal's name, for who reads it
	master *os.File
	line   *os.File // kept open: no EIO while nobody reads
}

// NewLine makes a line whose sensor is not connected yet.
func NewLine() (*Line, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	l := &Line{master: master}
	conn, err := master.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed != nil {
			return
		}
		var n int
		n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		l.Device = fmt.Sprintf("/dev/pts/%d", n)
	})
	if err == nil {
		err = failed
	}
	if err == nil {
		err = l.raw()
	}
	if err != nil {
		master.Close()
		return nil, fmt.Errorf("pseudo terminal: %w", err)
	}
	return l, nil
}

// raw makes the terminal pass bytes as they are, to and from every user: a CGI
// runs as another one.
func (l *Line) raw() error {
	fd, err := unix.Open(l.Device, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	l.line = os.NewFile(uintptr(fd), l.Device)
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag, t.Cflag = 0, 0, 0, unix.CS8|unix.CREAD|unix.CLOCAL|unix.B9600
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, t); err != nil {
		return err
	}
	return unix.Fchmod(fd, 0o666)
}

// Close unplugs the sensor.
func (l *Line) Close() error {
	l.line.Close()
	return l.master.Close()
}

// Read and Write are the sensor's end of the line, unpaced.
func (l *Line) Read(b []byte) (int, error)  { return l.master.Read(b) }
func (l *Line) Write(b []byte) (int, error) { return l.master.Write(b) }

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
