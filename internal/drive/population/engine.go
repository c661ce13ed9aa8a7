package population

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/drive/tally"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Population is devices that can be set going, several times one after the other.
type Population struct {
	core  *core
	links *connections // of streams
	// shared is the socket of devices with DTLS, or that observe: what the server knows of them outlives runs. Nil: each
	// run has one.
	shared *socket
	runs   uint16
	batch  int // datagrams in a system call
}

// A Load is how long a run lasts. One of For and Requests must limit it.
type Load struct {
	// For: nothing is due at or after it. A recorded run lasts so long, since servers and outages may still act; what
	// warms up ends sooner if no device has anything left to do, or hears of changes.
	For      time.Duration
	Requests int  // begun; no more are
	Record   bool // keep rows, and have the outage: what is not recorded warms up
	// Watch takes the state once a second, on the thread that sends: it must not wait. Nil:
	// nobody looks.
	Watch func(State)

	every time.Duration // in a test; 0: tellEvery
}

// An Account is what became of a run.
type Account struct {
	Counts
	Devices int           `json:"devices"` // that were switched on
	Elapsed time.Duration `json:"elapsed"` // from the start of the run to its end, that of its last request at the least
	// CPU is that of this process in the run, system calls included.
	CPU time.Duration `json:"cpu"`
	// RunQueueWait is how long its threads were ready and had no CPU; -1: the kernel does not say.
	RunQueueWait time.Duration `json:"run_queue_wait"`
	// Lateness is from the instant a request was due to the one at which the driver handed
	// it to the kernel. It is the driver's own fault, or its machine's.
	LatenessP50 time.Duration `json:"lateness_p50"`
	LatenessP99 time.Duration `json:"lateness_p99"`
	LatenessMax time.Duration `json:"lateness_max"`
	// Dropped are datagrams that the kernel threw away because this socket's receive
	// buffer was full; -1: it does not say.
	Dropped int64 `json:"dropped"`
	// Kept rows of Requests: all, or one of Sampled at random.
	Kept    int `json:"kept"`
	Sampled int `json:"sampled"`
	// DownMost is how many devices were down at once: their last request had failed.
	DownMost int `json:"down_most"`
	// Recovery is the time from the end of the outage until at most 1 % more of the devices were down, and of the
	// requests failed, than before it, and stayed so for 10 s (Calm); -1: they did not recover, or there was no outage
	// that met more than 1 %.
	Recovery time.Duration `json:"recovery"`
	// Observers are the devices that were registered, or subscribed, at the end.
	Observers int64 `json:"observers,omitempty"`
	Streams   bool  `json:"streams,omitempty"` // devices have connections; datagrams are not counted
	// FirstFailure is why the first request that failed did.
	FirstFailure string `json:"first_failure,omitempty"`
	// Shards is how many processes the devices were. What follows is for Merge, of a part.
	Shards  int              `json:"shards,omitempty"`
	Late    *tally.Histogram `json:"late,omitempty"`
	Steps   []Step           `json:"steps,omitempty"`
	Began   time.Duration    `json:"began,omitempty"`   // when the outage did, if recovery can be told
	Outage  time.Duration    `json:"outage,omitempty"`  // when it ended
	Calm    time.Duration    `json:"calm,omitempty"`    // for how long devices must be up
	Stopped time.Duration    `json:"stopped,omitempty"` // when it was looked last

	rows *rows
	body int
}

// Exchanges yields the rows, in the order in which they ended. It is good until the
// population runs again.
func (r *Account) Exchanges() iter.Seq[measure.Exchange] { return r.rows.exchanges(r.body) }

// New checks a Spec and makes the devices. Nothing is sent.
func New(s Spec) (*Population, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	// A blocked raw call holds its P; without a second one the end of ctx does not get through.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 2))
	p := &Population{core: newCore(&s), batch: batchSize}
	err := p.core.secure()
	p.core.reachesSometimes()
	p.core.ways()
	if err == nil && s.Stream == nil {
		if p.core.sessions != nil || s.observes() {
			p.shared, err = newSocket(s.Server)
		}
		if err != nil {
			return nil, fmt.Errorf("population: %w", err)
		}
		return p, nil
	}
	if err == nil {
		err = s.enough()
	}
	if err == nil {
		p.links, err = newConnections(p.core)
	}
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	return p, nil
}

// Close closes what connections the devices still have.
func (p *Population) Close() {
	if p.links != nil {
		p.links.close()
	}
	if p.shared != nil {
		p.shared.close()
	}
}

// longestWait bounds each wait, so that the end of ctx is seen.
const longestWait = 20 * time.Millisecond

// extraMemory is what the heap may grow by before the collector, else off, comes.
const extraMemory = 256 << 20

