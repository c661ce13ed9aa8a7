package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// shared conducts blocks of a study on benches, in turn.
func (l *ongoing) shared(blocks int, benches ...string) {
	l.Helper()
	for block := 1; block <= blocks; block++ {
		on := store.Bench{Name: benches[(block-1)%len(benches)], Boot: "b"}
		for _, t := range l.plan.Trials {
			if t.Block == block {
				ok(l.T, fabricated.TrialOn(l.kept, t, 20, on))
			}
		}
	}
}

// Benches are shown with what the ledger and the coordinator say of them; the result says
// where each trial ran.
func TestNowShowsBenches(t *testing.T) {
	l := underWay(t, 6)
	l.shared(4, "rack1", "rack2")
	_, err := l.kept.BeginOn(l.plan.Trials[len(l.plan.Trials)-1].ID, store.Bench{Name: "rack2", Boot: "b"})
	ok(t, err)
	s := served(t, Options{Folders: []string{l.dir}})
	body := shows(t, s, "/now/", `<th scope="row">rack1</th><td><span class="state not heard">`, ">block 6, since ")
	if strings.Contains(body, "<b>Now:</b>") {
		t.Error("one of several trials is called the current one")
	}
	n, err := kernel.NewNotice(NoticeName)
	ok(t, err)
	defer n.Close()
	text, err := json.Marshal(LabNotice{MoreBenches: 7, Benches: []fleet.BenchState{
		{Bench: "rack1", Standing: fleet.Lost, Heard: time.Now().Add(-5 * time.Minute)},
		{Bench: "rack2", Standing: fleet.Up, Block: 6, Arriving: true, Heard: time.Now()},
		{Bench: "rack3", Standing: fleet.Barred, Why: "it runs <edgegauge> v0"}}})
	ok(t, err)
	n.Write(text)
	shows(t, s, "/now/", `<th scope="row">rack1</th><td><span class="state lost">lost</span></td><td></td><td>4</td><td>5m ago`,
		`<span class="state up">up</span></td><td>block 6, its results arrive</td><td>4</td>`,
		`<span class="state barred">barred</span> it runs &lt;edgegauge&gt; v0`, "7 more are not listed")
	ok(t, l.kept.Close())
	one := "/r/" + id(t, s, "run/001") + "/"
	// the report's own table
	shows(t, s, one, `<section id="benches">`, "<td>1</td><td>rack1</td>")
	shows(t, s, fmt.Sprintf("%st/%d/", one, l.plan.Trials[0].ID), "1 on rack1")
}

// The page of a trial whose block was given away again shows the attempt that counts.
func TestTrialGivenAgain(t *testing.T) {
	l := underWay(t, 2)
	trial := l.plan.Trials[0].ID
	order := func(bench string) store.Order {
		o, err := l.kept.Order(1, store.Bench{Name: bench, Boot: "b"}, 2)
		ok(t, err)
		return o
	}
	ok(t, l.kept.Withdraw(order("rack1"), "silence"))
	o := order("rack2")
	joint := `{"apart_ns": 7000, "benches": [{"bench": "rack9", "first_seq": 1, "requests": 20}]}`
	got, err := fabricated.Deliver(l.kept, l.plan, o, 2, 20,
		[]store.Quality{{Key: "run_queue_wait_client", Unit: "s", Value: 3}},
		func(a *store.Attempt) error { return a.Keep(store.JointFile, []byte(joint)) })
	ok(t, err)
	if got != store.Valid || o.Attempt != 4 {
		t.Fatalf("attempt %d is %s, want 4, valid", o.Attempt, got)
	}
	ok(t, l.kept.Close())
	s := served(t, Options{Folders: []string{l.dir}})
	one := fmt.Sprintf("/r/%s/t/%d/", id(t, s, "run/001"), trial)
	shows(t, s, one, "4 on rack2", "run_queue_wait_client", "driven from rack9")
	shows(t, s, one+"x/1/", "rack9")
	shows(t, s, one+"a/4/"+store.JointFile, "rack9")
	for _, none := range []string{"0", "2", "3", "5", "-1"} {
		if w := get(t, s, one+"a/"+none+"/"+store.JointFile); w.Code != 404 ||
			!strings.Contains(w.Body.String(), "no such attempt") {
			t.Errorf("attempt %s: %d, %s", none, w.Code, w.Body)
		}
	}
}

