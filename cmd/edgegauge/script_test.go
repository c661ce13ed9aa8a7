package main

import (
	"database/sql"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/bench/verdictbench"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// cmdTrials checks a results directory: trials DIR VALID ATTEMPTS, where
// ATTEMPTS counts all that were begun, "+" meaning at least, and "~" those that no gate has found invalid: a busy
// machine makes others.
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
	count, sound := strings.CutSuffix(args[2], "~")
	if sound {
		begun, err := s.Attempts(0)
		ts.Check(err)
		attempts = len(slices.DeleteFunc(begun, func(a store.AttemptState) bool { return a.State == store.Invalid }))
	}
	least, more := strings.CutSuffix(count, "+")
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

// supply is the program of a meter at a supply that never changes: supply W… prints these in turn, one each 20 ms of
// the host's clock. Those that a busy machine was late for are made up for.
func supply() {
	fmt.Println(`{"type":"meter","name":"test meter","clock":"host","kind":"instantaneous","rate":50}`)
	const each = 20 * time.Millisecond
	shown := os.Args[1:]
	for k := sinceBoot() / each; ; k++ {
		time.Sleep(k*each - sinceBoot())
		fmt.Printf("{\"t\":%.3f,\"W\":%s}\n", (k * each).Seconds(), shown[int(k)%len(shown)])
	}
}

func sinceBoot() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano())
}

func firstPath(list string) string { return filepath.SplitList(list)[0] }

// cmdSQL edits a ledger by hand, and keeps its seal: sql DIR STATEMENT.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql DIR STATEMENT")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(ts.MkAbs(args[0]), "ledger.sqlite"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
	ts.Check(store.Reseal(ts.MkAbs(args[0])))
}

// fleets are benches that fabricate can make: what they are, by name.
var fleets = map[string]verdictbench.Fleet{
	"agree": {Benches: 4, Spread: 0.2}, "two": {Benches: 2, Spread: 0.2}, "rank": {Benches: 4, Spread: 0.2, Rank: 0.1},
	"odd": {Benches: 4, Spread: 0.2, Odd: 1.5}, "moves": {Benches: 4, Spread: 0.2, Moves: 1.5},
	"lacks": {Benches: 4, Spread: 0.2, Lacks: true},
}

// cmdFabricate writes results whose truth is known: fabricate STUDY.yaml RTT DIR [FLEET | humps]. Trials differ by some
// 2 %; with humps, each other one takes 40 % longer.
func cmdFabricate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 4 {
		ts.Fatalf("usage: fabricate STUDY.yaml RTT DIR [FLEET | humps]")
	}
	rtt, err := time.ParseDuration(args[1])
	ts.Check(err)
	truth := verdictbench.Truth{Study: ts.ReadFile(args[0]), RTT: func(r *rand.Rand, _, _ int) float64 {
		return rtt.Seconds() * (1 + 0.02*r.NormFloat64())
	}}
	if len(args) == 4 && args[3] == "humps" {
		truth.RTT = func(r *rand.Rand, _, block int) float64 {
			return rtt.Seconds() * (1 + 0.4*float64(block%2)) * (1 + 0.02*r.NormFloat64())
		}
	} else if len(args) == 4 {
		f, ok := fleets[args[3]]
		if !ok {
			ts.Fatalf("no fleet is called %s", args[3])
		}
		truth.Fleet = &f
	}
	ts.Check(truth.Write(ts.MkAbs(args[2]), rand.New(rand.NewPCG(1, uint64(rtt)))))
}

// cmdNear checks a figure of summary.csv: near FILE 'column=value …' mean WANT SHARE.
func cmdNear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: near FILE 'column=value …' COLUMN WANT SHARE")
	}
	want, share := decimal(ts, args[3]), decimal(ts, args[4])
	holds(ts, args, want*(1-share), want*(1+share))
}

// cmdBetween checks that a figure of summary.csv lies within bounds: between
// FILE 'column=value …' median LEAST MOST.
func cmdBetween(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: between FILE 'column=value …' COLUMN LEAST MOST")
	}
	holds(ts, args, decimal(ts, args[3]), decimal(ts, args[4]))
}

// holds checks a figure. A time without a CPU makes what is measured longer, never shorter: beyond an upper bound, the
// lab is right if its answer says that programs had no CPU, and wrong if it does not.
func holds(ts *testscript.TestScript, args []string, least, most float64) {
	got := summaryFigure(ts, args)
	if got >= least && got <= most {
		return
	}
	said := fmt.Sprintf("%s: got %s %g, want %g to %g", args[1], args[2], got, least, most)
	if starved := starvation(ts, filepath.Dir(args[0])); got > most && starved != "" {
		ts.Logf("%s: %s", said, starved)
		return
	}
	ts.Fatalf("%s", said)
}

// starvation is what a report says first of a machine that was busy, or "".
func starvation(ts *testscript.TestScript, dir string) string {
	s, err := store.OpenReadOnly(ts.MkAbs(dir))
	ts.Check(err)
	defer s.Close()
	r, err := report.Read(s)
	ts.Check(err)
	if len(r.Starved) == 0 {
		return ""
	}
	return r.Verdict()[0]
}

func decimal(ts *testscript.TestScript, s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	ts.Check(err)
	return x
}

// summaryFigure finds one: FILE 'column=value …' COLUMN.
func summaryFigure(ts *testscript.TestScript, args []string) float64 {
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0]))).ReadAll()
	ts.Check(err)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	if _, ok := at[args[2]]; !ok {
		ts.Fatalf("%s has no column %s", args[0], args[2])
	}
	for _, row := range rows[1:] {
		match := true
		for _, kv := range strings.Fields(args[1]) {
			k, v, _ := strings.Cut(kv, "=")
			match = match && row[at[k]] == v
		}
		if match {
			return decimal(ts, row[at[args[2]]])
		}
	}
	ts.Fatalf("no row %s in %s", args[1], args[0])
	return 0
}
