package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Worker measures what a bench is told to. Results lie in a folder of its own until
// the coordinator has kept them, whatever happens to the network or to the worker.
type Worker struct {
	Name    string // of the bench
	Machine string // id of this lab host, or what stands for it
	Program string // version
	Bench   Bench
	Dir     string        // where results lie until they are kept
	Lease   time.Duration // the coordinator's; 0: Lease
	// Conduct measures an order's block into dir, a results directory that is to be made
	// and is closed afterwards. Its error says why the order cannot be measured here.
	Conduct func(ctx context.Context, o Order, dir string) error
	// Help drives another bench's servers as well (Order.Helps), until ctx ends or that bench has
	// ended the conversation.
	Help func(ctx context.Context, o Order) error
	Tell func(Event) // nil: nobody listens
}

// A job is an order in hand.
type job struct {
	order  Order
	cancel context.CancelFunc
	done   bool   // measured
	failed string // why it was given up
	cut    bool   // it was for want of another bench
}

// working is a Worker at work. Only its loop touches it.
type working struct {
	*Worker
	boot     string
	ticked   time.Time // on the monotonic clock
	job      *job      // nil: nothing in hand
	held     []Order   // measured, of runs whose coordinators are not here
	measured chan error
	busy     bool // Conduct runs
	offering bool
	answered chan answered
	said     string // the last reason that was told why results could not be read
	past     Task   // the last task that is over: an order that still says it is old
	heard    stamps
}

type answered struct {
	Task
	Answer
	err error
}

// taskFolder matches what folder makes.
var taskFolder = lazy.Regexp(`^[0-9a-f]{24}-[0-9]+-[0-9]+$`)

// orderFile is the order of measured results, beside their directory.
const orderFile = "order.json"

// Work obeys until ctx ends. It ends what it measures then; what is measured and not
// yet kept stays in Dir, and is offered by the next worker there.
func (w *Worker) Work(ctx context.Context) error {
	x := &working{Worker: w, boot: NewID(), ticked: time.Now(), measured: make(chan error), answered: make(chan answered)}
	if err := x.reopen(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer x.settle()
	defer cancel()
	every := cmp.Or(w.Lease, Lease) / beats
	tick := time.NewTicker(every)
	defer tick.Stop()
	x.offer(ctx)
	x.beat(ctx)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-w.Bench.Orders():
			x.obey(ctx, o)
		case err := <-x.measured:
			x.wake()
			x.end(err)
			x.offer(ctx)
			x.beat(ctx)
		case a := <-x.answered:
			x.hear(a)
			x.beat(ctx)
		case <-tick.C:
			x.wake()
			x.ticked = time.Now()
			x.offer(ctx)
			x.beat(ctx)
		}
	}
}

// reopen finds measured results that workers before left here, and removes what they had
// not finished. In a folder that holds anything else it removes nothing.
func (w *working) reopen() error {
	if err := os.MkdirAll(w.Dir, 0o755); err != nil {
		return err
	}
	all, err := os.ReadDir(w.Dir)
	if err != nil {
		return err
	}
	for _, e := range all { // before anything is removed
		if !e.IsDir() || !taskFolder().MatchString(e.Name()) {
			return fmt.Errorf("%s holds %q, which no worker made; a worker needs a folder of its own, and removes from it "+
				"what is not finished: name an empty one with --dir", w.Dir, e.Name())
		}
	}
	for _, e := range all {
		var o Order
		text, err := kernel.ReadFile(filepath.Join(w.Dir, e.Name(), orderFile), 64<<20)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("results that were measured cannot be read: %w", err) // they may be whole
		}
		if err == nil {
			err = json.Unmarshal(text, &o)
		}
		if err == nil && w.folder(o.Task) == filepath.Join(w.Dir, e.Name()) {
			w.held = append(w.held, o)
		} else if err := os.RemoveAll(filepath.Join(w.Dir, e.Name())); err != nil {
			return err
		}
	}
	if len(w.held) > 0 {
		w.resume(w.held[0].Run)
	}
	return nil
}

// resume takes results of a run in hand again; false: there are none.
func (w *working) resume(run string) bool {
	i := slices.IndexFunc(w.held, func(o Order) bool { return o.Run == run })
	if i >= 0 {
		w.job = &job{order: w.held[i], done: true, cancel: func() {}}
		w.held = slices.Delete(w.held, i, i+1)
	}
	return i >= 0
}

// folder is that of a task: its results, and its order once they are whole.
func (w *working) folder(t Task) string {
	return filepath.Join(w.Dir, t.folder())
}

func (t Task) folder() string { return fmt.Sprintf("%s-%d-%d", t.Run, t.Block, t.Attempt) }

// results is where the order in hand is measured.
func (w *working) results() string { return filepath.Join(w.folder(w.job.order.Task), "results") }

