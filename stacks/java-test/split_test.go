// Package javatest tests from outside what the Java stacks say of their
// phases: that they add up. That a slow service shows in the right one the conformance kit checks.
package javatest

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A framework is a Java stack in its first encoding that streams a message of
// some size; client is another stack's where it has none.
type framework struct{ name, service, encoding, client string }

// heavily says that its programs are to compile as in a study: lightly, its hooks cost a sixth of a message.
func (f framework) heavily() bool { return f.name == "jersey" && f.encoding == "xml" }

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

// containers are GlassFish's servers, which know hooks: off, as a framework each.
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
type pair struct {
	server, client *stack.Conn
	pids           []int
}

// cpu is the CPU time that both have had.
func (p pair) cpu(t *testing.T) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, pid := range p.pids {
		for _, each := range append(kernel.Family(pid), pid) {
			used, err := kernel.CPUTime(each)
			if err != nil {
				t.Fatal(err)
			}
			sum += used
		}
	}
	return sum
}

// start starts a pair with options; both end with the test.
func start(t *testing.T, cpu int, f framework, service string, n int, options map[string]string) pair {
	t.Helper()
	d := stacktest.Built(t, filepath.Join("..", f.name))
	c := stacktest.Built(t, filepath.Join("..", cmp.Or(f.client, f.name)))
	var through []string
	if f.heavily() {
		through = []string{"env", "-u", "JAVA_TOOL_OPTIONS"}
	}
	server, serves := program(t, cpu, d, d.Serve, through...)
	client, calls := program(t, cpu, c, c.Call, through...)
	p := pair{server, client, []int{serves, calls}}
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

// lightly starts a program of a stack on a CPU; it ends with the test. It compiles lightly (stacktest.Quickly): times
// are compared with those of another that does so.
func lightly(t *testing.T, cpu int, d stack.Description, p stack.Program) *stack.Conn {
	t.Helper()
	conn, _ := program(t, cpu, d, p)
	return conn
}

// program starts one through another command, if any, and says its process.
func program(t *testing.T, cpu int, d stack.Description, p stack.Program, through ...string) (*stack.Conn, int) {
	t.Helper()
	argv, err := p.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	alone := append([]string{"taskset", "-c", strconv.Itoa(cpu)}, through...)
	return stacktest.Process(t, d.Dir, append(alone, argv...)...)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run sends requests and returns both sides' records.
func (p pair) run(t *testing.T, requests int) (client, server []measure.Exchange) {
	t.Helper()
	keep := func(xs *[]measure.Exchange) func(measure.Exchange) {
		return func(x measure.Exchange) {
			if x.Failure != "" {
				t.Fatalf("request %d failed: %s", x.Seq, x.Failure)
			}
			*xs = append(*xs, x)
		}
	}
	if _, err := p.client.Run(within(t), stack.Run{Requests: requests, Record: true, Concurrency: 1},
		keep(&client)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.server.Report(within(t), false, keep(&server)); err != nil {
		t.Fatal(err)
	}
	if len(client) != requests || len(server) != requests {
		t.Fatalf("%d records of the client, %d of the server, want %d", len(client), len(server), requests)
	}
	return client, server
}

func median(xs []measure.Exchange, of func(measure.Exchange) time.Duration) time.Duration {
	return sorted(xs, of)[len(xs)/2]
}

func sorted(xs []measure.Exchange, of func(measure.Exchange) time.Duration) []time.Duration {
	all := make([]time.Duration, len(xs))
	for i, x := range xs {
		all[i] = of(x)
	}
	slices.Sort(all)
	return all
}

func total(x measure.Exchange) time.Duration { return x.Total }

func sum(x measure.Exchange) time.Duration {
	return x.Serialization + x.Connection + x.RTT() + x.Deserialization
}

// The phases of a run with hooks add up to the total of a run without: phases are a share of their requests' totals,
// and such a request takes so many times the CPU time of one without, whatever else the machine does. All programs
// share one CPU: on two, a framework that streams works at both ends at once, and its total is shorter than the sum of
// its parts. Both pairs take turns, and another round follows, up to a limit, until they are near enough.
func TestPhasesAddUp(t *testing.T) {
	for _, f := range slices.Concat(frameworks, containers) {
		t.Run(f.name+" "+f.encoding, func(t *testing.T) {
			const most = 24
			const fresh = 8 // rounds after which other processes go on: one that compiled oddly does so for ever
			cpu := ownCPU(t)
			warm := 2 // thousands of numbers in each request: what is run again and again is compiled by then
			if f.heavily() {
				warm = 10
			}
			var with, without pair
			var ratios []float64
			for len(ratios) < most {
				if len(ratios)%fresh == 0 {
					with = start(t, cpu, f, f.service, 9310, map[string]string{"hooks": "on"})
					without = start(t, cpu, f, f.service, 9310, map[string]string{"hooks": "off"})
					for range warm {
						round(t, with, without)
					}
				}
				ratios = append(ratios, round(t, with, without))
				if addUp(ratios) {
					t.Logf("phases are %.1f %% of the total without hooks: %.2f", 100*middle(ratios), ratios)
					return
				}
			}
			t.Errorf("phases are %.1f %% of the total without hooks, want 100 ± %.0f %%: %.2f", 100*middle(ratios),
				100*bound, ratios)
		})
	}
}

// round sends requests of each pair, and returns the first's phases as a share of the second's total.
func round(t *testing.T, with, without pair) float64 {
	t.Helper()
	const requests = 10
	before := with.cpu(t)
	on, _ := with.run(t, requests)
	used := with.cpu(t) - before
	before = without.cpu(t)
	off, served := without.run(t, requests)
	usedWithout := without.cpu(t) - before
	for _, x := range slices.Concat(off, served) {
		if x.Serialization+x.Deserialization+x.Processing+x.Connection != 0 {
			t.Fatalf("a phase in %+v, without hooks", x)
		}
	}
	var shares []float64
	for _, x := range on {
		shares = append(shares, float64(sum(x))/float64(x.Total))
	}
	return middle(shares) * float64(used) / float64(usedWithout)
}

// bound is by how much the phases of a run may differ from the total of another.
const bound = 0.20

// addUp says whether the ratios of rounds are near enough to 1: three that all are by much, or the middle of five or
// more. Of rounds that spread by 6 % and whose true ratio is 1, 1.25 or 1.3, it is true of 100, 14 and 1 %, as where
// the three are not looked at (4,000 simulated series each).
func addUp(ratios []float64) bool {
	within := func(ratio, bound float64) bool { return ratio > 1-bound && ratio < 1+bound }
	if len(ratios) == 3 {
		return within(slices.Min(ratios), 0.75*bound) && within(slices.Max(ratios), 0.75*bound)
	}
	return len(ratios) >= 5 && within(middle(ratios), bound)
}

func TestThreeRoundsMayBeEnough(t *testing.T) {
	for _, tt := range []struct {
		ratios []float64
		want   bool
	}{
		{[]float64{1.1, 0.9, 1.14}, true},
		{[]float64{1, 1, 1.16}, false},
		{[]float64{0.84, 1, 1}, false},
		{[]float64{1, 1}, false},
		{[]float64{1, 1, 1, 1.16}, false},
		{[]float64{1.16, 1, 1, 1.3, 1.19}, true},
		{[]float64{1.21, 1, 1, 1.3, 1.21}, false},
	} {
		if got := addUp(tt.ratios); got != tt.want {
			t.Errorf("%v add up: %v", tt.ratios, got)
		}
	}
}

func middle(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}
