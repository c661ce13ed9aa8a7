package ssh

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A board may let us in and go down, or come up, while the agent is started: it is awaited.
func TestABoardThatGoesDownWhileItsAgentStarts(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	_, work := serve(t, "SetEnv EDGEGAUGE_TEST_REBOOT="+once)
	b := board(t, "ssh://board"+work)
	b.before = true
	if err := os.WriteFile(once, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Remote(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(once); err == nil {
		t.Error("it did not go down")
	}
}

// A board whose folders are not mounted yet is awaited.
func TestABoardWhoseFoldersComeLater(t *testing.T) {
	_, work := serve(t)
	later := filepath.Join(work, "later")
	b := board(t, "ssh://board"+later)
	b.before = true
	made := make(chan error, 1)
	go func() {
		_, err := b.Remote(t.Context())
		made <- err
	}()
	time.Sleep(3 * time.Second) // it is tried in vain first
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// What a killed agent has left is removed at the end also where the lab has tried in vain to come back meanwhile.
func TestCloseSweepsAfterAVainTry(t *testing.T) {
	s, work := serve(t)
	b := board(t, "ssh://board"+work)
	r, err := b.Remote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Reboot()
	<-r.Lost()
	s.Stop()
	b.Patience = 0
	if _, err := b.Facts(t.Context()); err == nil {
		t.Fatal("a board that is off was reached")
	}
	if err := s.Run("host"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Fatalf("a killed agent leaves its folder; got %v", left)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	nothing(t, work)
}

// An agent that cannot run there ends it at once, also where the board was reached before.
func TestAnAgentThatCannotRunIsFinal(t *testing.T) {
	_, work := serve(t)
	b := board(t, "ssh://board"+work)
	b.before = true
	b.Exe = filepath.Join(t.TempDir(), "edgegauge")
	if err := os.WriteFile(b.Exe, []byte("#!/bin/sh\necho no such instruction >&2; exit 126\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Remote(t.Context()); !errors.Is(err, errFinal) {
		t.Errorf("got %v", err)
	}
}