// clear forgets the results of a task. The order goes first: without it they are nothing.
func (w *working) clear(t Task) error {
	return errors.Join(removed(filepath.Join(w.folder(t), orderFile)), os.RemoveAll(w.folder(t)))
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// settle waits for what the loop began.
func (w *working) settle() {
	if w.busy {
		w.job.cancel()
		<-w.measured
	}
	if w.offering {
		<-w.answered
	}
}

// obey makes an order the one in hand. Results that are measured stay in hand until they
// are answered, since their coordinator may still count on them.
func (w *working) obey(ctx context.Context, o Order) {
	switch {
	case !taskFolder().MatchString(o.folder()): // it becomes the name of one
		return
	case w.heard.older(o.Stamp):
		return
	case w.job != nil && o.Task == w.job.order.Task:
		return
	case w.job != nil && w.busy:
		// Subtle: an order of another worker of this bench ends ours, too.
		w.job.failed = cmp.Or(w.job.failed, "its block was reassigned")
		w.job.cancel()
		return // the order is told again
	case w.job != nil && w.job.done:
		return
	case w.job == nil && w.resume(o.Run):
		w.offer(ctx)
		return
	case o.Attempt == 0, o.Boot != w.boot, o.Task == w.past:
		return
	}
	one, cancel := context.WithCancel(ctx)
	if w.job != nil {
		w.clear(w.job.order.Task) // what was given up; of what stays, the next start is rid
	}
	w.job, w.busy = &job{order: o, cancel: cancel}, true
	if o.Helps != "" {
		w.tell("helps bench "+o.Helps, false)
		go func() { w.measured <- w.Help(one, o) }()
		w.beat(ctx)
		return
	}
	w.tell("measures", false)
	dir := w.results()
	go func() {
		err := os.MkdirAll(filepath.Dir(dir), 0o755)
		if err == nil {
			err = w.Conduct(one, o, dir)
		}
		w.measured <- err
	}()
	w.beat(ctx)
}

// end notes what became of the order in hand. The order's file says that its results
// are whole, and is written last.
func (w *working) end(err error) {
	w.busy = false
	w.job.cancel()
	w.job.cut = errors.Is(err, ErrCut)
	if w.job.order.Helps != "" && (err == nil || w.job.failed != "") { // there are no results of it
		w.past, w.job = w.job.order.Task, nil
		return
	}
	if err == nil && w.job.failed == "" {
		err = small(w.results())
	}
	if err == nil && w.job.failed == "" {
		var text []byte
		if text, err = json.Marshal(w.job.order); err == nil {
			err = store.Replace(filepath.Join(w.folder(w.job.order.Task), orderFile), func(f io.Writer) error {
				_, err := f.Write(text)
				return err
			})
		}
	}
	if err != nil || w.job.failed != "" {
		if w.job.failed == "" {
			w.job.failed = err.Error()
		}
		w.tell("gave up: "+w.job.failed, false)
		return
	}
	w.job.done = true
	w.tell("measured", false)
}

func (w *working) tell(what string, done bool) {
	if w.Tell != nil {
		w.Tell(Event{Bench: w.Name, Block: w.job.order.Block, What: what, Done: done})
	}
}

// wake gives up what was under way while this process stood still for a lease: a stopped
// process, a lid that was shut. The order is lost, and what was measured is nonsense.
func (w *working) wake() {
	if still := time.Since(w.ticked); w.busy && still > cmp.Or(w.Worker.Lease, Lease) {
		w.job.failed = "the worker was suspended for " + study.DurationText(still.Round(time.Second))
		w.job.cancel()
	}
}

// beat says that this worker lives, and what it has in hand.
func (w *working) beat(ctx context.Context) {
	b := Beat{Bench: w.Name, Boot: w.boot, Machine: w.Machine, Program: w.Program}
	if j := w.job; j != nil {
		b.Task, b.Done = j.order.Task, j.done
		b.Helps = j.order.Helps
		if !w.busy {
			b.Failed, b.Cut = j.failed, j.cut
		}
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(w.Worker.Lease, Lease)/beats)
	defer cancel()
	w.Bench.Beat(limited, b) // the next comes soon
}

// offer delivers what is measured, and is called again until it is answered.
func (w *working) offer(ctx context.Context) {
	if w.job == nil || !w.job.done || w.offering {
		return
	}
	w.offering = true
	o, dir := w.job.order, w.results()
	go func() {
		a, err := w.deliver(ctx, o, dir)
		w.answered <- answered{o.Task, a, err}
	}()
}

func (w *working) deliver(ctx context.Context, o Order, dir string) (Answer, error) {
	r := Bundle{Task: o.Task, Bench: w.Name, Boot: o.Boot}
	if err := store.Whole(dir); err != nil {
		return Answer{}, err
	}
	names, err := store.Files(dir)
	if err != nil {
		return Answer{}, err
	}
	for _, name := range names {
		f, err := describe(dir, name)
		if err != nil {
			return Answer{}, err
		}
		r.Files = append(r.Files, f)
	}
	return w.Bench.Deliver(ctx, r, dir)
}

// small refuses results that no hub takes.
func small(dir string) error {
	names, err := store.Files(dir)
	all := int64(0)
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			all += info.Size()
		}
	}
	if err == nil && all > MostResults {
		err = fmt.Errorf("the results of the block have %d B, and a hub takes %d; measure for a shorter time, or keep no "+
			"packets", all, int64(MostResults))
	}
	return err
}

// describe makes the checksum of a file.
func describe(dir, name string) (File, error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return File{Name: name, Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// hear takes the answer to results.
func (w *working) hear(a answered) {
	w.offering = false
	switch {
	case a.err != nil:
		if text := a.err.Error(); errors.As(a.err, new(*fs.PathError)) && text != w.said { // of this machine
			w.said = text
			w.tell("its results cannot be offered, and stay here until they can: "+text, false)
		}
		return // they are offered again at the next beat
	case a.Verdict == Damaged:
		return // likewise
	case a.Verdict == Unknown: // until an order of that run is told
		w.held, w.job = append(w.held, w.job.order), nil
		return
	}
	w.tell(string(a.Verdict)+why(a.Why), a.Verdict == Kept)
	if err := w.clear(a.Task); err != nil {
		return // asked again, it is answered the same
	}
	w.past, w.job = w.job.order.Task, nil
}

func why(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
