package labbench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// codecStudy is cloud-of-things on one IP version, with ours beside theirs.
const codecStudy = `study: codec
service: monitor
factors: {stack: [rest-protobuf, coap-protobuf, jersey, californium]}
heap: 128MB
responses: [serialization, deserialization]
timeouts: {ready: 60s, request: 10s, trial: 5m}
`

// codecRows measure twice. A Java program's phases shrink tenfold while its
// compiler works, so the warm-up decides the ratio: that of the study
// cloud-of-things, whose figures people read, and one after which they stand still.
func codecRows(ctx context.Context, b *Bench) ([]Row, error) {
	limit := bound{value: 5}
	rows, err := formRows()
	if err != nil {
		return rows, err
	}
	build := exec.CommandContext(ctx, b.Exe,
		append([]string{"stacks", "build", "jersey", "californium"}, b.stackFlags()...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return append(rows, missing("phases compared with Jersey's and Californium's", limit.String(),
			strings.TrimSpace(string(out)))), nil
	}
	for _, load := range []struct {
		requests, warmup, replications int
		bound                          *bound
	}{{4000, 2000, 6, &limit}, {4000, 20000, 3, nil}} {
		more, err := b.phases(ctx, load.requests, load.warmup, load.replications, load.bound)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *Bench) stackFlags() []string {
	var flags []string
	for _, s := range b.Stacks {
		flags = append(flags, "--stacks", s)
	}
	return flags
}

func (b *Bench) phases(ctx context.Context, requests, warmup, replications int, limit *bound) ([]Row, error) {
	run, err := b.run(ctx, codecStudy, fmt.Sprintf("requests=%d", requests), fmt.Sprintf("design.warmup=%d", warmup),
		fmt.Sprintf("design.replications=%d", replications))
	if err != nil {
		return nil, err
	}
	defer run.forget()
	all, err := run.rows()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, ours := range []string{"rest-protobuf", "coap-protobuf"} {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			for _, phase := range []string{"serialization", "deserialization"} {
				r, err := phaseRow(all, ours, side, phase, limit)
				if err != nil {
					return rows, err
				}
				rows = append(rows, r)
			}
		}
	}
	rows[0].How = fmt.Sprintf("a study in the lab: monitor, %d randomized blocks, %d requests after %d of warm-up; the "+
		"quicker of Jersey and "+
		"Californium over ours, ratio of trial means paired by block with its t interval", replications, requests, warmup)
	return rows, nil
}

// phaseRow sets ours beside the quicker of the two others.
func phaseRow(all []store.Row, ours string, side measure.Side, phase string, limit *bound) (Row, error) {
	var worst stat.Comparison
	var nearest string
	for _, theirs := range []string{"jersey", "californium"} {
		a, b := paired(all, theirs, ours, side, phase)
		c, err := stat.RatioPaired(a, b, 0.95)
		if err != nil {
			return Row{}, fmt.Errorf("%s beside %s: %w", ours, theirs, err)
		}
		if nearest == "" || c.Estimate < worst.Estimate {
			worst, nearest = c, theirs
		}
	}
	r := Row{Figure: fmt.Sprintf("%s, %s %s, over %s", ours, side, phase, nearest),
		Measured: interval(worst.Estimate, worst.Lo, worst.Hi)}
	if limit != nil {
		r.Wanted, r.Verdict = limit.String(), limit.verdict(worst.Estimate, worst.Lo, worst.Hi)
	}
	return r, nil
}

// paired are the trial means of two stacks, by block.
func paired(all []store.Row, a, b string, side measure.Side, response string) (as, bs []float64) {
	of := func(stack string) map[int]float64 {
		m := map[int]float64{}
		for _, r := range all {
			if r.Side == side && r.Response == response && strings.TrimPrefix(r.Treatment[0].Text, "reference/") == stack {
				m[r.Block] = r.Mean
			}
		}
		return m
	}
	right := of(b)
	for block, v := range of(a) {
		if w, ok := right[block]; ok {
			as, bs = append(as, v), append(bs, w)
		}
	}
	return as, bs
}
