package reference

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A program is one process of a reference stack: the protocol on its pipes.
type program struct {
	kind kind
	in   *bufio.Reader
	out  *bufio.Writer
	log  *log.Logger
	tap  Tap
	name string
	part bool        // this process is a part of many devices (shards.go), or of a server (parts.go)
	full atomic.Bool // a connection came for which this process, a part of a server, had no file left
}

// What a process is started with that is a part: shardVerb is call for a part of many devices, partVerb is serve for
// a part of a server.
const shardVerb, partVerb = "shard", "part"

// A Tap looks at every request that a server of this process decoded, and may have
// it answer another message than was asked: it tells the conformance kit what a
// client sends, and whether the client reads what it gets.
type Tap func(body []byte, request *service.Message) (lie bool)

// A server is a service that listens.
type server interface {
	url() string
	take() *records // what was recorded since the last take
	close()
}

// Main runs NAME serve|call on the pipes given and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Tapped(args, stdin, stdout, stderr, nil)
}

// Process is Main as all that a process does. It closes its output itself: the lab has the server end when the client's
// is closed, and at the end of a process the kernel takes its memory apart first.
func Process(args []string) int {
	status := Main(args, os.Stdin, os.Stdout, os.Stderr)
	os.Stdout.Close()
	return status
}

// Tapped is Main with a tap, which may be nil.
func Tapped(args []string, stdin io.Reader, stdout, stderr io.Writer, tap Tap) int {
	p := &program{in: bufio.NewReader(stdin), out: bufio.NewWriterSize(stdout, 1<<16),
		log: log.New(stderr, "", log.Lmicroseconds), tap: tap}
	err := p.main(args)
	p.out.Flush()
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	p.log.Print(err)
	p.say(map[string]string{"type": "error", "message": err.Error()})
	return 1
}

func (p *program) main(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("a stack program is started as NAME serve|call, not %q", args)
	}
	var ok bool
	p.name, p.part = args[0], args[1] == shardVerb || args[1] == partVerb
	if args[0] == requester && (args[1] == "call" || args[1] == shardVerb) {
		return p.request()
	}
	if p.kind, ok = find(args[0]); !ok {
		return fmt.Errorf("this binary has no stack %q", args[0])
	}
	switch args[1] {
	case "serve", partVerb:
		return p.serve()
	case "call", shardVerb:
		return p.call()
	}
	return fmt.Errorf("unknown verb %q; supported: serve, call", args[1])
}

// serve answers one "serve" after the other, each in the place of the one before, and reports until stdin ends.
func (p *program) serve() error {
	_, line, err := p.next("serve")
	for err == nil {
		line, err = p.served(line)
	}
	return err
}

// served reports of one server until stdin ends, or until a line asks for another, which it returns.
func (p *program) served(line []byte) ([]byte, error) {
	var s stack.Serve
	if err := parse("serve", line, &s); err != nil {
		return nil, err
	}
	wish := stack.Wish{Service: s.Service, Encoding: s.Encoding, Security: s.Security, Transport: s.Transport}
	if err := p.supports(wish); err != nil {
		return nil, err
	}
	n, err := p.parts(s)
	if err != nil {
		return nil, err
	}
	if n > 1 {
		return p.serveParts(s, n)
	}
	// With one P, as on one CPU, the runtime's monitor takes it from every system
	// call that a client on the same CPU interrupts, looks for more every 20 µs, and
	// stops at times: an RTT of 28 or of 50 µs, for 100 ms and more at a time.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2))
	srv, err := p.kind.serve(p, s)
	if err != nil {
		return nil, err
	}
	defer srv.close()
	p.ready(srv.url(), stack.Phases{}, p.again())
	for {
		kind, line, err := p.next(p.orAgain("report", "serve")...)
		if err != nil || kind == "serve" {
			return line, err
		}
		var r stack.Report
		if err := parse(kind, line, &r); err != nil {
			return nil, err
		}
		taken := srv.take()
		if p.full.Load() {
			return nil, errFull
		}
		if err := p.report(taken, r.Discard); err != nil {
			return nil, err
		}
	}
}

