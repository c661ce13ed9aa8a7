package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/bench/verdictbench"
	"edgegauge.example/edgegauge/internal/store"
)

// opensResults says how each command is given a stranger's results: D is the directory,
// G good results of the same study. Empty: the command opens none.
var opensResults = map[string][]string{
	"analyze": nil, // a table in CSV
	"bench":   nil,
	"benches": nil, "benches add": nil, "benches check": nil, "benches drain": nil, "benches list": nil,
	"benches remove": nil, // keys and orders of a fleet
	"capacity":       {"capacity truth.yaml --set stack=rest-json --slo failed<1% --length 100ms --budget 10 --out D"},
	"check":          nil, // studies
	"choose": {"choose D --minimize rtt",
		"choose D --minimize rtt --need battery>5y --battery 2xAA --link nb-iot --period 1h"},
	"compare": {"compare G D", "compare D G", "compare D"},
	"confirm": {"confirm G D --plan", "confirm D"},
	"devices": nil, "devices build": nil, "devices check": nil, "devices list": nil, "devices meter": nil,
	"devices shell":     nil,
	"devices calibrate": {"devices calibrate raspberry-pi-1 --against local --from D"},
	"forecast": {"forecast D --battery 2xAA --link nb-iot --period 1h",
		"forecast D --period 1h --devices 1000"},
	"history": {"history D", "history D G --json"},
	"links":   nil,
	"man":     nil,
	"packets": nil, // a capture
	"plan":    nil, // a study
	"probe":   nil,
	"publish": {"publish D --out crate.zip", "publish D --without-raw --out kept"},
	"report": {"report D", "report D --anova", "report D --json", "report D --format html --out page.html",
		"report D --format svg --out figures", "report --claims D G", "report --findings D --out findings"},
	"run":    {"run --like D --out again --set design.replications=1", "run truth.yaml --out D"},
	"schema": nil, "stacks": nil, "stacks build": nil, "stacks check": nil, "stacks list": nil, "stacks new": nil,
	"version":    nil,
	"web":        nil, // serves until it is ended; its pages are those of web export
	"web export": {"web export page D", "web export both G D"},
	"worker":     nil, // orders of a hub
}

