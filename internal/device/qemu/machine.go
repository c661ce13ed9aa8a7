package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
)

// A machine is a running QEMU in a folder of its own, below a supervisor: it dies
// with its lab.
type machine struct {
	board   Board
	dir     string
	process *device.Process
	monitor *monitor
	ended   atomic.Bool
	why     atomic.Pointer[error] // how QEMU ended, once it is known
}

// boot starts QEMU in dir, which holds what its command line names.
func boot(ctx context.Context, exe string, b Board, dir string, c device.Command) (*machine, error) {
	path, _, err := b.emulator(ctx)
	if err != nil {
		return nil, err
	}
	c.Argv, c.Dir, c.Log = append([]string{path}, c.Argv[1:]...), dir, filepath.Join(dir, errorsFile)
	m := &machine{board: b, dir: dir}
	if m.process, err = (device.Local{Exe: exe}).Start(ctx, c); err != nil {
		return nil, fmt.Errorf("device %s: %w", b.Name, err)
	}
	dial, cancel := context.WithTimeoutCause(ctx, monitorPatience, fmt.Errorf("no answer within %v", monitorPatience))
	defer cancel()
	dial, gone := m.whileAlive(dial)
	defer gone()
	if m.monitor, err = dialMonitor(dial, dir); err != nil {
		return nil, errors.Join(m.blame(err), m.end())
	}
	return m, nil
}

// machinePrefix begins the name of each running machine's folder.
const machinePrefix = "edgegauge-machine-"

const (
	errorsFile      = "qemu.log" // what QEMU itself says
	monitorPatience = 20 * time.Second
)

var errQEMUEnded = errors.New("QEMU exited")

// whileAlive is ctx while QEMU runs.
func (m *machine) whileAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case e, ok := <-m.process.Exited():
			if ok {
				why := fmt.Errorf("%w with %s", errQEMUEnded, e.Reason())
				m.why.Store(&why)
				m.ended.Store(true)
			}
			if why := m.why.Load(); why != nil { // it is told once, perhaps to an earlier context
				cancel(*why)
				break
			}
			cancel(errQEMUEnded)
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// end ends QEMU, whatever state it is in.
func (m *machine) end() error {
	if m.monitor != nil {
		m.monitor.close()
		m.monitor = nil
	}
	if !m.ended.Swap(true) {
		m.process.Kill()
	}
	return nil
}

// blame adds what QEMU and the guest said last.
func (m *machine) blame(err error) error {
	for _, f := range []string{errorsFile, consoleFile} {
		if line := lastLine(filepath.Join(m.dir, f)); line != "" {
			return fmt.Errorf("device %s: %w; its last output: %s", m.board.Name, err, line)
		}
	}
	return fmt.Errorf("device %s: %w; neither QEMU nor the guest printed anything", m.board.Name, err)
}

// harmless are lines of QEMU's that mean nothing here.
var harmless = lazy.Regexp(`audiodev default parameter|Bad register offset`)

func lastLine(file string) string {
	b, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{'\r'}, nil))), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" && !harmless().MatchString(l) {
			return l[:min(len(l), 200)]
		}
	}
	return ""
}

// A console follows what the guest writes on its serial line.
type console struct {
	file string
	at   int64
	held []byte
}

// next returns the next whole line, waiting for it while ctx lasts.
func (c *console) next(ctx context.Context) (string, error) {
	for {
		if line, rest, ok := bytes.Cut(c.held, []byte{'\n'}); ok {
			c.held = rest
			return strings.TrimRight(string(line), "\r"), nil
		}
		n, err := c.read()
		if err != nil {
			return "", err
		}
		if n == 0 {
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				if n, _ := c.read(); n > 0 { // it may have ended right after its last word
					continue
				}
				return "", err
			}
		}
	}
}

func (c *console) read() (int, error) {
	f, err := os.Open(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 1<<16)
	n, err := f.ReadAt(buf, c.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	c.at += int64(n)
	c.held = append(c.held, buf[:n]...)
	return n, nil
}

// oldest is the oldest QEMU whose options are those used here: dtb-randomness is of 7.1.
var oldest = [2]int{7, 1}

// emulator is the board's QEMU and its version line. The error says what to do where it
// is missing or too old.
func (b Board) emulator(ctx context.Context) (path, line string, err error) {
	if path, err = exec.LookPath(b.Program); err != nil {
		return "", "", fmt.Errorf("device %s: %s is missing; run: apt-get install qemu-system-arm", b.Name, b.Program)
	}
	v, err := device.AskQEMU(ctx, path)
	if err == nil {
		err = v.AtLeast(path, oldest)
	}
	if err != nil {
		return path, v.Line, fmt.Errorf("device %s: %w", b.Name, err)
	}
	return path, v.Line, nil
}

// Usable says why the board's QEMU cannot run it here, and what to do.
func (b Board) Usable(ctx context.Context) error {
	_, _, err := b.emulator(ctx)
	return err
}

// Check says whether the board's machine can run here: its image, its QEMU, and the
// network that free and paced machines have, which card says why it cannot be made.
// Dir is the image's folder.
func (b Board) Check(ctx context.Context, dir string, card error) []device.Finding {
	image := device.Finding{What: "image", Says: "built"}
	if _, err := OpenImage(b, dir); err != nil {
		image = device.Finding{What: "image", Says: "cannot be used", Do: err.Error(), Bad: true}
	}
	program := device.Finding{What: "emulator"}
	_, says, err := b.emulator(ctx)
	if program.Says = says; err != nil {
		program.Says, program.Do, program.Bad = b.Program+" cannot be used", err.Error(), true
	}
	network := device.Finding{What: "network", Says: "a network card can be created"}
	if card == nil {
		card = canTUN(kernel.TUN)
	}
	if card != nil {
		network.Says = "none: free and paced machines cannot be reached; those with time: instructions need none"
		network.Do = card.Error()
	}
	return []device.Finding{image, program, network}
}