// again tells whether the program takes another line of its verb (stacks/PROTOCOL.md). A client of DPWS does not: it
// keeps what it found of devices.
func (p *program) again() bool { return p.kind.serve != nil && p.kind.find == nil }

// orAgain are the lines that may come next.
func (p *program) orAgain(next, verb string) []string {
	if p.again() {
		return []string{next, verb}
	}
	return []string{next}
}

// supports refuses what this stack does not offer, naming what it has.
func (p *program) supports(w stack.Wish) error {
	for _, d := range Stacks() {
		if d.Name != Prefix+p.kind.name {
			continue
		}
		_, err := d.Resolve(w)
		return err
	}
	return nil
}

func (p *program) ready(url string, phases stack.Phases, again bool) {
	p.readyAs(1, url, phases, again)
}

// readyAs is ready for a program that is so many processes.
func (p *program) readyAs(processes int, url string, phases stack.Phases, again bool) {
	line := map[string]any{"type": "ready", "url": url, "version": goVersion(), "runtime": runtime.Version(),
		"phases": phases, "again": again}
	if processes > 1 {
		line["processes"] = processes
	}
	p.say(line)
}

func (p *program) report(r *records, discard bool) error {
	defer r.forget()
	if !discard {
		var line []byte
		for x := range r.exchanges() {
			line = stack.AppendExchange(line[:0], x)
			if _, err := p.out.Write(line); err != nil {
				return err
			}
		}
	}
	return p.end(stack.End{Count: r.n})
}

// end ends the records of a run or a report, or says how many there would have been.
func (p *program) end(e stack.End) error {
	line := map[string]any{"type": "end", "count": e.Count, "cpu": int64(e.CPU), "phases": e.Phases,
		"repetitions": e.Repetitions, "retransmissions": e.Retransmissions}
	if e.Reconnects > 0 {
		line["reconnects"] = e.Reconnects
	}
	if e.Surplus > 0 {
		line["surplus_answers"] = e.Surplus
	}
	if e.Unsure > 0 {
		line["unsure_answers"] = e.Unsure
	}
	if e.Failed > 0 {
		line["failed"], line["first_failure"] = e.Failed, e.FirstFailure
	}
	if e.Population != "" {
		line["population"] = json.RawMessage(e.Population)
	}
	return p.say(line)
}

// read reads the next line, which must be of the wanted type.
func (p *program) read(want string, v any) error {
	_, line, err := p.next(want)
	if err != nil {
		return err
	}
	return parse(want, line, v)
}

// next reads the next line, which must be of a wanted type, and returns that.
func (p *program) next(want ...string) (kind string, line []byte, err error) {
	line, err = p.in.ReadBytes('\n')
	if err != nil {
		return "", nil, io.EOF
	}
	var h struct {
		Type     string `json:"type"`
		Protocol int    `json:"protocol"`
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return "", nil, fmt.Errorf("%.80q is not a line of the protocol: %v", line, err)
	}
	if !slices.Contains(want, h.Type) {
		return "", nil, fmt.Errorf("%q is unexpected here; expected %q", h.Type, strings.Join(want, " or "))
	}
	if h.Protocol > stack.Protocol {
		return "", nil, fmt.Errorf("protocol %d is newer than this program's (%d); update edgegauge", h.Protocol,
			stack.Protocol)
	}
	return h.Type, line, nil
}

// parse reads what a line of a type says.
func parse(kind string, line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("%s: %v", kind, err)
	}
	return nil
}

func (p *program) say(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.out.Write(append(b, '\n'))
	return p.out.Flush()
}

func (p *program) encoding(name string) codec.Encoding {
	if name == "" {
		return p.kind.encodings[0]
	}
	return codec.Encoding(name)
}
