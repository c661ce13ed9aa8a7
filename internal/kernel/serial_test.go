package kernel

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
)

// Every byte passes both ways as it is, among them those that terminals change.
func TestSerialChangesNoByte(t *testing.T) {
	pty, err := NewPTY(9600)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	line, err := OpenSerial(pty.Name, 250000)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, way := range []struct {
		name     string
		from, to *os.File
	}{{"to the line", pty.Master, line}, {"from the line", line, pty.Master}} {
		if _, err := way.from.Write(all); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(all))
		way.to.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadFull(way.to, got); err != nil || string(got) != string(all) {
			t.Errorf("%s: got %x, %v, want every byte once", way.name, got, err)
		}
	}
	// Note: a pseudo terminal keeps no speed but those with names, so it is not read back.
	line.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := line.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestSerialAlone(t *testing.T) {
	pty, err := NewPTY(9600)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	line, err := OpenSerialAlone(pty.Name, 9600)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := OpenSerialAlone(pty.Name, 9600); !errors.Is(err, unix.EBUSY) {
		f.Close()
		t.Errorf("got %v, want busy", err)
	}
	line.Close()
	if line, err = OpenSerialAlone(pty.Name, 9600); err != nil {
		t.Fatal(err)
	}
	line.Close()
}

func TestNoSerialLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	for path, want := range map[string]error{file: unix.ENOTTY, "/dev/null": unix.ENOTTY, file + "x": fs.ErrNotExist} {
		if f, err := OpenSerial(path, 9600); !errors.Is(err, want) {
			f.Close()
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := MakeRaw(f); err != nil {
		t.Errorf("a file is no terminal, and needs nothing: %v", err)
	}
}

func TestReadNumber(t *testing.T) {
	root := fstest.MapFS{}
	for name, text := range map[string]string{"milli": " 21437\n", "negative": "-312", "words": "lots", "empty": "",
		"nan": "NaN", "inf": "1e999"} {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, x := range []struct {
		name  string
		want  float64
		fails string
	}{
		{"milli", 21.437, ""}, {"negative", -0.312, ""},
		{"words", 0, `words holds "lots"`}, {"empty", 0, `holds ""`}, {"nan", 0, "not a number"}, {"inf", 0, "not a number"},
		{"none", 0, "not exist"},
	} {
		got, err := ReadNumber(root, x.name, 1e-3)
		if x.fails == "" && (err != nil || math.Abs(got-x.want) > 1e-12) || x.fails != "" &&
			(err == nil || !strings.Contains(err.Error(), x.fails) || !math.IsNaN(got)) {
			t.Errorf("%s: got %v, %v, want %v, %q", x.name, got, err, x.want, x.fails)
		}
	}
	if got, err := ReadOptional(root, "none", 1); err != nil || !math.IsNaN(got) {
		t.Errorf("a missing optional number: got %v, %v, want NaN", got, err)
	}
	if _, err := ReadOptional(root, "words", 1); err == nil {
		t.Error("an optional number may be missing, not wrong")
	}
	file := filepath.Join(t.TempDir(), "temp1_input")
	os.WriteFile(file, []byte("21437\n"), 0o600)
	if got, err := ReadNumberAt(file, 1e-3); err != nil || got != 21.437 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestOpenTUNSaysWhatToDo(t *testing.T) {
	if fd, err := OpenTUN(filepath.Join(t.TempDir(), "tun")); err == nil ||
		!strings.Contains(err.Error(), "modprobe tun") {
		t.Errorf("got %d, %v", fd, err)
	}
}
