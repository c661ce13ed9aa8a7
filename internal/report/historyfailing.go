package report

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// failingAt is the level of a remark that more requests of a run failed than of the run before: a history of many runs
// asks as many times.
const failingAt = 0.001

// failing says of which treatments of a run more requests failed, or were sent again, than of the run before it, beyond
// chance: a figure of answered requests does not tell.
func (h History) failing(run int) (failed, again []string) {
	if run == 0 {
		return nil, nil
	}
	for _, f := range advise.FailuresOfTrials(h.Runs[run-1].requests, h.Runs[run].requests, 1-failingAt) {
		switch {
		case f.Verdict != stat.Confirmed:
		case f.Again:
			again = append(again, f.String())
		default:
			failed = append(failed, f.String())
		}
	}
	return failed, again
}

// The kinds of what begins.
const (
	failedRequests = "failed requests"
	sentAgain      = "requests sent again"
	failedAttempts = "failed attempts"
)

// A Beginning is where something began to fail, of all treatments together: small or rare as it may be in each run.
type Beginning struct {
	history.Rise
	Kind string
	Says string
}

// beginnings are where requests and attempts began to fail more often than before, or requests to be sent again.
func (h History) beginnings() []Beginning {
	treatments := h.treatments()
	requests := func(of func(advise.Attempts) advise.Attempts) func(from, to int) [][]history.Count {
		return func(from, to int) [][]history.Count {
			out := make([][]history.Count, to-from)
			for _, like := range treatments {
				for i, c := range requestsOf(h.Runs[from:to], like, of) {
					out[i] = append(out[i], c)
				}
			}
			return out
		}
	}
	attempts := func(from, to int) (out [][]history.Count) {
		for _, p := range h.Runs[from:to] {
			out = append(out, p.attemptsOf(treatments))
		}
		return out
	}
	anew := func(run int) bool { return run > 0 && !slices.Equal(h.Runs[run].machine(), h.Runs[run-1].machine()) }
	var out []Beginning
	for _, kind := range []struct {
		name, do string
		of       func(advise.Attempts) advise.Attempts
	}{{failedRequests, "fail", func(a advise.Attempts) advise.Attempts { return a }},
		{sentAgain, "are sent again", advise.Attempts.SentAgain}} {
		for _, x := range history.Rises(len(h.Runs), requests(kind.of), anew) {
			a, b := h.requests(x.Base, x.From, kind.of), h.requests(x.From, x.To, kind.of)
			out = append(out, Beginning{x, kind.name, fmt.Sprintf("from %s on, more requests %s: %s up to %s, %s before%s: "+
				"chance does not explain it (p %.2g over all points and looks, by trials)", h.Runs[x.From].Dir, kind.do,
				failedOf(b), h.Runs[x.To-1].Dir, failedOf(a), h.until(x), x.P)})
		}
	}
	for _, x := range history.Rises(len(h.Runs), attempts, anew) {
		out = append(out, Beginning{x, failedAttempts, fmt.Sprintf("from %s on, attempts fail in more trials: in %d of "+
			"%s up to %s, in %d of %d before%s: chance does not explain it (p %.2g over all points and looks, by trials)",
			h.Runs[x.From].Dir, x.Since.Hits, plural.Count(x.Since.N, "trial"), h.Runs[x.To-1].Dir, x.Before.Hits, x.Before.N,
			h.until(x), x.P)})
	}
	return out
}

func failedOf(s stat.Share) string { return fmt.Sprintf("%d of %d (%.3g %%)", s.Hits, s.N, 100*s.Of()) }

// until says where it ended; empty: nowhere.
func (h History) until(x history.Rise) string {
	if x.End >= len(h.Runs) {
		return ""
	}
	return fmt.Sprintf(", and fewer again from %s on", h.Runs[x.End].Dir)
}

// Began says where requests and attempts began to fail.
func (h History) Began() []Beginning { return h.began }

