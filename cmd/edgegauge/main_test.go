package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/fleet/hub"
	"edgegauge.example/edgegauge/internal/testbed"
)

// TestMain makes the test binary edgegauge itself, hidden verbs included.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if hidden, ok := hiddenVerbs[os.Args[1]]; ok {
			os.Exit(hidden(os.Args[2:]))
		}
	}
	// Programs for emulated machines are made of it. A child of a test starts here again, in another folder.
	if root, err := filepath.Abs("../.."); err == nil && os.Getenv("EDGEGAUGE_SOURCE") == "" {
		os.Setenv("EDGEGAUGE_SOURCE", root)
	}
	if exe, err := os.Executable(); err == nil && os.Getenv("EDGEGAUGE_TOGETHER") == "" { // other tests are no other labs
		os.Setenv("EDGEGAUGE_TOGETHER", exe)
	}
	testscript.Main(m, map[string]func(){"edgegauge": main, "edgegauge-hub": func() { os.Exit(hub.Main(os.Args[1:])) },
		"edgegauge-other": func() { stamp = "another"; main() }, "tell-time": tellTime, "supply": supply})
}

// Scripts that judge times of this machine, links included, run one after the other, and nothing of ours beside them in
// the gate.
var clocked = []string{"run_constrained", "run_energy", "run_links", "run_phantom"}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, slices.DeleteFunc(files, func(file string) bool {
		return slices.Contains(clocked, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	})...)
}

func TestClockedScripts(t *testing.T) {
	for _, name := range clocked {
		t.Run("alone", func(t *testing.T) { runScripts(t, "testdata/script/"+name+".txtar") })
	}
}

func runScripts(t *testing.T, files ...string) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root+"/../..")
			e.Setenv("EDGEGAUGE_TOGETHER", e.WorkDir)
			e.Setenv("EDGEGAUGE_CACHE", cache) // the program's checksum is computed once for all
			e.Defer(mourn(t, e.WorkDir))
			all := filepath.Dir(e.WorkDir)
			t.Cleanup(func() { os.Remove(all) }) // testscript leaves it where not all files are run
			return os.Chmod(all, 0o755)          // for what scripts do as another user
		},
		Condition: asRoot,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"trials":         cmdTrials,
			"leftover":       cmdLeftover,
			"killlab":        cmdKillLab,
			"near":           cmdNear,
			"sql":            cmdSQL,
			"fabricate":      cmdFabricate,
			"between":        cmdBetween,
			"listen":         cmdListen,
			"asked":          cmdAsked,
			"killoften":      cmdKillOften,
			"interrupt":      cmdInterrupt,
			"wreck":          cmdWreck,
			"board":          cmdBoard,
			"interrupttwice": cmdInterruptTwice,
			"hub":            cmdHub,
			"fleet":          cmdFleet,
			"onepertrial":    cmdOnePerTrial,
			"joint":          cmdJoint,
		},
	})
}

// localBed is the testbed of the tests' own process.
func localBed(t *testing.T, stacks ...string) *testbed.Testbed {
	t.Helper()
	bed, err := (&app{stackFolders: stacks}).bed()
	if err != nil {
		t.Fatal(err)
	}
	return bed
}

// The table of exit codes is that of the program, whole.
func TestExitCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../doc/compare-in-ci.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Exit codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	want := "\n| exit code | means |\n|---|---|\n"
	for _, x := range exitMeanings {
		want += fmt.Sprintf("| %d | %s |\n", x.code, strings.ReplaceAll(x.means, "--strict", "`--strict`"))
	}
	if !strings.HasPrefix(table, want) {
		t.Errorf("doc/compare-in-ci.md has %s, want %s", table, want)
	}
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
		{"no such results", []string{"report", "no-such-dir"}, exitUsage},
		{"no such format", []string{"report", ".", "--format", "docx"}, exitUsage},
	} {
		if got := run(context.Background(), tt.args); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.what, got, tt.want)
		}
	}
}

// A command that is stopped was not wrong.
func TestStoppedIsNoMistake(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	study := filepath.Join(dir, "s.yaml")
	ok(t, os.WriteFile(study, []byte("study: s\nservice: monitor\nrequests: 5\n"+
		"factors: {stack: [rest-json, coap-cbor], link: [none, lte-m]}\ndesign: {replications: 2}\n"), 0o600))
	exe, err := os.Executable()
	ok(t, err)
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	for _, args := range [][]string{{"stacks", "check", "reference/rest-json"}, {"check", study},
		{"check", "--json", study}, {"plan", study}, {"run", study, "--out", filepath.Join(dir, "out")},
		{"run", study, "--benches", "2"},
		{"compare", "--base", exe, "--with", study, "--detect", "5%", "--out", filepath.Join(dir, "both")}} {
		os.Stderr, err = os.Create(filepath.Join(dir, "said"))
		ok(t, err)
		code := run(ctx, args)
		said, err := os.ReadFile(os.Stderr.Name())
		ok(t, err)
		text := string(said)
		if code != exitUnmeasured || !strings.Contains(text, "stopped") || strings.Contains(text, "127.0.0.1") ||
			strings.Contains(text, "exclude") {
			t.Errorf("%v: exit code %d, want %d: %s", args[0], code, exitUnmeasured, said)
		}
	}
}

// needs passes over a test for which this machine lacks what, but fails in CI.
func needs(t *testing.T, has bool, what string) {
	t.Helper()
	if has {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s", what)
	}
	t.Skipf("needs %s", what)
}
