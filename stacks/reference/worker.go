package reference

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// base is when this process's clock began.
var base = time.Now()

// now is the process's monotonic clock in ns.
func now() int64 { return int64(time.Since(base)) }

// workers turn request bodies into response bodies, many at a time.
type workers struct {
	name     service.Name
	encoding codec.Encoding
	env      service.Env
	sensor   thermometer
	pool     sync.Pool
	kept     *records
	underway atomic.Int64 // requests received and not yet recorded

	// decode reads x.body into x.request, encode makes x.answer of x.response.
	decode func(x *worker) error
	encode func(x *worker)

	wait    waits // the phantom's
	falsify bool  // the phantom answers another message than was asked
	tap     Tap
}

// A worker is the memory of one request under way.
type worker struct {
	request, response service.Message
	body, answer      []byte
	frame             []byte // gRPC: what is around them
	began             int64
	record            record
	header, reply     dpws.Header // DPWS
	env               service.Env
	sensor            int64 // ns, of the request under way
}

func newWorkers(s stack.Serve, enc codec.Encoding) (*workers, error) {
	w := &workers{name: service.Name(s.Service), encoding: enc, kept: newRecords()}
	w.pool.New = func() any { return w.worker() }
	limit := unpacked(s.Limits)
	w.decode = func(x *worker) error { return codec.DecodeWithin(enc, x.body, w.name, false, &x.request, limit) }
	w.encode = func(x *worker) { x.answer = codec.Append(enc, x.answer[:0], w.name, true, &x.response) }
	w.env.Keep = keepIn(s.Directory)
	w.sensor.close = func() {}
	var err error
	if s.Sensor != "" {
		if w.sensor, err = openSensor(s.Sensor); err != nil {
			return nil, err
		}
		w.env.Sensor = func() (int64, int64, error) {
			celsius, err := w.sensor.read()
			return celsius, time.Now().UnixMilli(), err
		}
	}
	return w, nil
}

// unpacked is the limit of what a message unpacks to, in B. Who states none has none.
func unpacked(l stack.Limits) int {
	if 0 < l.Body && l.Body < math.MaxInt {
		return int(l.Body)
	}
	return math.MaxInt
}

// workers are those of a program's server.
func (p *program) workers(s stack.Serve) (*workers, error) {
	w, err := newWorkers(s, p.encoding(s.Encoding))
	if err == nil {
		w.tap = p.tap
	}
	return w, err
}

// worker makes one whose sensor is timed.
func (w *workers) worker() *worker {
	x := &worker{env: w.env}
	if w.env.Sensor != nil {
		x.env.Sensor = func() (int64, int64, error) {
			began := now()
			celsius, at, err := w.env.Sensor()
			x.sensor = now() - began
			return celsius, at, err
		}
	}
	return x
}

// errService marks a fault of the service, not of the request.
var errService = errors.New("the service failed")

// work answers the request in x.body into x.answer; both times and sizes go
// into x.record. The clock is read between the phases and nowhere within them.
func (w *workers) work(x *worker) error {
	x.began = now()
	w.wait.deserialize()
	err := w.decode(x)
	decoded := now()
	if err != nil {
		return err
	}
	w.wait.process()
	lie := w.falsify
	if w.tap != nil {
		lie = w.tap(x.body, &x.request)
	}
	if lie {
		service.Make(w.name, 999, 3, service.Width{}, &x.request)
	}
	if err := service.Answer(w.name, &x.request, &x.response, x.env); err != nil {
		return fmt.Errorf("%w: %w", errService, err)
	}
	answered := now()
	w.wait.serialize()
	w.encode(x)
	done := now()
	x.record = record{deserialization: decoded - x.began, processing: answered - decoded, serialization: done - answered,
		sensor: x.sensor,
		in:     uint32(len(x.body)), out: uint32(len(x.answer))}
	return nil
}

// settled takes the records once no request is under way: a client may have its
// answer before the server has recorded it. A request that hangs is not waited for.
func (w *workers) settled() *records {
	for range 1000 {
		if w.underway.Load() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return w.kept.take()
}

// keep records the request once its response is handed on.
func (w *workers) keep(x *worker) {
	x.record.total = now() - x.began
	w.kept.add(x.record)
}

// keepIn writes data to a file of its own in dir, syncs it and reads it back.
func keepIn(dir string) func(data, back []byte) ([]byte, error) {
	if dir == "" {
		return nil
	}
	return func(data, back []byte) ([]byte, error) {
		f, err := os.CreateTemp(dir, "io-")
		if err != nil {
			return back, err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			return back, err
		}
		if err := f.Sync(); err != nil {
			return back, err
		}
		back = append(back[:0], make([]byte, len(data))...)
		if _, err := f.ReadAt(back, 0); err != nil && len(back) > 0 {
			return back, fmt.Errorf("%s: %w", filepath.Base(f.Name()), err)
		}
		return back, nil
	}
}
