package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge/internal/store"
)

// cmdTrials checks a results directory: trials DIR VALID ATTEMPTS, where
// ATTEMPTS counts all that were begun, "+" meaning at least.
func cmdTrials(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: trials DIR VALID ATTEMPTS")
	}
	s, err := store.OpenReadOnly(ts.MkAbs(args[0]))
	ts.Check(err)
	defer s.Close()
	all, err := s.Trials()
	ts.Check(err)
	valid, attempts := 0, 0
	for _, t := range all {
		attempts += t.Attempts
		if t.State == store.Valid {
			valid++
		}
	}
	if valid != atoi(ts, args[1]) {
		ts.Fatalf("got %d valid trials, want %s", valid, args[1])
	}
	least, more := strings.CutSuffix(args[2], "+")
	if n := atoi(ts, least); attempts != n && !(more && attempts > n) {
		ts.Fatalf("got %d attempts, want %s", attempts, args[2])
	}
	if problems := s.Verify(); len(problems) > 0 {
		ts.Fatalf("the results are not whole: %v", problems)
	}
}

func atoi(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

// cmdLeftover fails if a process of ours still works in this script's folder.
func cmdLeftover(ts *testscript.TestScript, neg bool, args []string) {
	var left []string
	for range 100 {
		if left = processesBelow(ts.MkAbs(".")); len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("left over after 2 s: %v", left)
}

func processesBelow(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, l := range links {
		cwd, err := os.Readlink(l)
		if err != nil || cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(l), "cmdline"))
		found = append(found, strings.ReplaceAll(string(cmd), "\x00", " "))
	}
	return found
}

// cmdKillLab runs edgegauge with the arguments after the first and kills it
// after that time, with SIGKILL.
func cmdKillLab(ts *testscript.TestScript, neg bool, args []string) {
	after, err := time.ParseDuration(args[0])
	ts.Check(err)
	cmd := labCommand(ts, args[1:])
	ts.Check(cmd.Start())
	time.Sleep(after)
	cmd.Process.Kill()
	cmd.Wait()
}

func firstPath(list string) string { return filepath.SplitList(list)[0] }

// cmdNear checks a figure of summary.csv: near FILE 'column=value …' mean WANT SHARE.
func cmdNear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: near FILE 'column=value …' COLUMN WANT SHARE")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	for _, row := range rows[1:] {
		match := true
		for _, kv := range strings.Fields(args[1]) {
			k, v, _ := strings.Cut(kv, "=")
			match = match && row[at[k]] == v
		}
		if !match {
			continue
		}
		got, err := strconv.ParseFloat(row[at[args[2]]], 64)
		ts.Check(err)
		want, err := strconv.ParseFloat(args[3], 64)
		ts.Check(err)
		share, err := strconv.ParseFloat(args[4], 64)
		ts.Check(err)
		if math.Abs(got/want-1) > share {
			ts.Fatalf("%s: got %s %g, want %g within %g", args[1], args[2], got, want, share)
		}
		return
	}
	ts.Fatalf("no row %s in %s", args[1], args[0])
}
