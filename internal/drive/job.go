package drive

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"regexp/syntax"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// How requests arrive.
const (
	Closed = "closed"   // the next when the one before is answered, after Pause
	Even   = "constant" // Rate a second, evenly
	Random = "poisson"  // Rate a second, with exponential gaps from Seed
)

// What a driver takes. Studies are held to the same limits (testbed.Vocabulary).
const (
	MostConnections = 10_000     // open at once: Spec.Concurrency
	MostRate        = 10_000_000 // requests a second: Job.Rate
)

// A Job is what a child process is to do: drive URL with the same Body in
// every request. Requests or Duration limits it, the nearer one.
type Job struct {
	Spec
	Body     []byte        `json:"body,omitempty"`     // B of each request; none: a request without a body
	Status   int           `json:"status,omitempty"`   // that every response must have; any of class 2
	Match    string        `json:"match,omitempty"`    // regular expression that every body must match
	WarmUp   int           `json:"warm_up,omitempty"`  // requests in a closed loop before, not recorded
	Arrivals string        `json:"arrivals,omitempty"` // Closed
	Rate     float64       `json:"rate,omitempty"`     // requests a second
	Seed     uint64        `json:"seed,omitempty"`     // of random arrivals
	Pause    time.Duration `json:"pause,omitempty"`    // ns, in a closed loop: from an answer to the next request
	Requests int           `json:"requests,omitempty"` // at most; 0: no limit
	Duration time.Duration `json:"duration,omitempty"` // ns, at most; 0: no limit
	// Silence is for how long nothing may be heard of an answer, from the first request on, before the job ends with an
	// error; and then five of them must have been waited for until their time-out. ns; 0: for ever.
	Silence time.Duration `json:"silence,omitempty"`
}

// load is the job as a Load, or why it cannot be one.
func (j Job) load() (Load, error) {
	l := Load{Record: true}
	switch {
	case j.Requests < 0:
		return l, fmt.Errorf("%d requests; write 1 or more", j.Requests)
	case j.Duration < 0:
		return l, fmt.Errorf("the duration %v is negative; write, for example, 10s", j.Duration)
	case j.WarmUp < 0:
		return l, fmt.Errorf("%d requests of warm-up; write 0 or more", j.WarmUp)
	case j.Pause < 0:
		return l, fmt.Errorf("the pause %v is negative; write 0s or more", j.Pause)
	case j.Silence < 0:
		return l, fmt.Errorf("the silence %v is negative; write 0s or more", j.Silence)
	case j.Requests == 0 && j.Duration == 0:
		return l, errors.New("neither requests nor duration is set; set one")
	}
	switch j.Arrivals {
	case "", Closed:
		l.Schedule, l.For = ClosedLoop(j.Requests, j.Pause), j.Duration
		return l, nil
	case Even:
		l.Schedule = Constant(j.Rate, j.Requests, j.Duration)
	case Random:
		l.Schedule = Poisson(j.Rate, j.Seed, j.Requests, j.Duration)
	default:
		return l, fmt.Errorf("unknown arrivals %q; write %s, %s or %s", j.Arrivals, Closed, Even, Random)
	}
	if !(j.Rate > 0 && j.Rate <= MostRate) {
		return l, fmt.Errorf("invalid rate %g; write requests per second, up to %d", j.Rate, MostRate)
	}
	return l, nil
}

// Check refuses what no child could do. It connects to nothing.
func (j Job) Check() error {
	if err := j.Spec.Check(); err != nil {
		return err
	}
	if _, err := j.load(); err != nil {
		return err
	}
	_, err := j.Call()
	return err
}

// Call sends the job's body and judges responses by its status and its expression.
func (j Job) Call() (Call, error) {
	e := &expecting{Fixed: j.Body, status: j.Status}
	if j.Match == "" && j.Status == 0 {
		return e.Fixed, nil
	}
	if j.Match != "" {
		var err error
		if e.match, err = regexp.Compile(j.Match); err != nil {
			if fault := new(syntax.Error); errors.As(err, &fault) {
				return nil, fmt.Errorf("%q is not a regular expression: %s", j.Match, fault.Code)
			}
			return nil, err
		}
	}
	return e, nil
}

// A ChildReport is what a child says about its run, besides the exchanges.
type ChildReport struct {
	Quality   DriverStats `json:"quality"`           // the driver's own
	Address   string      `json:"address"`           // that the URL's host was found to be
	Exchanges int         `json:"exchanges"`         // how many follow, each in a fixed number of bytes
	Stopped   bool        `json:"stopped,omitempty"` // before its end; the exchanges are those until then
}

// format is the version of what a child reads and writes:
//
//	<  {"format":2, …Job…}\n
//	>  {"format":2, …ChildReport…, "reasons":["", …]}\n  or  {"format":2, "error":"…"}\n
//	>  Exchanges rows of 72 bytes, little-endian:
//	   due | sent | done | serialization | deserialization | total | connection   int64, ns
//	   out | in | failure (index into reasons) | 0                                uint32
//
// The child ends when its stdin ends, whatever it is doing: it never outlives
// its parent.
const format = 2

const rowBytes = 72

type jobLine struct {
	Format int `json:"format"`
	Job
}

