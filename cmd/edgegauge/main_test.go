package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary edgegauge itself, hidden verbs included.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if hidden, ok := hiddenVerbs[os.Args[1]]; ok {
			os.Exit(hidden(os.Args[2:]))
		}
	}
	testscript.Main(m, map[string]func(){"edgegauge": main})
}

func TestScripts(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root+"/../..")
			return os.Chmod(filepath.Dir(e.WorkDir), 0o755) // for what scripts do as another user
		},
		Condition: asRoot,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"trials":    cmdTrials,
			"leftover":  cmdLeftover,
			"killlab":   cmdKillLab,
			"near":      cmdNear,
			"sql":       cmdSQL,
			"between":   cmdBetween,
			"listen":    cmdListen,
			"killoften": cmdKillOften,
			"interrupt": cmdInterrupt,
			"board":     cmdBoard,
		},
	})
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		what string
		args []string
		want int
	}{
		{"help", []string{"--help"}, exitDone},
		{"no such verb", []string{"frobnicate"}, exitUsage},
		{"no such flag", []string{"run", "--nonsense"}, exitUsage},
		{"no such study", []string{"check", "no-such.yaml"}, exitUsage},
		{"no such results", []string{"report", "no-such-dir"}, exitUnmeasured},
		{"no such format", []string{"report", ".", "--format", "docx"}, exitUsage},
	} {
		if got := run(context.Background(), tt.args); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.what, got, tt.want)
		}
	}
}
