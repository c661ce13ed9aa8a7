package device

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/measure"
)

// UsageInstrument names the instrument that samples CPU time and resident
// memory of all that the agent started.
const UsageInstrument = "usage"

// Observe keeps the named instrument's samples on the device until ctx ends,
// and emits them then. Their At counts from the beginning of the observation,
// on the device's clock.
func (r *Remote) Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error {
	return r.Watch(ctx, instrument, func(time.Duration) {}, emit, nil)
}

// Describe asks an instrument of the device what it is; what it tells besides
// goes into told, unless that is nil.
func (r *Remote) Describe(ctx context.Context, instrument string, told any) (measure.Description, error) {
	d := described{Told: told}
	err := r.ask(ctx, opDescribe, observeArgs{instrument}, &d)
	return d.Description, err
}

// Clock says where the device's monotonic clock stands: the instant here at
// which it was zero, and how far that may be off, half the fastest of some
// round trips.
func (r *Remote) Clock(ctx context.Context) (zero time.Time, off time.Duration, err error) {
	off = time.Hour
	for range 5 {
		var i instant
		began := time.Now()
		if err := r.ask(ctx, opClock, nil, &i); err != nil {
			return zero, off, err
		}
		if half := time.Since(began) / 2; half < off {
			zero, off = began.Add(half-time.Duration(i.Monotonic)), half
		}
	}
	return zero, off, nil
}

// Watch is Observe that says when the observation began, on the device's
// monotonic clock, and what the instrument told after it.
func (r *Remote) Watch(ctx context.Context, instrument string, began func(time.Duration), emit func(measure.Sample),
	told any) error {
	s := r.conn.Open()
	defer s.Close()
	called := make(chan error, 1)
	end := observed{Told: told}
	call, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	go func() {
		err := r.call(call, opObserve, observeArgs{instrument}, &end, s)
		if err != nil {
			s.Close()
		}
		called <- err
	}()
	answer := func() error { // the stream is over, so it is on its way, or nobody is there
		defer time.AfterFunc(patience, giveUp).Stop()
		return <-called
	}
	defer context.AfterFunc(ctx, func() { s.CloseWrite(nil) })()
	in := bufio.NewReader(&promptReader{s, ctx})
	var first observed
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil {
		s.Close()
		return errors.Join(answer(), ctx.Err())
	}
	began(time.Duration(first.Began))
	for lines := json.NewDecoder(in); ; {
		var m measure.Sample
		err := lines.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.Close()
			return errors.Join(fmt.Errorf("%s: instrument %s: %w", r.Name, instrument, err), answer())
		}
		emit(m)
	}
	if err := answer(); err != nil {
		return err
	}
	if end.Lost > 0 {
		return fmt.Errorf("%s: instrument %s: %d samples did not fit on the device; sample less often, or shorten the trial",
			r.Name, instrument, end.Lost)
	}
	return nil
}

// promptReader reads a stream that, once ctx has ended, may not be silent for
// longer than patience.
type promptReader struct {
	s   *rpc.Stream
	ctx context.Context
}

func (p *promptReader) Read(b []byte) (int, error) {
	late := context.AfterFunc(p.ctx, func() { p.s.SetReadDeadline(time.Now().Add(patience)) })
	defer late()
	if p.ctx.Err() != nil {
		p.s.SetReadDeadline(time.Now().Add(patience))
	}
	return p.s.Read(b)
}
