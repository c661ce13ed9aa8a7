// Package labbench measures what edgegauge promises of itself: a table for
// people (make bench), not a test. It drives the real binary: the lab, its
// stacks and drive run as they do for a user.
package labbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Bench is what the measurements need.
type Bench struct {
	Exe    string   // edgegauge itself, with all its hidden verbs
	Stacks []string // further folders of stacks
	Dir    string   // scratch, on a disk: the store syncs
	Notes  io.Writer

	Find func(stack string) (stack.Description, bool)
	// Command runs one of edgegauge's commands in this process, from its command line on:
	// what it printed, and its exit code.
	Command func(ctx context.Context, args ...string) (out string, code int, err error)
}

// A Row is one promise and what became of it.
type Row struct {
	Figure   string `json:"figure"`            // in words, with its unit
	Wanted   string `json:"wanted,omitempty"`  // the bound, such as ≤ 1.1; empty: none
	Measured string `json:"measured"`          // the centre, and the 95 % interval in brackets
	Verdict  string `json:"verdict,omitempty"` // in words: met, not met, what to install; empty: no bound
	How      string `json:"how,omitempty"`     // how it was got; empty: as the row before
}

// A Kept is a run of some parts, to be kept.
type Kept struct {
	Format  int          `json:"format"`  // 1
	Began   time.Time    `json:"began"`   // UTC, to the second
	Version string       `json:"version"` // of edgegauge
	Machine device.Facts `json:"machine"` // that it ran on
	Parts   []KeptPart   `json:"parts"`   // in the order in which they were measured
}

// A KeptPart is one of them.
type KeptPart struct {
	Name string  `json:"name"` // as edgegauge bench takes it
	Says string  `json:"says"` // what it is about
	Load float64 `json:"load"` // of the machine in the last minute, when the part had ended
	Rows []Row   `json:"rows"` // its figures
}

// A Part is some rows that are measured together.
type Part struct {
	Name, Says string
	Measure    func(context.Context, *Bench) ([]Row, error)
	Each       []Part // its pieces, which can be named alone: java/cxf
}

// Parts lists all parts in the order of the table.
func Parts() []Part {
	return []Part{
		{Name: "drive", Says: "the driver compared with a ping-pong in C", Measure: driveRows},
		{Name: "wrk", Says: "the driver compared with wrk", Measure: wrkRows},
		{Name: "h2load", Says: "the driver compared with h2load, over HTTP/2", Measure: h2loadRows},
		{Name: "grpc", Says: "the driver compared with grpc-go", Measure: grpcRows},
		{Name: "mqtt", Says: "the driver compared with paho.golang, MQTT 5", Measure: mqttRows},
		{Name: "flight", Says: "the driver's cost with 1,000 requests in flight, over 1", Measure: flightRows},
		{Name: "codec", Says: "our phases compared with Jersey's and Californium's", Measure: codecRows},
		{Name: "coap", Says: "CoAP requests per CPU second compared with Californium and libcoap", Measure: coapRows},
		{Name: "java", Says: "overhead of our clock, hooks and start-up on the Java frameworks; for one only: java/cxf",
			Measure: javaRows, Each: javaParts()},
		{Name: "overhead", Says: "what the lab adds to each trial", Measure: overheadRows},
		{Name: "store", Says: "10 and 100 million exchanges; for one only: store/10M, store/100M", Measure: storeRows,
			Each: storeParts()},
		{Name: "memory", Says: "memory per request", Measure: memoryRows},
		{Name: "capture", Says: "packet capture at 50,000 packets per second", Measure: captureRows},
		{Name: "energy", Says: "cost of reading the energy meters", Measure: energyRows},
		{Name: "link", Says: "the userspace link: measured against requested values", Measure: linkRows},
		{Name: "agent", Says: "cost of an agent on a device", Measure: agentRows},
	}
}

// A bound is what a figure must keep to.
type bound struct {
	atMost bool
	value  float64
}

func (b bound) String() string {
	if b.atMost {
		return fmt.Sprintf("≤ %.4g", b.value)
	}
	return fmt.Sprintf("≥ %.4g", b.value)
}

func (b bound) keeps(x float64) bool {
	if b.atMost {
		return x <= b.value
	}
	return x >= b.value
}

// verdict judges a figure by its centre, and says so where its interval
// reaches over the bound.
func (b bound) verdict(center, lo, hi float64) string {
	word := "met"
	if !b.keeps(center) {
		word = "not met"
	}
	if lo < hi && b.keeps(lo) != b.keeps(hi) { // NaN: no interval
		word += ", unsure"
	}
	return word
}

// ratioRow is the row of a ratio of alternating rounds.
func ratioRow(figure string, b *bound, center float64, rounds []float64) (Row, error) {
	s, err := stat.Median(rounds, 0.95)
	if err != nil {
		return Row{}, err
	}
	r := Row{Figure: figure, Measured: interval(center, s.Lo, s.Hi)}
	if b != nil {
		r.Wanted, r.Verdict = b.String(), b.verdict(center, s.Lo, s.Hi)
	}
	return r, nil
}

func interval(center, lo, hi float64) string {
	if !(lo < hi) {
		return fmt.Sprintf("%.3g", center)
	}
	return fmt.Sprintf("%.3g (%.3g to %.3g)", center, lo, hi)
}

// Load says how busy the machine is, since all figures of time depend on it.
func Load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	now, _, _ := strings.Cut(string(b), " ")
	return fmt.Sprintf("load %s on %d CPUs", now, runtime.NumCPU())
}

// missing is the row of what cannot be measured here: a fact about the
// machine, not a failure.
func missing(figure, wanted, install string) Row {
	return Row{Figure: figure, Wanted: wanted, Measured: "–", Verdict: "not measured", How: install}
}

// lacking names the programs that are not installed.
func lacking(programs ...string) string {
	var none []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil && !exists("/usr/sbin/"+p) {
			none = append(none, p)
		}
	}
	return strings.Join(none, ", ")
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// Find finds parts by name; no name means all.
func Find(all []Part, names []string) ([]Part, error) {
	if len(names) == 0 {
		return all, nil
	}
	var found []Part
	for _, n := range names {
		p, ok := find(all, n)
		if !ok {
			return nil, fmt.Errorf("unknown figure %q; available: %s", n, known(all))
		}
		found = append(found, p)
	}
	return found, nil
}

func find(all []Part, name string) (Part, bool) {
	for _, p := range all {
		if p.Name == name {
			return p, true
		}
		if p, ok := find(p.Each, name); ok {
			return p, true
		}
	}
	return Part{}, false
}

func known(all []Part) string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

var errNoFigures = errors.New("the run produced no figures")
