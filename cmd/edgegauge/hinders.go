package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// readFor reads a study that is measured here, or by these benches.
func (a *app) readFor(ctx context.Context, file string, kept, sets []string, s sharing) (*testbed.Testbed, study.Plan,
	[]byte, error) {
	if s.elsewhere() {
		return a.readElsewhere(ctx, file, kept, sets)
	}
	return a.read(ctx, file, kept, sets)
}

// hinders is what run refuses of a plan before anything is measured, here or by these benches; nil: nothing. An error
// says that not all was looked at.
func hinders(ctx context.Context, bed *testbed.Testbed, p study.Plan, s sharing) (study.Errors, error) {
	if !s.wanted() {
		found := bed.ObstaclesAlone(ctx, p)
		return found, ctx.Err()
	}
	found := bed.ObstaclesShared(ctx, p, testbed.Sharing{Benches: len(s.names()), Here: s.local() > 0})
	if s.local() > 0 {
		if _, err := hubProgram(); err != nil {
			found = append(found, &study.Error{Pos: study.Pos{File: p.Study.File}, What: err.Error(), Here: true})
		}
	}
	return found, ctx.Err()
}

// answerWithin is how long a bench may take to say whether it can measure a study: some programs take seconds to say
// their version.
const answerWithin = time.Minute

// askBenches asks the benches that are to measure a plan whether they can. The error says why too few can. Where
// enough can, what keeps the others is noted.
func (a *app) askBenches(ctx context.Context, p study.Plan, text []byte, s sharing) error {
	board, err := s.board()
	if err != nil {
		return err
	}
	defer board.Close()
	fmt.Fprintln(a.notes(), "asking the benches")
	least := max(1, testbed.Drivers(p))
	heard, err := listenFor(ctx, board, s.lease/3, s.names(), least)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	k := admit.Keys{Benches: map[string]string{}}
	for _, name := range s.names() {
		k.Benches[name] = ""
	}
	for name := range heard {
		k.Benches[name] = ""
	}
	q := fleet.Question{Study: text}
	for _, o := range p.Study.Overrides {
		q.Overrides = append(q.Overrides, o.String())
	}
	rows := benchRows(k, heard, true)
	replies := make([]fleet.Reply, len(rows))
	var asking sync.WaitGroup
	for i, r := range rows {
		if !*r.Ready {
			replies[i].Why = r.State
			continue
		}
		one := q
		one.Helps = least > 1 && len(s.names()) > 0 && r.Name != s.names()[0]
		asking.Go(func() { replies[i] = ask(ctx, board, r.Name, one) })
	}
	asking.Wait()
	return a.tellReplies(rows, replies, least, s.names() != nil)
}

// tellReplies says which benches cannot measure a study that takes so many of them. It is an error where too few can,
// or where all that may take part leave a treatment out.
func (a *app) tellReplies(rows []benchRow, replies []fleet.Reply, least int, named bool) error {
	var cannot []string
	var able []fleet.Reply
	for i, r := range replies {
		if r.Why == "" {
			able = append(able, r)
			continue
		}
		cannot = append(cannot, printable.Line(fmt.Sprintf("bench %s: %s", rows[i].Name, r.Why)))
	}
	refused := func(text string) error {
		return exit{exitUnmeasured, errors.New(strings.Join(append(cannot, text), "\n"))}
	}
	if len(able) < least {
		return refused(fmt.Sprintf("the study takes %s, and %d can measure it now", plural.Count(least, "bench"), len(able)))
	}
	for _, cell := range slices.Sorted(maps.Keys(able[0].Lacks)) {
		if named && !slices.ContainsFunc(able, func(r fleet.Reply) bool { return r.Lacks[cell] == "" }) {
			return refused("no bench can run one of the treatments: " + printable.Line(able[0].Lacks[cell]))
		}
	}
	for _, line := range cannot {
		fmt.Fprintln(a.notes(), line)
	}
	return nil
}

// ask is a bench's answer whether it can measure a study.
func ask(ctx context.Context, board *wire.Board, bench string, q fleet.Question) fleet.Reply {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	r, err := board.Ask(ctx, bench, q)
	if err != nil {
		r.Why = fmt.Sprintf("it did not say within %s whether it can measure this study: %v",
			study.DurationText(answerWithin), err)
	}
	return r
}
