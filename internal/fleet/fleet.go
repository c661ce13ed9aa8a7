// Package fleet shares a plan among benches. A coordinator gives each bench whole
// blocks and takes their results into the ledger; a worker on each bench measures what
// it is told and keeps the results until they are kept by the coordinator.
//
// Three rules carry it. The unit of work is a block: a bench measures every treatment
// of it, so that benches never differ between treatments. The ledger (store.Store) is
// the authority: it draws the attempt number of each order, and only what was measured
// under an order that is under way counts. What carries the messages may lose, repeat,
// delay or forget all of them: an order is a value that is told again, and results are
// offered until they are answered.
//
// The package knows no broker and conducts no trial: Board and Bench are the two ends of
// a transport (package wire), and how a block is measured is a function.
package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// Lease is for how long a bench may be silent before its block is given away.
const Lease = time.Minute

// MostResults is how many bytes the results of a block may have: a hub stores no more of a bench.
const MostResults = 4 << 30

// beats is how often a bench is heard within a lease.
const beats = 4

// A Task names an order among all there are.
type Task struct {
	Run     string `json:"run"`     // of a study: its results directory's, drawn when that was made
	Block   int    `json:"block"`   // of the plan, from 1
	Attempt int    `json:"attempt"` // as the ledger drew it; 0: there is no task
}

// An Order is what a bench is to do. One without a task is: nothing.
type Order struct {
	Task
	Boot      string   `json:"boot"`                // of the worker it is meant for
	Retries   int      `json:"retries"`             // further attempts of a trial that was not valid
	Study     []byte   `json:"study"`               // the study file as read
	Overrides []string `json:"overrides,omitempty"` // path=value
	Plan      []byte   `json:"plan"`                // plan.csv of the block alone
	Helpers   []string `json:"helpers,omitempty"`   // benches that drive this one's servers as well
	// Helps is the bench whose block this is, where this one only drives its servers as well, until
	// it is told another order or that bench has ended.
	Helps string `json:"helps,omitempty"`
	Stamp
}

// A Question is whether a bench can measure a study.
type Question struct {
	Study     []byte   `json:"study"`               // the study file as read
	Overrides []string `json:"overrides,omitempty"` // path=value
	Helps     bool     `json:"helps,omitempty"`     // it would only drive the servers of another
}

// A Reply is a bench's to a Question.
type Reply struct {
	Why string `json:"why,omitempty"` // it cannot; empty: it can
	// Lacks are treatments (study.Trial.Cell) that it would leave out, as the study lets it, each with the reason.
	Lacks map[int]string `json:"lacks,omitempty"`
	Busy  bool           `json:"busy,omitempty"` // it measures, and has not looked
}

// A Beat is how a bench is heard.
type Beat struct {
	Bench   string `json:"bench"`   // its name
	Boot    string `json:"boot"`    // random, of this worker process
	Machine string `json:"machine"` // id of the lab host, or what stands for it
	Program string `json:"program"` // version
	Task           // that it has in hand
	// Done says that the task is measured and its results are still here.
	Done bool `json:"done,omitempty"`
	// Failed says why the bench gave the task up.
	Failed string `json:"failed,omitempty"`
	// Cut says that it failed for want of another bench, which it could not reach.
	Cut   bool   `json:"cut,omitempty"`
	Helps string `json:"helps,omitempty"` // Order's, of the task in hand
}

// A Bundle offers what a bench measured: all files of a block's results.
type Bundle struct {
	Task
	Bench string `json:"bench"` // its name
	Boot  string `json:"boot"`  // that the order was meant for
	Files []File `json:"files"` // all of the results directory
}

// A File is one of a results directory.
type File struct {
	Name   string `json:"name"`   // with slashes, store.Portable
	Bytes  int64  `json:"bytes"`  // size
	SHA256 string `json:"sha256"` // in hex
}

// A Verdict is what a coordinator answers to results.
type Verdict string

const (
	Kept    Verdict = "kept"     // durable in the ledger: the bench may forget them
	TooLate Verdict = "too late" // the block had been given away again; the bench may forget them
	Refused Verdict = "refused"  // they are not what was ordered; the bench may forget them
	Damaged Verdict = "damaged"  // files did not arrive whole: send them again
	Unknown Verdict = "unknown"  // of another run: its coordinator is not here
)

// An Answer is a verdict, with the reason in words.
type Answer struct {
	Verdict Verdict `json:"verdict"`       // what becomes of the result
	Why     string  `json:"why,omitempty"` // in words, where it is refused
}

// A Board is the coordinator's end of a transport.
type Board interface {
	// Assign makes o what the bench is to do, until another is assigned. The same again
	// changes nothing. What it writes has a new Stamp.
	Assign(ctx context.Context, bench string, o Order) error
	Alive() <-chan Beat
	Results() <-chan Delivery
	// Drained names benches that are to get no more orders.
	Drained() <-chan string
	// Mend is called again and again while a bench has results that do not arrive. What
	// carries them may be broken, and nothing that it holds is needed.
	Mend(ctx context.Context, bench string) error
}

// A Delivery is a result at the coordinator's end. The transport vouches for its Bench.
type Delivery struct {
	Bundle
	// Fetch writes the files into dir, durably, and compares their checksums (ErrDamaged).
	Fetch  func(ctx context.Context, dir string) error
	Answer func(Answer)
}

// A Bench is the worker's end of a transport.
type Bench interface {
	// Orders tells what the bench is to do, again and again. No order at all says nothing.
	Orders() <-chan Order
	Beat(ctx context.Context, b Beat) error
	// Deliver offers results, whose files lie in dir, and waits for the answer.
	Deliver(ctx context.Context, r Bundle, dir string) (Answer, error)
}

// ErrCut is that a bench could not reach another that it measures with.
var ErrCut = errors.New("benches that measure together lost each other")

// ErrDamaged is that a file does not match its checksum.
var ErrDamaged = errors.New("damaged")

// A Ledger is what a coordinator needs of a store.Store.
type Ledger interface {
	Trials() ([]store.TrialState, error)
	Attempts(trial int) ([]store.AttemptState, error)
	Orders() ([]store.Order, error)
	Order(block int, on store.Bench, retries int) (store.Order, error)
	Withdraw(o store.Order, reason string) error
	Fate(o store.Order) (store.State, error)
	// Examine may take long, and is called beside all others.
	Examine(o store.Order, retries int, dir string) (store.Examined, error)
	Accept(x store.Examined) (store.State, error)
	BlockPlan(block int) ([]byte, error)
	Incoming(name string) (string, error)
	RemoveIncoming(dir string) error
}

// NewID draws an id for a run or a boot.
func NewID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