// Run sets all devices going, from the beginning, on a socket of its own. A failed
// request is data, not an error. When ctx ends, requests under way fail, and the account
// so far is returned with ctx's error.
func (p *Population) Run(ctx context.Context, l Load) (*Account, error) {
	if l.For < 0 || l.For > longest || l.For == 0 && l.Requests <= 0 {
		return nil, fmt.Errorf("population: a run of %v; write 1ns to %v, or a number of requests", l.For, longest)
	}
	var e runner
	if p.links != nil {
		e = p.links
	} else {
		s := p.shared
		if s == nil {
			var err error
			if s, err = newSocket(p.core.Server); err != nil {
				return nil, fmt.Errorf("population: %w", err)
			}
			defer s.close()
		}
		s.most = p.batch
		e = &engine{core: p.core, socket: s}
	}
	p.runs++
	e.set(l, p.runs*0x9e37^uint16(os.Getpid()))
	p.core.tell = teller{to: l.Watch, every: int64(cmp.Or(l.every, tellEvery))}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer quiet(p.core.secrets())()
	defer context.AfterFunc(ctx, e.halt)()
	cpu, wait, knows := effort()
	drops := e.dropped()
	e.begun(time.Now())
	err := e.run()
	end := e.now()
	e.finish(end)
	p.core.back.look(end)
	cpu2, wait2, _ := effort()
	r := p.core.account(end)
	r.CPU, r.RunQueueWait, r.Dropped = cpu2-cpu, -1, -1
	if drops >= 0 {
		r.Dropped = e.dropped() - drops
	}
	if knows {
		r.RunQueueWait = max(wait2-wait, 0)
	}
	if p.links != nil {
		r.Observers = p.links.subscribed()
	}
	return r, errors.Join(err, ctx.Err())
}

// A runner brings clock and sockets to a core.
type runner interface {
	set(l Load, salt uint16) // to the instant 0 of a run
	begun(at time.Time)
	run() error
	halt() // ends run, from another goroutine
	now() int64
	finish(now int64) // gives up what is under way
	dropped() int64
}

// account is that of a run that ended at an instant.
func (c *core) account(end int64) *Account {
	r := &Account{Counts: c.Counts, Devices: c.switchedOn(end), Elapsed: time.Duration(end),
		LatenessP50: c.late.Quantile(0.5), LatenessP99: c.late.Quantile(0.99), LatenessMax: c.late.Max(),
		Kept: c.rows.n, Sampled: 1 << c.rows.halved, DownMost: c.back.most, Recovery: -1,
		Streams: c.Stream != nil, FirstFailure: c.rows.first, rows: &c.rows, body: c.Body, Observers: int64(c.watching())}
	met := c.outage.For > 0 && c.lot.shows()
	if met && c.Withheld > 0 && c.back.at >= 0 {
		r.Recovery = time.Duration(c.back.at - c.back.end)
	}
	if c.Shards > 1 {
		r.Late, r.Steps, r.Stopped = &c.late, c.back.steps, time.Duration(end)
		if met {
			r.Began, r.Outage = time.Duration(c.back.began), time.Duration(c.back.end)
			r.Calm = time.Duration(c.back.lasts)
		}
	}
	return r
}

// quiet turns garbage collection off until what it returns is called, or the heap has grown by
// more than so many bytes and extraMemory.
func quiet(more int64) func() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + more + extraMemory)
	percent := debug.SetGCPercent(-1)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

func effort() (cpu, wait time.Duration, knows bool) {
	wait, knows = kernel.Waiting(os.Getpid())
	return kernel.OwnCPUTime(), wait, knows
}

// An engine is one run.
type engine struct {
	*core
	socket *socket
	base   time.Time
	stop   atomic.Bool
	alone  singles
}

func (e *engine) now() int64              { return int64(time.Since(e.base)) }
func (e *engine) set(l Load, salt uint16) { e.begin(l, salt) }
func (e *engine) begun(at time.Time)      { e.base = at }
func (e *engine) halt()                   { e.stop.Store(true) }
func (e *engine) finish(now int64)        { e.end(now) }
func (e *engine) dropped() int64          { return e.socket.dropped() }

// Where one datagram comes at a time, to ask for one costs less than to ask for a batch, which looks for a second one.
// So many times in a row, and it is seen whether more come now.
const oneByOne = 15

// singles counts the datagrams that were asked for one by one since there was last one alone.
type singles int

// ask is how many datagrams to ask for where there are some, of all that may be asked for.
func (s singles) ask(all int) int {
	if s < oneByOne {
		return 1
	}
	return all
}

// took notes how many came of those that were asked for.
func (s *singles) took(n, asked int) {
	switch {
	case asked == 1:
		*s++
	case n == 1:
		*s = 0
	default:
		*s = oneByOne
	}
}

func (e *engine) run() error {
	all := e.socket.most
	for most := all; !e.stop.Load(); {
		wait, err := e.round(most)
		if err != nil || wait < 0 {
			return err
		}
		switch {
		case wait == 0: // whoever is due looks at all that is there
			most = all
		case e.socket.wait(wait, false):
			most = e.alone.ask(all)
		default:
			most = 0
		}
	}
	return nil
}

