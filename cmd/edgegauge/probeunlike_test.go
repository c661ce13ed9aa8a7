package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What probe itself doubts, since the service gets slower while it is probed, or answers runs in two ways, compare does
// not decide. A difference that each run shows stands.
func TestCompareDoubtsRunsThatAreNoReplications(t *testing.T) {
	t.Parallel()
	ms := func(values ...float64) (all []time.Duration) {
		for _, v := range values {
			all = append(all, time.Duration(v*1e6))
		}
		return all
	}
	grows := ms(9.4, 11, 12, 13.5, 15, 16.5, 18, 19.5, 21, 22.6)
	kinds := ms(1.2, 1.3, 2.3, 1.2, 10.6, 10.4)
	steady := func(v float64) []time.Duration { return ms(v, 1.01*v, 0.99*v, 1.02*v, 0.98*v, v) }
	o := newOwn(t)
	write := func(name string, runs []time.Duration) {
		text, _ := probe{asJSON: true}.printed(t, runsOf(0, runs...))
		o.write(t, name, text)
	}
	for _, tt := range []struct {
		old, new       []time.Duration
		condition      string
		code           int
		says, not      string
		otherwiseKnown bool
	}{
		{steady(16), grows, "rtt > 30%", 4, "undecided: runs are no replications", "good", true},
		{steady(10), grows, "rtt > 5%", 4, "new: response time rises from run to run (9.40 ms in the first", "worse", true},
		{grows, steady(2), "rtt > 5%", 0, "good: every condition is excluded", "undecided:", false},
		{grows, steady(40), "rtt > 5%", 1, "worse: a condition is met", "undecided:", false},
		{grows, steady(16), "rtt > 40%", 4, "old: response time rises", "good", true},
		{steady(3), kinds, "rtt > 200%", 4, "the runs are of two kinds", "good", true},
		{steady(10), steady(10), "rtt > 50%", 0, "good", "undecided:", false},
	} {
		write("old.json", tt.old)
		write("new.json", tt.new)
		out, code := o.run(t, "compare", "old.json", "new.json", "--fail-if", tt.condition, "--undecided-exit", "4", "--all")
		out = strings.Join(strings.Fields(out), " ")
		if code != tt.code || !strings.Contains(out, tt.says) || strings.HasPrefix(out, tt.not) ||
			tt.otherwiseKnown && !strings.Contains(out, "to decide: find out what builds up") {
			t.Errorf("%v and %v, %s: %d, %s", tt.old, tt.new, tt.condition, code, out)
		}
	}
}

// Two probes that differ in warm-up, time-out or headers are of different loads, and compare says in what. What it
// keeps of a header does not tell its value.
func TestCompareSaysWhichSettingsOfProbesDiffer(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "ok")
	}))
	defer s.Close()
	write := func(name string, flags ...string) string {
		out, code := o.run(t, append([]string{"probe", s.URL, "--requests", "5", "--runs", "2", "--json"}, flags...)...)
		if code != 0 {
			t.Fatal(out)
		}
		o.write(t, name, out)
		return out
	}
	write("a.json", "--warmup", "2", "--header", "Authorization: Bearer secret-one")
	if text := write("b.json", "--warmup", "3", "--timeout", "2s", "--header", "Authorization: Bearer other-two"); strings.
		Contains(text, "other-two") {
		t.Error("a secret is kept")
	}
	write("c.json", "--warmup", "2")
	for _, tt := range []struct{ with, says string }{
		{"b.json", "warm-up: 2 requests before, 3 requests now; time-out: 5s before, 2s now; header Authorization: another " +
			"value now"},
		{"c.json", "headers: Authorization before, none now"},
	} {
		out, code := o.run(t, "compare", "a.json", tt.with)
		if code != exitUsage || !strings.Contains(out, tt.says) {
			t.Errorf("%s: %d, %s", tt.with, code, out)
		}
		out, code = o.run(t, "compare", "a.json", tt.with, "--other-load")
		if out = strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(out, "the set-up differs: ") {
			t.Errorf("%s with --other-load: %d, %s", tt.with, code, out)
		}
	}
	if out, code := o.run(t, "compare", "a.json", "a.json"); code != 0 {
		t.Errorf("itself: %d, %s", code, out)
	}
}
