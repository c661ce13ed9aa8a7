package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A monitor speaks with a running QEMU: the QEMU Machine Protocol, a JSON object
// a line in either direction (docs/interop/qmp-spec.txt). It is not for
// concurrent use.
type monitor struct {
	conn net.Conn
	in   *bufio.Reader
}

// mostLine is how long a line of QEMU's may be.
const mostLine = 1 << 20 // B

// line reads the next line.
func (m *monitor) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > mostLine {
			return line, fmt.Errorf("a line of more than %d B", mostLine)
		}
	}
}

// errMonitor means that QEMU does not answer as it should.
var errMonitor = errors.New("its monitor")

// dialMonitor connects to the socket in a machine's folder, which QEMU makes when it
// starts, and leaves the negotiation that a connection begins with.
func dialMonitor(ctx context.Context, dir string) (*monitor, error) {
	for {
		conn, err := kernel.DialUnix(ctx, filepath.Join(dir, monitorFile))
		if err == nil {
			m := &monitor{conn: conn, in: bufio.NewReader(conn)}
			if err := m.greet(ctx); err != nil {
				conn.Close()
				return nil, err
			}
			return m, nil
		}
		soon := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) // it is not yet there, or not yet listens
		if !soon && ctx.Err() == nil {
			return nil, fmt.Errorf("%w: %w", errMonitor, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w: %w", errMonitor, context.Cause(ctx), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (m *monitor) greet(ctx context.Context) error {
	defer m.within(ctx)()
	line, err := m.line()
	if err != nil {
		return fmt.Errorf("%w did not greet: %w", errMonitor, err)
	}
	if !strings.Contains(string(line), `"QMP"`) {
		return fmt.Errorf("%w sent %.200q, not a greeting", errMonitor, line)
	}
	return m.do(ctx, "qmp_capabilities", nil, nil)
}

// within makes ctx's end break a pending read or write.
func (m *monitor) within(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, func() { m.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// do runs a command and reads what it returns into result, if that is not nil.
func (m *monitor) do(ctx context.Context, command string, arguments map[string]any, result any) error {
	defer m.within(ctx)()
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := m.conn.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%w: %s: %w", errMonitor, command, err)
	}
	for {
		line, err := m.line()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", errMonitor, command, err)
		}
		var answer struct {
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Class string `json:"class"`
				Desc  string `json:"desc"`
			} `json:"error"`
			Event string `json:"event"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("%w: %s: sent %.200q", errMonitor, command, line)
		}
		switch {
		case answer.Event != "": // comes between answers
		case answer.Error != nil:
			return fmt.Errorf("%w: %s: %.1000s", errMonitor, command, answer.Error.Desc)
		case result != nil:
			if err := json.Unmarshal(answer.Return, result); err != nil {
				return fmt.Errorf("%w: %s: returned %.200q: %w", errMonitor, command, answer.Return, err)
			}
			return nil
		default:
			return nil
		}
	}
}

// status is QEMU's run state, such as running, paused or inmigrate.
func (m *monitor) status(ctx context.Context) (string, error) {
	var s struct {
		Status string `json:"status"`
	}
	err := m.do(ctx, "query-status", nil, &s)
	return s.Status, err
}

// until polls the run state until it is wanted.
func (m *monitor) until(ctx context.Context, wanted string) error {
	for {
		s, err := m.status(ctx)
		if err != nil || s == wanted {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%w: it is %s, not %s: %w", errMonitor, s, wanted, err)
		}
	}
}

// save writes the machine's state to file and leaves the machine stopped.
func (m *monitor) save(ctx context.Context, file string) error {
	if err := m.do(ctx, "stop", nil, nil); err != nil {
		return err
	}
	if err := m.do(ctx, "migrate-set-parameters", map[string]any{"max-bandwidth": int64(10) << 30}, nil); err != nil {
		return err
	}
	if err := m.do(ctx, "migrate", map[string]any{"uri": "exec:cat > " + shellQuote(file)}, nil); err != nil {
		return err
	}
	for {
		var s struct {
			Status string `json:"status"`
			Error  string `json:"error-desc"`
		}
		if err := m.do(ctx, "query-migrate", nil, &s); err != nil {
			return err
		}
		switch s.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("%w: the state could not be saved to %s: %s %s", errMonitor, file, s.Status, s.Error)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (m *monitor) close() { m.conn.Close() }

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