// Figures of a study that several benches share have the interval of its report while it runs: a
// bench counts once, however many trials it did.
func TestSoFarOfSeveralBenches(t *testing.T) {
	// The means of the benches are 2, 5 and 8 ms; their standard error is 3/√3, t(0.975, 2) = 4.302653, and half of the
	// interval 7.4524 ms. It would reach below 0, so it is that of the logarithm: 5 ms times or over exp(1.49048),
	// which is 4.43924. Half of 1.1263 to 22.196 ms is 211 % of 5 ms.
	alike := t.TempDir()
	kept, plan, err := fabricated.Create(filepath.Join(alike, "run/001"), []byte("study: s\nservice: monitor\nstack: s\n"+
		"requests: 100\nresponses: [rtt]\ndesign: {replications: 6, seed: 1, precision: 5%}\n"))
	ok(t, err)
	defer kept.Close()
	rtts(t, kept, plan, func(x study.Trial) (mean, median float64) {
		v := []float64{1e-3, 4e-3, 7e-3, 3e-3, 6e-3, 9e-3}[x.Block-1]
		return v, v
	}, func(block int) store.Bench { return store.Bench{Name: fmt.Sprintf("b%d", (block-1)%3+1), Boot: "b"} })
	if page := shows(t, served(t, Options{Folders: []string{alike}}), "/now/",
		"<td>6</td><td>5.00 ms (1.13 ms to 22.2 ms)</td>",
		"known to lie at 1.13 ms to 22.2 ms (half-width 211 %), as far as benches agree"); strings.Contains(page, "blocks in all") ||
		strings.Contains(page, "<dt>left</dt>") {
		t.Error("it is foreseen when more blocks of the same benches reach the precision")
	}
	dir := t.TempDir()
	text := strings.Replace(string(fabricated.Study(2, 6, 20)), "seed: 1", "seed: 1, benches: random, precision: 0.1%", 1)
	two, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), []byte(text))
	ok(t, err)
	defer two.Close()
	l := &ongoing{t, two, plan, dir, 0}
	l.shared(4, "rack1", "rack2")
	body := shows(t, served(t, Options{Folders: []string{dir}}), "/now/", "each bench counts once",
		"so far not known: ", "It takes more benches or blocks: ", "(too few benches)")
	if strings.Contains(body, "blocks in all") {
		t.Error("there is a number of blocks that reaches the precision")
	}
}

// A study whose benches need not run every treatment is complete without what they lack.
func TestLackingTrialsAreNotDue(t *testing.T) {
	dir := t.TempDir()
	text := []byte(strings.Replace(string(fabricated.Study(2, 2, 20)), "seed: 1", "seed: 1, benches: incomplete", 1))
	kept, plan, err := fabricated.Create(filepath.Join(dir, "run/001"), text)
	ok(t, err)
	last := len(plan.Trials) - 1
	for i, trial := range plan.Trials[:last] {
		on := store.Bench{Name: []string{"rack1", "rack2"}[trial.Block-1], Boot: "b"}
		ok(t, fabricated.TrialOn(kept, trial, 20, on))
		if i == last-2 { // two are due
			ok(t, kept.Lack(plan.Trials[last].ID, "java is missing"))
			s := served(t, Options{Folders: []string{dir}})
			shows(t, s, "/now/", "<dd>2 of 3</dd>")
			if r := readRunning(s.places()[0]); r.Total != 3 || r.Valid != 2 {
				t.Errorf("%d of %d trials, want 2 of 3", r.Valid, r.Total)
			}
		}
	}
	ok(t, kept.Close())
	s := served(t, Options{Folders: []string{dir}})
	if all := s.results(); len(all) != 1 || all[0].State != "complete" || all[0].Valid != 3 || all[0].Trials != 3 {
		t.Errorf("got %+v, want 3 of 3, complete", all)
	}
}

