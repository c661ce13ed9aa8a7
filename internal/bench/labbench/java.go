package labbench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stat"
)

// A framework is a Java stack as the figures take it: what it is asked in, and
// by which client of ours.
type framework struct{ stack, encoding, client string }

var frameworks = []framework{
	{"axis2", "soap11", "soap"},
	{"axis2-18", "soap11", "soap"},
	{"cxf", "xml", "rest-xml"},
	{"cxf4", "xml", "rest-xml"},
	{"cxf-jaxws", "soap11", "soap"},
	{"jersey", "protobuf", "rest-protobuf"},
	{"jersey3", "protobuf", "rest-protobuf"},
	{"jaxws-rt", "soap11", "soap"},
	{"restlet", "xml", "rest-xml"},
	{"glassfish7", "soap11", "soap"},
	{"glassfish3", "soap11", "soap"},
}

const javaHow = "clock: ten readings of the clock, eight looks for the thread's exchange and one record, as many as " +
	"any adapter makes, in the stack's JVM: CPU time, 7 rounds of 200,000. " +
	"Hooks: monitor on four kept connections by our client, a JVM with hooks and one without alive together, 128,000 " +
	"requests of warm-up each, by turns, then 3 blocks of " +
	"4 turns of 4,000, with, without, without, with, or the other way round; by the wall clock, and by the CPU time of " +
	"the server's threads but its compilers'; 6 such pairs, " +
	"each pair's ratio the median of its blocks'. " +
	"Start: exec to ready, beside exec to the first line of the framework's least program (stacks/java-test/bare), " +
	"same JVM, flags and jars, in turns, 6 pairs. All: median with order-statistics interval"

// javaRows are all frameworks' figures, one after the other.
func javaRows(ctx context.Context, b *Bench) ([]Row, error) {
	var rows []Row
	for _, f := range frameworks {
		more, err := f.rows(ctx, b)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].How == javaHow {
			rows[i].How = ""
		}
	}
	return rows, nil
}

func javaParts() []Part {
	var parts []Part
	for _, f := range frameworks {
		parts = append(parts, Part{Name: "java/" + f.stack, Says: "what our clock, hooks and start add to " + f.stack,
			Measure: f.rows})
	}
	return parts
}

// rows are one framework's three figures.
func (f framework) rows(ctx context.Context, b *Bench) ([]Row, error) {
	d, ok := b.Find(f.stack)
	if !ok {
		return nil, fmt.Errorf("no stack %q in %s; name its folder with --stacks", f.stack, strings.Join(b.Stacks, ", "))
	}
	build := exec.CommandContext(ctx, b.Exe, append([]string{"stacks", "build", f.stack}, b.stackFlags()...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return []Row{missing(f.stack, "", strings.TrimSpace(string(out)))}, nil
	}
	argv, err := d.Serve.Argv(0)
	if err != nil {
		return nil, err
	}
	j := java{framework: f, Bench: b, dir: d.Dir, argv: argv}
	clock, err := j.clock(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := j.hooks(ctx)
	if err != nil {
		return nil, err
	}
	starts, err := j.starts(ctx)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, figure := range []struct {
		name   string
		bound  bound
		values []float64
	}{
		{"clock and record, µs per request", bound{atMost: true, value: 1}, clock},
		{"requests per second with hooks over without, " + f.encoding, bound{value: 0.95}, hooks.wall},
		{"the same, by the server's CPU time", bound{value: 0.95}, hooks.cpu},
		{"start to ready over the framework's bare one", bound{atMost: true, value: 1.5}, starts.wall},
		{"the same, by CPU time", bound{atMost: true, value: 1.5}, starts.cpu},
	} {
		s, err := stat.Median(figure.values, 0.95)
		if err != nil {
			return rows, fmt.Errorf("%s: %s: %w", f.stack, figure.name, err)
		}
		rows = append(rows, Row{Figure: f.stack + ": " + figure.name, Wanted: figure.bound.String(),
			Measured: interval(s.Center, s.Lo, s.Hi),
			Verdict:  figure.bound.verdict(s.Center, s.Lo, s.Hi)})
	}
	rows[0].How = javaHow
	return rows, nil
}

// java is a framework on this machine: its folder, and how its server is started.
type java struct {
	framework
	*Bench
	dir  string
	argv []string
}

// instead is the stack's own command line with another class path before the
// jars and another main class: the same JVM with the same flags.
func instead(argv []string, classes, main string, args ...string) []string {
	whole := strings.Join(append([]string{main}, args...), " ")
	var out []string
	for _, a := range argv {
		a = strings.ReplaceAll(a, "build/app.jar", classes)
		switch a {
		case "Main":
			out = append(append(out, main), args...)
		case "serve":
		default:
			out = append(out, strings.ReplaceAll(a, "Main serve", whole)) // a shell's
		}
	}
	return out
}

// run runs a command in the stack's folder to its end.
func (j java) run(ctx context.Context, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = j.dir, &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// clock is what ClockCost prints in the stack's JVM, in µs.
func (j java) clock(ctx context.Context) ([]float64, error) {
	classes, err := os.MkdirTemp(j.Dir, "clock-")
	if err != nil {
		return nil, err
	}
	source := filepath.Join("..", "java-common", "test", "edgegauge", "adapter", "ClockCost.java")
	if _, err := j.run(ctx, "javac", "--release", "8", "-nowarn", "-Xlint:-options", "-cp", "build/app.jar", "-d", classes,
		source); err != nil {
		return nil, err
	}
	out, err := j.run(ctx, instead(j.argv, classes+":build/app.jar", "edgegauge.adapter.ClockCost")...)
	if err != nil {
		return nil, err
	}
	var us []float64
	for _, line := range strings.Fields(out) {
		ns, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("ClockCost printed %q", line)
		}
		us = append(us, ns/1e3)
	}
	return us, nil
}

// serve starts the adapter's server.
func (j java) serve(ctx context.Context, options map[string]string) (*child, stack.Ready, error) {
	c, err := start(ctx, kernel.Placement{}, j.dir, j.argv...)
	if err != nil {
		return nil, stack.Ready{}, err
	}
	folder, err := os.MkdirTemp(j.Dir, "serve-")
	if err != nil {
		c.end()
		return nil, stack.Ready{}, err
	}
	c.session = &stack.Session{Server: stack.NewConn(c.in, c.out)}
	r, err := c.session.StartServer(ctx, stack.Serve{Service: "monitor", Encoding: j.encoding, Security: "none",
		Transport: "http", Host: "127.0.0.1", Limits: stack.Limits{Body: 1 << 20}, Directory: folder, Options: options})
	if err != nil {
		c.end()
		return nil, r, err
	}
	return c, r, nil
}
