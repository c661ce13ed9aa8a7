package ssh

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	crypto "golang.org/x/crypto/ssh"

	"edgegauge.example/edgegauge/internal/device"
)

const elsewhere = "name another folder to work in, such as ssh://pi@board/home/pi"

// sh runs a script in the board's shell, whatever the user's own is, until ctx ends. A board that says nothing even
// then loses the connection.
func sh(ctx context.Context, c *crypto.Client, script string, stdin io.Reader) (string, error) {
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(farewell):
			c.Close()
		}
	})()
	s, err := c.NewSession()
	if err != nil {
		return "", cmp.Or(context.Cause(ctx), err)
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { s.Close() })()
	var out, said bytes.Buffer
	s.Stdin, s.Stdout, s.Stderr = stdin, &out, &said
	err = s.Run("exec sh -c " + quote(script))
	var status *crypto.ExitError
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &status):
		// no refusal: a board that is booting has no folders yet, or lets no users in (nologin(5))
		return out.String(), fmt.Errorf("%s (status %d)", lastLine(said.String()), status.ExitStatus())
	}
	return out.String(), err
}

// within limits the wait for a board's answer.
func within(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, most, fmt.Errorf("no answer within %v", most))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// A place is a folder on the board with the binary in it.
type place struct {
	dir  string
	sent device.Sent
}

// whatItIs has a board print its system and architecture, then its byte order, then whether it has gzip. The order
// is that of the program which reads it (byte 5 of an ELF file): the kernel of a MIPS does not say.
const whatItIs = `uname -sm; dd if=/proc/self/exe bs=1 skip=5 count=1 2>/dev/null | tr '\001\002' lb; echo; ` +
	`command -v gzip >/dev/null && echo gzip || echo none; `

// install makes a folder on the board and copies the binary into it. What fails
// leaves nothing.
func (b *Board) install(ctx context.Context, c *crypto.Client) (place, error) {
	folder := `"${TMPDIR:-/tmp}"`
	if b.Dir != "" {
		folder = quote(b.Dir)
	}
	asked, cancel := within(ctx, device.Silence)
	defer cancel()
	out, err := sh(asked, c, whatItIs+"mktemp -d "+folder+"/"+device.AgentPrefix+"XXXXXXXX", nil)
	if err != nil {
		return place{}, fmt.Errorf("create a folder to work in: %w; %s", err, elsewhere)
	}
	// A login script may have printed before.
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 4 {
		return place{}, refusal{fmt.Sprintf("its shell answered %q instead of uname's output", clip(out))}
	}
	lines = lines[len(lines)-4:]
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	p := place{dir: lines[3]}
	if err := p.fill(ctx, c, b, lines[0], lines[1], lines[2] == "gzip"); err != nil {
		p.remove(c)
		return place{}, err
	}
	return p, nil
}

func clip(s string) string { return s[:min(len(s), 200)] }

func (p *place) fill(ctx context.Context, c *crypto.Client, b *Board, uname, order string, packed bool) error {
	system, machine, _ := strings.Cut(uname, " ")
	if system != "Linux" {
		return refusal{fmt.Sprintf("it runs %s; the agent needs Linux", clip(uname))}
	}
	file, why, err := b.findBinary(ordered(machine, order))
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New() // of what is sent
	var from io.Reader = io.TeeReader(f, sum)
	take := "cat"
	if packed {
		take = "gzip -dc"
		z := pack(from)
		defer z.Close() // else its goroutine would wait for ever where the board takes no more
		from = z
	}
	i, err := f.Stat()
	if err != nil {
		return err
	}
	// Subtle: what a lab that is killed meanwhile has sent is removed there, by the
	// shell, which sees its input end too soon.
	at := quote(p.dir + "/" + device.AgentFile)
	script := fmt.Sprintf("{ %s >%s && [ $(wc -c <%s) -eq %d ] && chmod 700 %s; } || { status=$?; rm -rf %s; exit "+
		"$status; }",
		take, at, at, i.Size(), at, quote(p.dir))
	taken, cancel := within(ctx, device.Silence+time.Duration(i.Size()/device.LeastRate)*time.Second)
	defer cancel()
	if _, err := sh(taken, c, script, from); err != nil {
		return fmt.Errorf("copy edgegauge (%s) there: %w; it needs %d MB: free some, or %s", file, err, i.Size()/1e6+1,
			elsewhere)
	}
	name := file
	if r, err := filepath.EvalSymlinks(file); err == nil {
		name = r
	}
	p.sent = device.Sent{File: filepath.Base(name), SizeB: i.Size(), SHA256: hex.EncodeToString(sum.Sum(nil)), Why: why}
	return nil
}

// ordered is the name of an architecture whose kernel does not name its byte order, with it.
func ordered(machine, order string) string {
	if order == "l" && (machine == "mips" || machine == "mips64") {
		return machine + "el"
	}
	return machine
}

// pack compresses as it is read.
func pack(f io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(w, 32<<10) // gzip writes 240 bytes at a time, each of which would be a packet
		z, _ := gzip.NewWriterLevel(b, gzip.BestSpeed)
		_, err := io.Copy(z, f)
		w.CloseWithError(errors.Join(err, z.Close(), b.Flush()))
	}()
	return r
}

// remove removes the folder of an agent that did not start.
func (p place) remove(c *crypto.Client) {
	if strings.Contains(p.dir, "/"+device.AgentPrefix) {
		ctx, cancel := within(context.Background(), handshake)
		defer cancel()
		sh(ctx, c, "rm -rf "+quote(p.dir), nil)
	}
}