// beginning is a Beginning for programs.
type beginning struct {
	Kind string      `json:"kind"`
	From int         `json:"from"` // place in runs
	Sure int         `json:"sure"` // the first run at which it is
	End  int         `json:"end"`  // the run from which on it is less again; the number of runs: none
	P    stat.Number `json:"p"`
	Says string      `json:"says"`
}

func (h History) beganJSON() (out []beginning) {
	for _, x := range h.began {
		out = append(out, beginning{x.Kind, x.From, x.To - 1, x.End, stat.Number(x.P), x.Says})
	}
	return out
}

// treatments are those of all runs, floors aside.
func (h History) treatments() []advise.Attempts {
	var out []advise.Attempts
	for _, p := range h.Runs {
		for _, a := range p.requests {
			if !a.Floor && !slices.ContainsFunc(out, a.Same) {
				out = append(out, a)
			}
		}
	}
	return out
}

// of is a treatment of a run; one without trials where it has none.
func (p Past) of(like advise.Attempts) advise.Attempts {
	if i := slices.IndexFunc(p.requests, like.Same); i >= 0 {
		return p.requests[i]
	}
	return advise.Attempts{}
}

// requestsOf counts the trials of a treatment in which more requests failed, as of has them, than usual, by run.
func requestsOf(runs []Past, like advise.Attempts, of func(advise.Attempts) advise.Attempts) []history.Count {
	shares, late, waited := make([][]stat.Share, len(runs)), make([][]int, len(runs)), make([]bool, len(runs))
	for i, p := range runs {
		a := of(p.of(like))
		shares[i], late[i], waited[i] = a.Failed, a.Late, a.Waited()
	}
	return history.Failing(shares, late, waited)
}

// attemptsOf counts the trials of a run of which an attempt failed for what the programs did, by treatment.
func (p Past) attemptsOf(treatments []advise.Attempts) (out []history.Count) {
	for _, like := range treatments {
		a := p.of(like)
		c := history.Count{All: a.Faults.Trials, Sure: a.Faults.Trials, Of: a.Wanted - a.Unrun}
		if a.Waited() {
			c.Sure = a.Faults.InTime
		}
		out = append(out, c)
	}
	return out
}

// requests are those of some runs that failed, as of has them, floors aside.
func (h History) requests(from, to int, of func(advise.Attempts) advise.Attempts) stat.Share {
	var all []stat.Share
	for _, p := range h.Runs[from:to] {
		for _, a := range p.requests {
			if !a.Floor {
				all = append(all, of(a).Failed...)
			}
		}
	}
	return stat.Pooled(all)
}

// machine are the facts of what measured a run.
func (p Past) machine() []string {
	if len(p.Figures) == 0 {
		return nil
	}
	return p.Figures[0].Machine
}

// nowFailing says in the first sentence what began to fail, or to be sent again, and still does; empty: nothing.
func (h History) nowFailing() (text string) {
	for _, kind := range []struct{ of, words string }{{failedRequests, "more requests fail"},
		{sentAgain, "more requests are sent again"}, {failedAttempts, "more attempts fail"}} {
		for _, x := range h.began {
			if x.Kind == kind.of && x.End == len(h.Runs) {
				text += fmt.Sprintf("; %s from %s on", kind.words, h.Labels[x.From])
				break
			}
		}
	}
	return text
}

// atLeastByChance gives points of a share of requests no smaller errors than requests that fail independently have: the
// trials of a run of which none failed do not differ, and one may fail in the next.
func (h History) atLeastByChance(points []history.Point, is func(PastFigure) bool) {
	sent := make([]float64, len(points))
	var hits, all float64
	for i, p := range points {
		run := h.Runs[p.Run].Figures
		f := run[slices.IndexFunc(run, is)]
		sent[i] = max(1, float64(f.Requests))
		hits, all = hits+f.Failed*sent[i], all+sent[i]
	}
	share := (hits + 0.5) / (all + 1)
	for i := range points {
		points[i].SE = max(points[i].SE, math.Sqrt(share*(1-share)/sent[i]))
	}
}