// round takes up to so many datagrams that came in, and does what is due. It says for how long nothing more is; 0:
// something may be; below 0: the run is over.
//
// Whoever is due has looked first, or poll has: an answer that is there takes the turn to send again away. But what was
// sent has no answer yet, so nobody looks for it at once.
func (e *engine) round(most int) (wait time.Duration, err error) {
	full, err := e.take(most)
	if err != nil {
		return 0, err
	}
	some := full && most < e.socket.most // more may be there, and has not been looked for
	now := e.now()
	e.page(now, func(x holding) { e.arrived(x.device, x.bytes, now) })
	if err := e.depart(now); err != nil {
		return 0, err
	}
	if !some {
		e.fire(e.now(), batchSize)
	}
	if err := e.flush(); err != nil {
		return 0, err
	}
	e.tell.look(e.core, e.now())
	next, ok := e.nextPage(e.next())
	now = e.now()
	over := e.waiting == 0 && (!ok && !e.stays || now >= e.span || e.most > 0 && e.started >= e.most)
	switch {
	case full && (!some || over):
		return 0, nil
	case over:
		return -1, nil
	case !ok:
		return longestWait, nil
	}
	return min(longestWait, max(time.Duration(next-now), 0)), nil
}

// take hands on up to so many datagrams that came in; full: there may be more.
func (e *engine) take(most int) (full bool, err error) {
	if most == 0 {
		return false, nil
	}
	n, err := e.socket.receive(most)
	if err != nil || n == 0 {
		return false, err
	}
	now := e.now()
	for i := range n {
		b, to := e.socket.datagram(i)
		device := to % e.Devices
		switch {
		case device < 0:
			e.Strays++
		case e.hits(device, now):
			e.Withheld++
		case e.NAT > 0 && (to != e.from(int32(device)) || e.forgotten(int32(device), now)):
			e.LostAtNAT++
		case to != e.from(int32(device)):
			e.Strays++
		default:
			e.come(int32(device), b, now)
		}
	}
	e.alone.took(n, most)
	return n == most, nil
}

// come takes a datagram that has passed the network, up to the radio.
func (e *engine) come(i int32, b []byte, now int64) {
	landed := e.land(i, len(b), now)
	if landed == never {
		return
	}
	switch at := e.reached(i, landed); at {
	case now:
		e.arrived(i, b, now)
	case never:
		e.LostAsleep++
	default:
		if at > landed {
			e.Paged++
		}
		e.keep(i, 0, b, at)
	}
}

func (e *engine) arrived(i int32, b []byte, now int64) {
	e.woken(i, now)
	e.DatagramsIn++
	e.BytesIn += int64(len(b))
	e.receive(i, b, now)
}

// flush sends what is to be sent, a batch at a time. What cannot be sent at once waits:
// it is late then, which is counted.
func (e *engine) flush() error {
	for from := 0; from < len(e.out); {
		messages := e.out[from:min(from+batchSize, len(e.out))]
		from += len(messages)
		now := e.now()
		n := 0
		for _, m := range messages {
			if e.hits(int(m.device), now) {
				e.Withheld++
				e.left(m, now)
				continue
			}
			e.rebound(m.device, now)
			b := e.append(e.socket.place(n), m)
			if len(b) == 0 {
				e.left(m, now)
				continue
			}
			e.DatagramsOut++
			e.BytesOut += int64(len(b))
			if e.fly(m.device, e.from(m.device), b, now) {
				e.left(m, now)
				continue
			}
			e.socket.put(n, len(b), e.from(m.device))
			messages[n] = m
			n++
		}
		err := e.send(n, now, func(from, to int, now int64) {
			for _, m := range messages[from:to] {
				e.left(m, now)
			}
		})
		if err != nil {
			return err
		}
	}
	e.out = e.out[:0]
	return nil
}

// send hands the n datagrams in the socket's room to the kernel, and tells which went when.
func (e *engine) send(n int, now int64, gone func(from, to int, now int64)) error {
	for sent := 0; sent < n && !e.stop.Load(); {
		k, err := e.socket.send(sent, n)
		if err != nil {
			return fmt.Errorf("population: send from a device's address: %w", err)
		}
		gone(sent, sent+k, now)
		if sent += k; sent < n {
			e.socket.wait(time.Millisecond, true)
			now = e.now()
		}
	}
	return nil
}

// depart hands to the kernel what has left the devices' links by now.
func (e *engine) depart(now int64) error {
	for len(e.flying) > 0 && e.flying[0].at <= now {
		n := 0
		for ; n < batchSize && len(e.flying) > 0 && e.flying[0].at <= now; n++ {
			x := heap.Pop(&e.flying).(holding)
			e.socket.put(n, len(append(e.socket.place(n), x.bytes...)), int(x.device))
		}
		if err := e.send(n, now, func(int, int, int64) {}); err != nil {
			return err
		}
	}
	return nil
}
