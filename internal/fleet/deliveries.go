package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// A fetch is a delivery on its way: its files are fetched, and then examined, beside the loop.
type fetch struct {
	order    store.Order
	d        Delivery
	dir      string
	err      error // of fetching
	found    store.Examined
	examined error
}

// receive answers results, or begins to fetch them.
func (w *conducting) receive(ctx context.Context, d Delivery) error {
	if d.Run != w.Run {
		d.Answer(Answer{Unknown, "another run is coordinated here"})
		return nil
	}
	s := w.seat(d.Bench)
	o := store.Order{Block: d.Block, Attempt: d.Attempt, Bench: store.Bench{Name: d.Bench, Boot: d.Boot}}
	if f := s.fetching; f != nil {
		if f.order == o { // it asks again: the answer goes to whom still waits for it
			f.d.Answer = d.Answer
		}
		return nil
	}
	fate, err := w.Ledger.Fate(o)
	switch {
	case errors.Is(err, store.ErrNoData):
		w.refuse(d.Answer, Event{Bench: d.Bench, Block: d.Block, What: err.Error()})
		return nil
	case err != nil:
		return err
	case fate == store.Valid:
		d.Answer(Answer{Verdict: Kept})
		return nil
	case fate == store.Superseded:
		d.Answer(Answer{Verdict: TooLate})
		return nil
	}
	f := &fetch{order: o, d: d}
	if f.dir, err = w.Ledger.Incoming(d.Bench); err != nil {
		return err
	}
	s.fetching = f
	most := w.lease()
	for _, file := range d.Files {
		most += time.Duration(float64(file.Bytes) / fetchRate * float64(time.Second))
	}
	go func() {
		limited, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		if f.err = d.Fetch(limited, f.dir); f.err == nil {
			f.found, f.examined = w.Ledger.Examine(o, w.Retries, f.dir)
		}
		w.fetched <- f
	}()
	return nil
}

func (w *conducting) refuse(answer func(Answer), e Event) {
	w.outcome.Refused++
	answer(Answer{Refused, e.What})
	e.What = "refused: " + e.What
	w.tell(e)
}

// ofNames reports whether err comes of what a bench calls its files, and not of what this machine lacks.
func ofNames(err error) bool {
	for _, kind := range []error{fs.ErrExist, syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// take puts fetched results into the ledger, and answers.
func (w *conducting) take(f *fetch) error {
	defer w.Ledger.RemoveIncoming(f.dir)
	s := w.seat(f.order.Bench.Name)
	s.fetching = nil
	s.held = time.Now() // the fetch may have taken longer than a lease
	under := s.order != nil && *s.order == f.order
	event := Event{Bench: f.order.Bench.Name, Block: f.order.Block}
	switch {
	case errors.Is(f.err, ErrDamaged), ofNames(f.err):
		w.outcome.Damaged++
		event.What = "damaged: " + f.err.Error()
		w.tell(event)
		f.d.Answer(Answer{Damaged, f.err.Error()})
		if w.fail(s, f.err.Error()); under && s.barred != "" {
			return w.withdraw(s, s.barred)
		}
		return nil
	case errors.As(f.err, new(*fs.PathError)): // of this machine, such as a full disk
		return fmt.Errorf("results of bench %s cannot be kept: %w", f.order.Bench.Name, store.Worded(f.dir, f.err))
	case f.err != nil:
		return nil // the bench asks again
	}
	state, err := store.State(""), f.examined
	if err == nil {
		state, err = w.Ledger.Accept(f.found)
	}
	switch {
	case errors.Is(err, store.ErrRefused):
		event.What = err.Error()
		w.refuse(f.d.Answer, event)
		if !under {
			return nil
		}
		w.fail(s, err.Error())
		return w.withdraw(s, err.Error())
	case err != nil:
		return err
	case state == store.Superseded:
		w.outcome.TooLate++
		event.What = "too late: its results are stored, but do not count"
		w.tell(event)
		f.d.Answer(Answer{Verdict: TooLate})
		return nil
	}
	if under {
		for _, helper := range s.team {
			w.seats[helper].failures = 0
		}
		w.over(f.order.Bench.Name, s)
	}
	s.failures = 0
	w.outcome.Kept++
	w.outcome.Blocks[event.Bench]++
	left := f.found.Left(w.Retries)
	event.What, event.Done = "kept", !left
	w.tell(event)
	if w.measured[event.Bench]++; left {
		if err := w.plan(); err != nil {
			return err
		}
	}
	if err := w.watchControl(event.Bench, s); err != nil {
		return err
	}
	f.d.Answer(Answer{Verdict: Kept})
	return nil
}