// hostileLedgers are what a stranger's ledger may be, as SQL, and whether opening it must
// be refused: what has the tables of edgegauge, and not too much of it, may be read.
var hostileLedgers = []struct {
	what, sql string
	refused   bool
}{
	{"an endless view for trials", endlessView("trials", "x AS id, x AS position, 1 AS block, 1 AS replication, "+
		"'{}' AS treatment, 'valid' AS state"), true},
	{"an endless view for results", endlessView("results", "x AS trial, 1 AS attempt, 'client' AS side, 'rtt' AS "+
		"response, 's' AS unit, 1 AS n, 1.0 AS mean, 1.0 AS sd, 1.0 AS median, 1.0 AS p95, 1.0 AS min, 1.0 AS max, "+
		"'measured' AS method"), true},
	{"an endless view for meta", endlessView("meta", "x AS key, 'v' AS value"), true},
	{"a trigger", "CREATE TRIGGER t AFTER UPDATE ON trials BEGIN DELETE FROM results; END", true},
	{"a generated column", "ALTER TABLE meta ADD COLUMN g TEXT AS (hex(zeroblob(100000000)))", true},
	{"a table without types", "ALTER TABLE meta RENAME TO kept; CREATE TABLE meta (key, value); " +
		"INSERT INTO meta SELECT x'00', zeroblob(10) FROM kept", true},
	{"100,000 rows of a trial", "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) " +
		"INSERT INTO quality SELECT 1, 1, 'k' || x, 1.0, 's' FROM n", true},
	{"200,000 trials of 200,000 treatments", "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n LIMIT " +
		"199000) INSERT INTO trials SELECT x, x, 1, 1, '{\"stack\":\"t' || x || '\"}', 'valid' FROM n", false},
	{"20,000 valid trials of 20,000 treatments", manyTreatments, false},
	{"blocks at the end of the integers", "UPDATE trials SET block = 9223372036854775807 - id, " +
		"replication = 9223372036854775807", false},
	{"blocks below zero", "UPDATE trials SET block = -id - 4611686018427387904, position = -position", false},
	{"attempts at the end of the integers", "UPDATE attempts SET pid = 9223372036854775807, started = 'x', ended = 'y', " +
		"host = hex(zeroblob(1000000))", false},
	{"figures at the end of the numbers", "UPDATE results SET mean = 1.7e308, sd = -1.7e308, n = 9223372036854775807, " +
		"median = NULL, p95 = 9e999, min = -9e999", false},
	{"a reason of 40 MB", "UPDATE attempts SET reason = hex(zeroblob(20000000)), log = reason WHERE trial = 1", false},
	{"a unit of 20 MB", "UPDATE results SET unit = hex(zeroblob(10000000)) WHERE trial = 1", false},
	{"a treatment of 20 MB", "UPDATE trials SET treatment = '{\"stack\":\"' || hex(zeroblob(10000000)) || '\"}' " +
		"WHERE id = 1", false},
	{"a treatment nested 10 million times", "UPDATE trials SET treatment = replace(hex(zeroblob(5000000)), '0', '[') " +
		"WHERE id = 1", false},
	{"a plan of 20 MB", "UPDATE plan SET csv = zeroblob(20000000)", false},
	{"overrides without end", "UPDATE runs SET overrides = '[' || replace(hex(zeroblob(5000000)), '0', '[')", false},
	{"a study elsewhere", "UPDATE runs SET study = '/dev/zero', facts = '/dev/zero'", false},
	{"raw files elsewhere", "INSERT INTO files SELECT '/dev/zero', 1, 1, 'exchanges', 'client', '', 'measured', " +
		"9223372036854775807, -1, '' FROM meta LIMIT 1", false},
}

const manyTreatments = "WITH RECURSIVE n(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM n LIMIT 20000) " +
	"INSERT INTO trials SELECT x, x, 1, 1, '{\"stack\":\"t' || (x / 2) || '\"}', 'valid' FROM n; " +
	"INSERT INTO attempts (trial, attempt, state, started, host, pid) SELECT id, 1, 'valid', '', '', 1 FROM trials " +
	"WHERE id >= 100; " +
	"INSERT INTO results SELECT id, 1, 'client', 'rtt', 's', 10, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 'measured' " +
	"FROM trials WHERE id >= 100"

// endlessView puts one of these columns in a table's place.
func endlessView(table, columns string) string {
	return "ALTER TABLE " + table + " RENAME TO kept; CREATE VIEW " + table +
		" AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT " + columns + " FROM n"
}

const truthStudy = "study: truth\nservice: monitor\nrequests: 100\nfactors: {stack: [rest-json, coap-cbor]}\n" +
	"design: {replications: 3, seed: 1, precision: 0.05}\nresponses: [rtt]\n"

