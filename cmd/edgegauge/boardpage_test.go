package main

import (
	"os"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device/ssh/sshtest"
)

// doc/measure-my-board.md runs from its first command of edgegauge to its last, with
// an sshd on this machine as the board.
func TestBoardPage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	missing := sshtest.Missing()
	needs(t, missing == "", missing)
	s, err := sshtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	o := newOwn(t)
	put := strings.NewReplacer("ssh://pi@board", "ssh://board"+t.TempDir())
	text, err := os.ReadFile("../../doc/measure-my-board.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf("doc/measure-my-board.md", string(text))
	dir := stage(t, o, stageResults(t, o), blocks, put)
	t.Setenv("HOME", s.Home)
	t.Setenv("SSH_AUTH_SOCK", "")
	ran := 0
	for _, b := range blocks {
		if strings.Contains(b.why, "TestBoardPage runs it") {
			shell(t, dir, b, put.Replace(b.text))
			ran++
		}
	}
	if ran != 3 {
		t.Errorf("%d blocks ran, not 3", ran)
	}
}
