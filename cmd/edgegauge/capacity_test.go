package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A refusing server answers every request at once, and refuses a share of them that follows
// from the number it sees in each 100 ms: all above the number it bears.
type refusing struct {
	mu     sync.Mutex
	bears  int // in each slot
	slot   int64
	seen   int
	served int
}

func (r *refusing) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slot := time.Now().UnixMilli() / 100; slot != r.slot {
		r.slot, r.seen = slot, 0
	}
	if r.seen++; r.seen > r.bears {
		http.Error(w, "too many", http.StatusServiceUnavailable)
		return
	}
	r.served++
	fmt.Fprint(w, "ok")
}

type capacityAnswer struct {
	Ended    string     `json:"ended"`
	Rate     float64    `json:"requests_per_s"`
	Interval [2]float64 `json:"interval"`
	Devices  float64    `json:"devices"`
	Binding  string     `json:"binding"`
	Results  string     `json:"results"`
	Invalid  int        `json:"invalid"`
	Trials   []struct {
		Rate   float64 `json:"rate"`
		Counts bool    `json:"counts"`
	} `json:"trials"`
}

// A server that refuses what is above 20 requests in 100 ms: at a constant rate r it
// refuses 1 − 200/r, so that 5 % of failures are just met at 210.5 requests/s. The
// truth is a count, whatever the machine does besides. Requests that come late in one slot come in
// the next, so that a busy machine can only make it refuse more.
func TestCapacityIsThatOfAServerThatRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	server := &refusing{bears: 20}
	s := httptest.NewServer(server)
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: refuses\nserver: {url: %q}\nrequest: {path: /}\nrate: 150\narrival: "+
		"constant\n"+
		"concurrency: 8\nduration: 1s\ndesign: {warmup: 0}\n", s.URL))
	args := []string{"-q", "capacity", "s.yaml", "--slo", "failed < 5%, response_time p50 < 4s", "--length", "1s",
		"--late", "2s", "--period", "1m", "--precision", "8", "--budget", "45", "--json"}
	out, code := o.run(t, args...)
	var got capacityAnswer
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	t.Logf("%+v", got)
	const truth = 200 / 0.95
	if got.Rate < truth*0.75 || got.Rate > truth*1.1 || got.Interval[0] > truth*1.02 {
		t.Errorf("%g (%v) requests/s, not %g", got.Rate, got.Interval, truth)
	}
	if got.Binding != "failed < 5%" || got.Devices != math.Floor(got.Rate*60) {
		t.Errorf("%s binds; %g devices", got.Binding, got.Devices)
	}
	counting := 0
	for _, x := range got.Trials {
		if x.Counts {
			counting++
		}
	}
	if counting < 9 || counting == len(got.Trials) {
		t.Errorf("%d of %d trials count", counting, len(got.Trials))
	}
	if _, err := os.Stat(filepath.Join(o.dir, "capacity-search.json")); err == nil {
		t.Error("it left its note outside of the results")
	}
	page, err := os.ReadFile(filepath.Join(o.dir, got.Results, "capacity.html"))
	if err != nil || strings.Count(string(page), "<svg") != 2 ||
		strings.Count(string(page), "<circle") != 2*len(got.Trials) {
		t.Errorf("%v: %d circles", err, strings.Count(string(page), "<circle"))
	}
	if _, err := os.Stat(filepath.Join(o.dir, "capacity-search.json")); err == nil {
		t.Error("the search left its note outside the results")
	}
	found := fmt.Sprintf("%s: The server's capacity is ", got.Results)
	for _, verdict := range [][]string{{"choose", got.Results, "--minimize", "rtt"}, {"compare", got.Results},
		{"compare", got.Results, got.Results}} {
		if out, code := o.run(t, verdict...); code != 2 || !strings.Contains(out, found) {
			t.Errorf("%v: code %d\n%s", verdict, code, out)
		}
	}
	whole := fmt.Sprintf("%d of %d trials valid", len(got.Trials), len(got.Trials))
	if b, err := os.ReadFile(filepath.Join(o.dir, got.Results, "report.html")); !strings.Contains(string(b), whole) {
		t.Errorf("%v: the report beside the results is not that of all trials", err)
	}
	text, code := o.run(t, "report", got.Results)
	if code != 0 || !strings.Contains(text, whole) || strings.Contains(text, "No answer") ||
		!strings.Contains(text, "\nThe server's capacity is ") || strings.Contains(text, "edgegauge choose") {
		t.Errorf("code %d\n%s", code, text)
	}

	// The same search, named: it is there, and nothing is measured again.
	before := server.served
	again, code := o.run(t, append(args, "--out", got.Results)...)
	if code != 0 || again != out || server.served != before {
		t.Errorf("code %d; %d more requests\n%s", code, server.served-before, again)
	}
	// So is the one that the report proposes.
	proposed := regexp.MustCompile(`edgegauge (capacity .*) --out \S+-after\n`).FindStringSubmatch(text)
	if proposed == nil || strings.Contains(text, "edgegauge run") {
		t.Fatalf("the report proposes no search: %s", text)
	}
	var asks []string
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(proposed[1], -1) {
		asks = append(asks, strings.Trim(word, "'"))
	}
	asks = append(asks, "-q", "--json", "--out", got.Results)
	if again, code := o.run(t, asks...); code != 0 || again != out || server.served != before {
		t.Errorf("%q: code %d; %d more requests\n%s", asks, code, server.served-before, again)
	}
	// Another question to the same results is refused.
	if text, code := o.run(t, "-q", "capacity", "s.yaml", "--slo", "failed < 6%", "--length", "1s", "--late", "2s",
		"--out",
		got.Results); code != 2 || !strings.Contains(text, "holds another search") {
		t.Errorf("code %d: %s", code, text)
	}
}