// A search for a capacity is called one: while it goes on, and with what it came to.
func TestSearchesAreShown(t *testing.T) {
	l := underWay(t, 3)
	l.conduct(3)
	s := served(t, Options{Folders: []string{l.dir}})
	write := func(name, text string) {
		ok(t, os.WriteFile(filepath.Join(l.dir, "run/001", name), []byte(text), 0o644))
	}
	write(searchFile, `{"format": 1, "slo": "failed < 1% <b>", "ended": false}`)
	if body := shows(t, s, "/now/", "failed &lt; 1% &lt;b&gt;. Trials are added"); strings.Contains(body,
		"<dt>left</dt>") {
		t.Error("the time left of a search is foreseen")
	}
	one := "/r/" + id(t, s, "run/001") + "/"
	if body := shows(t, s, one); strings.Contains(body, "A search for") {
		t.Error("a search that has not ended has an answer")
	}
	write(answerFile, `{"format": 1, "slo": "failed < 1%", "says": ["<script> 900 requests/s"]}`)
	shows(t, s, one, "A search for the capacity of a server</b>: failed &lt; 1%.", "&lt;script&gt; 900 requests/s")
	write(answerFile, strings.Repeat("x", mostAnswer+5))
	shows(t, s, one)
	ok(t, os.Remove(filepath.Join(l.dir, "run/001", answerFile)))
	ok(t, syscall.Mkfifo(filepath.Join(l.dir, "run/001", answerFile), 0o644)) // nobody writes to it
	if x := s.places()[0].searched(); x != nil {
		t.Errorf("a pipe has the answer %+v", x)
	}
	get(t, s, one) // shown as it was known, or refused for the pipe: it does not wait for one who writes
}

// Benches are compared anew when there is more to compare, and not at every look.
func TestBenchesAreComparedNowAndThen(t *testing.T) {
	l := underWay(t, 6)
	l.shared(4, "rack1", "rack2")
	s := served(t, Options{Folders: []string{l.dir}})
	p := s.places()[0]
	var x agreements
	x.of(p, 8)
	first := x.known[p.path()].at
	x.of(p, 8)
	x.of(p, 10) // too soon
	if x.known[p.path()].at != first {
		t.Error("benches were compared again at once")
	}
	x.known[p.path()] = agreement{at: first.Add(-judgeEvery), valid: 8, lines: []string{"old"}}
	if got := x.of(p, 8); len(got) != 1 {
		t.Error("benches were compared again, and nothing was new")
	}
	x.of(p, 10)
	if a := x.known[p.path()]; a.valid != 10 || len(a.lines) > 0 {
		t.Errorf("got %+v", a)
	}
}

// The time left of benches is foreseen from what attempts took, whatever their clocks say.
func TestTimeLeftOfBenchesOfOtherClocks(t *testing.T) {
	began := time.Now()
	of := func(bench string, state store.State, from time.Time) store.AttemptState {
		a := store.AttemptState{Bench: store.Bench{Name: bench}, State: state, Began: from}
		if state != store.Running {
			a.Ended = from.Add(10 * time.Second)
		}
		return a
	}
	for _, off := range []time.Duration{-2 * time.Hour, 0, 2 * time.Hour} {
		r := running{Total: 10, Valid: 4, Benches: []benchRow{{Name: "a"}, {Name: "b"}}}
		var attempts []store.AttemptState
		for i := range 2 {
			at := began.Add(time.Duration(10*i) * time.Second)
			attempts = append(attempts, of("a", store.Valid, at), of("b", store.Valid, at.Add(off)))
		}
		attempts = append(attempts, of("a", store.Running, began), of("b", store.Running, began))
		if r.foresee(nil, attempts, store.Run{Started: began}, study.Study{}); r.Left != "about 30s" {
			t.Errorf("a clock %v off: got %s", off, r.Left)
		}
	}
}