// Every command that opens results ends on a stranger's, in bounded time and memory, and says in words
// what is wrong or what they hold. A new command must say here how it is given results.
func TestNoCommandHangsOnAStrangersResults(t *testing.T) {
	if testing.Short() {
		t.Skip("makes large ledgers")
	}
	t.Parallel()
	var lines []string
	eachCommand(newRoot(), func(c *cobra.Command) {
		verb := strings.TrimPrefix(c.CommandPath(), "edgegauge ")
		asked, known := opensResults[verb]
		cobras := verb == "edgegauge" || verb == "help" || strings.HasPrefix(verb, "completion")
		if !known && !cobras && c.Runnable() {
			t.Errorf("%s: does it open results? say so in opensResults", verb)
		}
		lines = append(lines, asked...)
	})
	if len(lines) < 20 {
		t.Fatalf("only %d command lines", len(lines))
	}
	o := newOwn(t)
	truth := verdictbench.Truth{Study: truthStudy,
		RTT: func(r *rand.Rand, _, _ int) float64 { return 1e-3 + 1e-4*r.Float64() }}
	o.write(t, "truth.yaml", truthStudy)
	r := rand.New(rand.NewPCG(1, 1))
	good := filepath.Join(o.dir, "good")
	if err := truth.Write(good, r); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i, h := range hostileLedgers {
		for k, line := range lines {
			// the gate asks one command about each, and each command once
			if !*allStrangers && k != i%len(lines) && i != k%len(hostileLedgers) {
				continue
			}
			if *onlyStrangers != "" && !strings.Contains(h.what+": "+line, *onlyStrangers) {
				continue
			}
			dir := filepath.Join(o.dir, fmt.Sprintf("s%d", i))
			if err := errors.Join(os.RemoveAll(dir), truth.Write(dir, r)); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", filepath.Join(dir, "ledger.sqlite"))
			if err == nil {
				_, err = db.Exec(h.sql)
				err = errors.Join(err, db.Close())
			}
			if err == nil && !h.refused { // else its seal would find it first; what is refused may have no end
				err = store.Reseal(dir)
			}
			if err != nil {
				t.Fatalf("%s: %v", h.what, err)
			}
			args := strings.Fields(line)
			for n, a := range args {
				args[n] = map[string]string{"D": dir, "G": good}[a]
				if args[n] == "" {
					args[n] = a
				}
			}
			for _, made := range []string{"crate.zip", "kept", "page.html", "figures", "findings", "again", "page", "both"} {
				os.RemoveAll(filepath.Join(o.dir, made))
			}
			// web export and history list what cannot be read, and why, beside what can
			lists := line == "web export page D" || strings.HasPrefix(line, "history ")
			judgeStranger(t, o, h.what+": "+line, args, h.refused && !lists)
			t.Log(h.what+": "+line, time.Since(began))
		}
	}
}

const (
	strangerCPU    = 30      // s
	strangerMemory = 1 << 30 // B
)

func judgeStranger(t *testing.T, o own, what string, args []string, refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a wait is no CPU time
	defer cancel()
	limited := fmt.Sprintf(`ulimit -t %d; exec "$0" "$@"`, strangerCPU)
	c := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", limited, o.exe}, args)...)
	c.Dir = o.dir
	out, err := c.CombinedOutput()
	text := string(out)
	switch used, ok := c.ProcessState.SysUsage().(*syscall.Rusage); {
	case ctx.Err() != nil:
		t.Errorf("%s: waits for ever", what)
	case !c.ProcessState.Exited():
		t.Errorf("%s: more than %d s of CPU time, or killed: %v", what, strangerCPU, err)
	case ok && used.Maxrss<<10 > strangerMemory && used.Maxrss > ownPeak(t):
		t.Errorf("%s: took %d MB", what, used.Maxrss>>10)
	case strings.Contains(text, "<!doctype") || strings.Contains(text, "goroutine ") || strings.Contains(text, "panic"):
		t.Errorf("%s: %.2000s", what, text)
	case len(text) > 10<<20:
		t.Errorf("%s: printed %d MB", what, len(text)>>20)
	case refused && c.ProcessState.ExitCode() != exitUnmeasured:
		t.Errorf("%s: exit code %d, want it refused: %.500s", what, c.ProcessState.ExitCode(), text)
	}
}

// ownPeak is the most that this process has taken, in KiB: a child that it begins to be is as large, until it becomes
// another program, and the kernel keeps that as the program's peak.
func ownPeak(t *testing.T) int64 {
	t.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	return int64(own.Maxrss)
}

// allStrangers asks every command about every ledger: half an hour.
var allStrangers = flag.Bool("all-strangers", false, "every command on every hostile ledger")

// onlyStrangers is a part of what allStrangers asks: `-all-strangers -only-strangers publish`.
var onlyStrangers = flag.String("only-strangers", "", "only ledgers and commands with this text in LEDGER: COMMAND")