// A search that is killed goes on where it was.
func TestCapacityIsResumed(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	s := httptest.NewServer(&refusing{bears: 20})
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: refuses\nserver: {url: %q}\nrequest: {path: /}\nrate: 600\narrival: "+
		"constant\n"+
		"concurrency: 8\nduration: 1s\ndesign: {warmup: 0}\n", s.URL))
	args := []string{"-q", "capacity", "s.yaml", "--slo", "failed < 20%", "--length", "500ms", "--late", "2s",
		"--precision", "25", "--budget", "10", "--json"}
	if out, code := o.run(t, args...); code != 0 && code != 3 {
		t.Fatalf("code %d\n%s", code, out)
	}
	// Take the note of its end away, and the last trial: as a kill leaves it.
	note := filepath.Join(o.dir, "results/refuses/001/capacity-search.json")
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	results := filepath.Dir(note)
	if err := store.PutBeside(results, capacity.NoteFile, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Replace(string(text), `"ended": true`, `"ended": false`, 1))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// An attempt of before that was not valid is one of the search.
	db, err := sql.Open("sqlite", filepath.Join(results, "ledger.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	var treatment string
	err = db.QueryRow("SELECT treatment FROM trials WHERE id = 1").Scan(&treatment)
	var created string
	err = errors.Join(err, db.QueryRow("SELECT value FROM meta WHERE key = 'created'").Scan(&created))
	digest := sha256.Sum256(fmt.Appendf(nil, "attempt\tinvalid\t%s\nof\t%q\t1\t2", treatment, created))
	_, err2 := db.Exec(`INSERT INTO attempts (trial, attempt, state, started, ended, host, pid, reason, digest)
		SELECT trial, attempt + 1, 'invalid', started, ended, host, pid, 'it rained', ? FROM attempts WHERE trial = 1`,
		hex.EncodeToString(digest[:]))
	if err := errors.Join(err, err2, db.Close(), store.Reseal(results)); err != nil {
		t.Fatal(err)
	}
	args[len(args)-2] = "16"
	out, _ := o.run(t, args...)
	var got capacityAnswer
	if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got.Results != "results/refuses/001" || len(got.Trials) < 11 || got.Invalid == 0 {
		t.Errorf("%s has %d trials, and %d invalid attempts", got.Results, len(got.Trials), got.Invalid)
	}
}

// A search that gave a trial up goes on with more retries, as its own advice says, and refuses another question by
// what differs.
func TestCapacityGoesOnWithMoreRetries(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	s := httptest.NewServer(&refusing{bears: 20})
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: refuses\nserver: {url: %q}\nrequest: {path: /}\nrate: 200\nconcurrency: 4\n",
		s.URL))
	args := []string{"-q", "capacity", "s.yaml", "--slo", "failed < 5%", "--length", "1s", "--late", "1ns", "--out", "r"}
	for _, tt := range []struct {
		more []string
		code int
		says []string
	}{
		{[]string{"--set", "retries=0"}, 3, []string{"1 trial could not be measured", "(logs are below r)", "(1 attempt)",
			"drive it from another machine, or free a CPU for it, or allow more with --late", "--set retries=1 --out r"}},
		{[]string{"--set", "retries=1"}, 3, []string{"(2 attempts)", "--set retries=3 --out r"}},
		{[]string{"--set", "retries=1", "--late", "2ns"}, 2, []string{"r holds another search: that has late 1ns; this one " +
			"has late 2ns; ask the same"}},
	} {
		text, code := o.run(t, append(args[:len(args):len(args)], tt.more...)...)
		for _, want := range tt.says {
			if code != tt.code || !strings.Contains(text, want) {
				t.Errorf("%v: code %d, no %q in\n%s", tt.more, code, want, text)
			}
		}
	}
}

