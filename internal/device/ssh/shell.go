package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	crypto "golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Shell opens a console on the board and returns the exit status of its shell.
// On a terminal it is one there too.
func Shell(ctx context.Context, name string, stdin *os.File, stdout, stderr io.Writer) (int, error) {
	t, err := ParseTarget(name)
	if err != nil {
		return 0, err
	}
	c, err := dial(ctx, t)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	s.Stdin, s.Stdout, s.Stderr = stdin, stdout, stderr
	if fd := int(stdin.Fd()); term.IsTerminal(fd) {
		restore, err := console(s, fd)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		defer restore()
	}
	if err := s.Shell(); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	err = s.Wait()
	var status *crypto.ExitError
	if errors.As(err, &status) {
		return status.ExitStatus(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return 0, nil
}

// console makes the session a terminal like ours, which turns raw until restore.
func console(s *crypto.Session, fd int) (restore func(), err error) {
	width, height, err := term.GetSize(fd)
	if err != nil {
		width, height = 80, 24
	}
	kind := os.Getenv("TERM")
	if kind == "" {
		kind = "vt100"
	}
	if err := s.RequestPty(kind, height, width, crypto.TerminalModes{}); err != nil {
		return nil, err
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	go func() {
		for range resized {
			if w, h, err := term.GetSize(fd); err == nil {
				s.WindowChange(h, w)
			}
		}
	}()
	return func() {
		signal.Stop(resized)
		close(resized)
		term.Restore(fd, before)
	}, nil
}