type resultLine struct {
	Format int    `json:"format"`
	Error  string `json:"error,omitempty"`
	ChildReport
	Reasons []string `json:"reasons,omitempty"`
}

// Main is the hidden verb `edgegauge drive`: it does the one job it reads from
// stdin. An error has been written to stdout already.
func Main(stdin io.Reader, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 1<<16)
	rec, result, err := serveJob(bufio.NewReader(stdin))
	if err == nil {
		err = rec.write(out, result)
	} else {
		_ = json.NewEncoder(out).Encode(resultLine{Format: format, Error: err.Error()})
	}
	return errors.Join(err, out.Flush())
}

func serveJob(stdin *bufio.Reader) (*Record, ChildReport, error) {
	line, err := stdin.ReadBytes('\n')
	if err != nil {
		return nil, ChildReport{}, fmt.Errorf("drive: no job on stdin: %w", err)
	}
	var job jobLine
	if err := json.Unmarshal(line, &job); err != nil {
		return nil, ChildReport{}, fmt.Errorf("drive: the job on stdin: %w", err)
	}
	if job.Format != format {
		return nil, ChildReport{}, fmt.Errorf("drive: the job has format %d, this program reads %d; use one version for both",
			job.Format, format)
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(1) // Subtle: the parent is gone; nobody reads what could still be said
	}()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return job.run(ctx)
}

func (j Job) run(ctx context.Context) (*Record, ChildReport, error) {
	load, err := j.load()
	if err != nil {
		return nil, ChildReport{}, fmt.Errorf("drive: %w", err)
	}
	call, err := j.Call()
	if err != nil {
		return nil, ChildReport{}, fmt.Errorf("drive: %w", err)
	}
	j.Largest = max(1, len(j.Body))
	d, err := Dial(ctx, j.Spec)
	if err != nil {
		return nil, ChildReport{}, err
	}
	defer d.Close()
	load.Silence = j.Silence
	if j.WarmUp > 0 {
		warm, err := d.Run(ctx, Load{Schedule: ClosedLoop(j.WarmUp, 0), Silence: j.Silence}, call)
		switch silence := new(silentError); {
		case errors.As(err, &silence):
			return nil, ChildReport{}, err
		case err != nil:
			return nil, ChildReport{}, fmt.Errorf("drive: warm-up: %w", err)
		case warm.heard:
			load.Silence = 0
		}
	}
	rec, err := d.Run(ctx, load, call)
	stopped := err != nil && err == ctx.Err()
	if err != nil && !stopped {
		return nil, ChildReport{}, err
	}
	return rec, ChildReport{Quality: rec.Quality, Address: d.addr.String(), Exchanges: rec.Len(), Stopped: stopped}, nil
}

// write streams a record; nothing is held twice.
func (r *Record) write(w io.Writer, result ChildReport) error {
	line := resultLine{Format: format, ChildReport: result, Reasons: r.reasons.Texts}
	if err := json.NewEncoder(w).Encode(line); err != nil {
		return err
	}
	var b [rowBytes]byte
	for i := range r.count {
		x := r.row(i)
		if _, err := w.Write(x.append(b[:0])); err != nil {
			return err
		}
	}
	return nil
}

func (w *row) append(b []byte) []byte {
	for _, v := range [...]int64{w.due, w.sent, w.done, w.ser, w.deser, w.total, w.connection} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, v := range [...]uint32{w.out, w.in, w.failure, 0} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func parseRow(b []byte) row {
	i64 := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[56+4*i:]) }
	return row{due: i64(0), sent: i64(1), done: i64(2), ser: i64(3), deser: i64(4), total: i64(5), connection: i64(6),
		out: u32(0), in: u32(1), failure: u32(2)}
}

// Order writes a job as a child reads it.
func Order(w io.Writer, j Job) error {
	return json.NewEncoder(w).Encode(jobLine{Format: format, Job: j})
}

// Collect reads what a child wrote and hands on each exchange, in the order of
// Seq.
func Collect(r io.Reader, each func(measure.Exchange) error) (ChildReport, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return ChildReport{}, fmt.Errorf("drive: the child exited without a result: %w", err)
	}
	var head resultLine
	switch err := json.Unmarshal(line, &head); {
	case err != nil:
		return ChildReport{}, fmt.Errorf("drive: the child's result: %w", err)
	case head.Format != format:
		return ChildReport{}, fmt.Errorf("drive: the result has format %d, this program reads %d; use one version for both",
			head.Format, format)
	case head.Error != "":
		return ChildReport{}, errors.New(head.Error)
	}
	var b [rowBytes]byte
	for i := range head.Exchanges {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return ChildReport{}, fmt.Errorf("drive: the child's result ends after %d of %d exchanges: %w", i,
				head.Exchanges, err)
		}
		w := parseRow(b[:])
		if int(w.failure) >= len(head.Reasons) {
			return ChildReport{}, fmt.Errorf("drive: exchange %d of the child's result names failure %d of %d", i+1, w.failure,
				len(head.Reasons))
		}
		if err := each(w.exchange(i, head.Reasons)); err != nil {
			return ChildReport{}, err
		}
	}
	return head.ChildReport, nil
}