// A budget that had no room for an interval is no trial that differs from others.
func TestWhyASearchHasNoInterval(t *testing.T) {
	for blocks, want := range map[int]string{2: "it takes 3 blocks of 3 trials around the knee, and the budget had room for 2",
		3: "trials differ too much"} {
		err := unanswered(&capacity.Answer{Budget: 10, Step: stat.CapacityStep{Stage: stat.Exhausted,
			Blocks: make([][]stat.CapacityTrial, blocks)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d blocks: %v", blocks, err)
		}
	}
}

// What cannot be asked, and what has no answer.
func TestCapacityRefuses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	server := &refusing{bears: 0}
	s := httptest.NewServer(server)
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: refuses\nserver: {url: %q}\nrequest: {path: /}\nrate: 200\nconcurrency: 8\n"+
		"duration: 1s\n", s.URL))
	o.write(t, "two.yaml", fmt.Sprintf("study: two\nserver: {url: %q}\nfactors: {connection: [keep-alive, per-request]}\n"+
		"requests: 5\n", s.URL))
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"s.yaml", 2, "--slo is missing"},
		{"s.yaml --slo failed<5", 2, "write it in %"},
		{"s.yaml --slo failed<5% --precision 0", 2, "--precision 0"},
		{"s.yaml --slo failed<5% --scale concurrency", 2, "takes no --slo"},
		{"s.yaml --slo failed<5% --scale up", 2, "write rate or concurrency"},
		{"s.yaml --slo rtt.p99<10s", 2, "timeouts.request"},
		{"s.yaml --slo failed<5% --length 10m", 2, "after 10m (timeouts.trial), and --length 10m is no shorter; raise it, " +
			"for example with --set timeouts.trial=20m"},
		{"s.yaml --scale concurrency --set rate=0 --length 30h", 2, "for example with --set timeouts.trial=60h"},
		{"s.yaml --slo failed<1e-9%", 2, "a trial of 10s that judges failed<1e-9% has more requests than can be sent"},
		{"s.yaml --slo failed<1e-300%", 2, "has more requests than can be sent"},
		{"s.yaml --slo rtt.p99.9999999999<1s", 2, "has more requests than can be sent"},
		{"two.yaml --slo failed<5%", 2, "has 2 treatments"},
		{"s.yaml --slo failed<5% --length 1s --late 2s", 1, "not kept to at 200 requests/s"},
	} {
		out, code := o.run(t, append([]string{"-q", "capacity"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(out, tt.says) {
			t.Errorf("%s: code %d\n%s", tt.args, code, out)
		}
	}
}

// Throughput by requests under way, of a server with one worker that takes 2 ms.
func TestScalingOfAServerWithOneWorker(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a capacity")
	}
	var worker sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		worker.Lock()
		defer worker.Unlock()
		time.Sleep(2 * time.Millisecond)
		fmt.Fprint(w, "ok")
	}))
	defer s.Close()
	o := newOwn(t)
	o.write(t, "s.yaml", fmt.Sprintf("study: one\nserver: {url: %q}\nrequest: {path: /}\nrequests: 5\ndesign: {warmup: "+
		"0}\n",
		s.URL))
	out, code := o.run(t, "-q", "capacity", "s.yaml", "--scale", "concurrency", "--most", "8", "--blocks", "2", "--length",
		"300ms", "--json")
	var got struct {
		Alpha  struct{ Value float64 }
		Levels []struct {
			N        float64 `json:"in_flight"`
			Measured float64 `json:"requests_per_s"`
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if len(got.Levels) != 4 || got.Levels[3].N != 8 || got.Levels[3].Measured > 500 || got.Alpha.Value < 0.3 {
		t.Errorf("%+v", got)
	}
	if text, code := o.run(t, "report", "results/latest"); code != 0 || !strings.Contains(text, "8 of 8 trials valid") {
		t.Errorf("code %d\n%s", code, text)
	}
	page, err := os.ReadFile(filepath.Join(o.dir, "results/one/001/report.html"))
	if again := "study.yaml --scale concurrency --blocks 2 --most 8 --length 300ms"; !strings.Contains(string(page), again) {
		t.Errorf("%v: the report beside the results proposes another measurement", err)
	}
}
