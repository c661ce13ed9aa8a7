package lab

import (
	"context"
	"errors"
	"fmt"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// An attachment is something that a trial has beside its session: the devices, a
// link, a sensor, the two programs, a capture of packets, meters. It owns its state.
type attachment interface {
	// before makes it ready. Its error says what is missing.
	before(ctx context.Context) error
	// after reads what it found. An error is why the trial is invalid; the quality
	// that was noted is kept even then, since it may explain it.
	after(ctx context.Context) (findings, error)
	// close ends what is still there. It is called once, whether before failed,
	// after was called, or neither.
	close()
}

// findings are what a trial is kept with.
type findings struct {
	results []store.Result
	quality []store.Quality
}

func (f *findings) add(g findings) {
	f.results = append(f.results, g.results...)
	f.quality = append(f.quality, g.quality...)
}

// note adds one item to the quality record.
func (f *findings) note(key, unit string, value float64) {
	f.quality = append(f.quality, store.Quality{Key: key, Unit: unit, Value: value})
}

// one adds the figure of a response of which a trial has only one.
func (f *findings) one(side measure.Side, response string, v float64) {
	f.results = append(f.results, single(side, response, v))
}

// errLab marks an error that is the lab's, not the trial's: the run stops, and no
// retry is counted.
var errLab = errors.New("the lab cannot go on")

// labFault marks err, if there is one, as the lab's own.
func labFault(err error) error {
	if err == nil || errors.Is(err, errLab) {
		return err
	}
	return fmt.Errorf("%w: %w", errLab, err)
}

// A reason is an error that already names the program and its log: explain adds
// nothing to it.
type reason struct{ error }

func (r reason) Unwrap() error { return r.error }
