// Package javatest tests from outside what the Java stacks say of their
// phases: that they add up, and that a slow service shows in the right one.
package javatest

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A framework is a Java stack in its first encoding that streams a message of
// some size; client is another stack's where it has none.
type framework struct{ name, service, encoding, client string }

var frameworks = []framework{
	{"axis2", "sort", "soap11", ""},
	{"axis2-18", "sort", "soap11", ""},
	{"cxf", "sort", "xml", ""},
	{"cxf4", "sort", "xml", ""},
	{"cxf-jaxws", "sort", "soap11", ""},
	{"jersey", "sort", "protobuf", ""},
	{"jersey", "sort", "xml", ""},
	{"jersey3", "sort", "xml", ""},
	{"jaxws-rt", "concat", "soap11", ""},
	{"restlet", "sort", "xml", ""},
}

// containers are servers of hosted_test.go that know hooks: off, as a framework each.
var containers = []framework{
	{"glassfish7", "concat", "soap11", "jaxws-rt"},
	{"glassfish3", "concat", "soap11", "jaxws-rt"},
}

// cpus holds the CPUs that no test has. A test takes one and shares it with no
// other, so that as many tests run at once as there are CPUs.
var cpus = func() chan int {
	all := make(chan int, runtime.NumCPU())
	for cpu := range cap(all) {
		all <- cpu
	}
	return all
}()

// ownCPU gives a test a CPU until all that it started has ended. It is called
// first: cleanups run in reverse order.
func ownCPU(t *testing.T) int {
	t.Parallel()
	cpu := <-cpus
	t.Cleanup(func() { cpus <- cpu })
	return cpu
}

// A pair is a stack's server and client, in a process each, on one CPU.
type pair struct{ server, client *stack.Conn }

// start starts a pair with options; both end with the test.
func start(t *testing.T, cpu int, f framework, service string, n int, options map[string]string) pair {
	t.Helper()
	d := stacktest.Built(t, filepath.Join("..", f.name))
	c := stacktest.Built(t, filepath.Join("..", cmp.Or(f.client, f.name)))
	p := pair{program(t, cpu, d, d.Serve), program(t, cpu, c, c.Call)}
	limits := stack.Limits{Body: 16e6}
	ready, err := p.server.Serve(within(t),
		stack.Serve{Service: service, Encoding: f.encoding, Security: "none", Transport: "http", Host: "127.0.0.1",
			Limits: limits, Directory: t.TempDir(), Options: options})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.client.Call(within(t), stack.Call{URL: ready.URL, Service: service, Encoding: f.encoding, Security: "none",
		Transport: "http",
		Message:   stack.Message{Seed: 7, N: n}, Connection: "keep-alive", Timeout: int64(30 * time.Second), Limits: limits,
		Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// program starts one on a CPU.
func program(t *testing.T, cpu int, d stack.Description, p stack.Program) *stack.Conn {
	t.Helper()
	argv, err := p.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	return stacktest.Start(t, d.Dir, append([]string{"taskset", "-c", strconv.Itoa(cpu)}, argv...)...)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run sends requests and returns both sides' records; the warm-up's are discarded.
func (p pair) run(t *testing.T, requests int, record bool) (client, server []measure.Exchange) {
	t.Helper()
	keep := func(xs *[]measure.Exchange) func(measure.Exchange) {
		return func(x measure.Exchange) {
			if x.Failure != "" {
				t.Fatalf("request %d failed: %s", x.Seq, x.Failure)
			}
			*xs = append(*xs, x)
		}
	}
	if _, err := p.client.Run(within(t), stack.Run{Requests: requests, Record: record, Concurrency: 1},
		keep(&client)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.server.Report(within(t), !record, keep(&server)); err != nil {
		t.Fatal(err)
	}
	if record && (len(client) != requests || len(server) != requests) {
		t.Fatalf("%d records of the client, %d of the server, want %d", len(client), len(server), requests)
	}
	return client, server
}

func median(xs []measure.Exchange, of func(measure.Exchange) time.Duration) time.Duration {
	all := make([]time.Duration, len(xs))
	for i, x := range xs {
		all[i] = of(x)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func total(x measure.Exchange) time.Duration { return x.Total }

func sum(x measure.Exchange) time.Duration {
	return x.Serialization + x.Connection + x.RTT() + x.Deserialization
}

// The phases of a run with hooks add up to the total of a run without. All
// programs share one CPU: on two, a framework that streams works at both ends at
// once, and its total is shorter than the sum of its parts. Both pairs take
// turns, and another round follows, up to a limit, while the median of the rounds
// lies outside: a machine that others use tells little in one, and 20 % here
// stands for the 10 % that hold on a quiet one (the stacks' READMEs).
func TestPhasesAddUp(t *testing.T) {
	const least, most, requests, bound = 5, 25, 20, 0.20
	for _, f := range slices.Concat(frameworks, containers) {
		t.Run(f.name+" "+f.encoding, func(t *testing.T) {
			cpu := ownCPU(t)
			with := start(t, cpu, f, f.service, 9310, map[string]string{"hooks": "on"})
			without := start(t, cpu, f, f.service, 9310, map[string]string{"hooks": "off"})
			for range 2 {
				with.run(t, 100, false)
				without.run(t, 100, false)
			}
			var ratios []float64
			for len(ratios) < most {
				on, _ := with.run(t, requests, true)
				off, server := without.run(t, requests, true)
				for _, x := range slices.Concat(off, server) {
					if x.Serialization+x.Deserialization+x.Processing+x.Connection != 0 {
						t.Fatalf("a phase in %+v, without hooks", x)
					}
				}
				ratios = append(ratios, float64(median(on, sum))/float64(median(off, total)))
				if got := middle(ratios); len(ratios) >= least && got > 1-bound && got < 1+bound {
					t.Logf("phases are %.1f %% of the total without hooks, %d rounds", 100*got, len(ratios))
					return
				}
			}
			t.Errorf("phases are %.1f %% of the total without hooks, want 100 ± %.0f %%: %.2f", 100*middle(ratios),
				100*bound, ratios)
		})
	}
}

func middle(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}

const delay = 20 * time.Millisecond

var slower = map[string]string{"delay": strconv.Itoa(int(delay))}

// phases are where a delay of the service must not show.
var phases = []struct {
	name string
	of   func(client, server measure.Exchange) time.Duration
}{
	{"the client's serialization", func(c, _ measure.Exchange) time.Duration { return c.Serialization }},
	{"the client's connection", func(c, _ measure.Exchange) time.Duration { return c.Connection }},
	{"the way there and back", func(c, s measure.Exchange) time.Duration { return c.RTT() - s.Total }},
	{"the client's deserialization", func(c, _ measure.Exchange) time.Duration { return c.Deserialization }},
	{"the server's deserialization", func(_, s measure.Exchange) time.Duration { return s.Deserialization }},
	{"the server's serialization", func(_, s measure.Exchange) time.Duration { return s.Serialization }},
	{"the rest of the server's total", func(_, s measure.Exchange) time.Duration {
		return s.Total - s.Deserialization - s.Processing - s.Serialization
	}},
}

// A service that is slower by 20 ms is so in processing, and nowhere else.
func TestDelayIsProcessing(t *testing.T) {
	for _, f := range frameworks {
		t.Run(f.name+" "+f.encoding, func(t *testing.T) {
			start(t, ownCPU(t), f, "echo", 100, slower).delayed(t)
		})
	}
}

// delayed calls a service that is slower by delay. What a framework takes by itself shrinks as its JVM compiles, and on a busy
// machine that takes long: more rounds follow, up to a limit. A delay that is counted elsewhere shows in every round.
func (slow pair) delayed(t *testing.T) {
	t.Helper()
	const rounds = 6
	for round := range rounds {
		slow.run(t, 40, false)
		wrong := slow.misplaced(t)
		if len(wrong) == 0 {
			return
		}
		t.Logf("round %d: %s", round, strings.Join(wrong, "; "))
	}
	t.Errorf("a delay of %v shows where it should not, in each of %d rounds", delay, rounds)
}

// misplaced says where the delay shows and should not, or does not and should. It would show in every request: the least
// time of several is compared, since a busy machine delays some by as much.
func (slow pair) misplaced(t *testing.T) (wrong []string) {
	t.Helper()
	const requests = 15
	client, server := slow.run(t, requests, true)
	least := func(of func(i int) time.Duration) time.Duration {
		all := make([]time.Duration, requests)
		for i := range all {
			all[i] = of(i)
		}
		return slices.Min(all)
	}
	if got := least(func(i int) time.Duration { return server[i].Processing }); got < delay || got > 2*delay {
		wrong = append(wrong, fmt.Sprintf("processing took %v", got))
	}
	for _, p := range phases {
		if got := least(func(i int) time.Duration { return p.of(client[i], server[i]) }); got > delay/2 {
			wrong = append(wrong, fmt.Sprintf("%s took %v", p.name, got))
		}
	}
	return wrong
}
