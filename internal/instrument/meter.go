// Package instrument reads energy: from the AVR meter, the kernel's own sensors,
// bought meters, any program that prints readings, or a model where there is no
// meter. It does not judge a trial; package energy below it does the arithmetic.
package instrument

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

const meterSpeed = 250000 // Bd

// An EnergyMeter is the AVR meter of firmware/energy-meter at a serial port.
type EnergyMeter struct {
	path string
	port *os.File
	rate float64          // frames a second; 0: the meter's own
	now  func() time.Time // the host's clock
	dec  decoder
	q    MeterStats

	mu   sync.Mutex
	info info // Facts reads it while it observes
}

// OpenEnergyMeter opens the meter and waits until it describes itself: up to
// 2.5 s, since opening the port resets a Nano. Rate is in frames a second, 10 to
// 500; 0 leaves what the meter has (170 after power-up).
func OpenEnergyMeter(ctx context.Context, path string, rate float64) (*EnergyMeter, error) {
	port, err := openSerial(path, meterSpeed)
	if err != nil {
		return nil, err
	}
	m := &EnergyMeter{path: path, port: port, rate: rate, now: time.Now}
	if err := m.greet(ctx); err != nil {
		port.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m *EnergyMeter) greet(ctx context.Context) error {
	// A meter that an earlier program left streaming is stopped; one that is
	// booting hears only the later tries.
	var err error
	for range 5 {
		if err = m.command(ctx, commandStop, nil, 500*time.Millisecond); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	return m.ready(ctx)
}

// ready readies a meter that is stopped for streaming. It may have restarted, and then has its own rate; and its
// supply, against which it converts, may have changed, which only its description shows.
func (m *EnergyMeter) ready(ctx context.Context) error {
	if m.rate > 0 {
		if err := m.setRate(ctx, m.rate); err != nil {
			return err
		}
	}
	return m.query(ctx)
}

func (m *EnergyMeter) setRate(ctx context.Context, rate float64) error {
	if !(rate >= 10 && rate <= 500) {
		return fmt.Errorf("rate %g is not within 10 to 500 frames per second", rate)
	}
	ticks := uint32(2e6/rate + 0.5)
	return m.command(ctx, commandRate, []byte{byte(ticks), byte(ticks >> 8), byte(ticks >> 16),
		byte(ticks >> 24)}, time.Second)
}

func (m *EnergyMeter) query(ctx context.Context) error {
	if err := m.send(commandQuery, nil); err != nil {
		return err
	}
	var said info
	err := m.read(ctx, time.Second, func(f frame) bool {
		i, ok := f.info()
		if ok = ok && i.bandgap > 0; ok { // not the one of booting
			said = i
		}
		return ok
	})
	if err != nil {
		return fmt.Errorf("the meter does not describe itself: %w", err)
	}
	if err := said.check(); err != nil {
		return err
	}
	m.mu.Lock()
	m.info = said
	m.mu.Unlock()
	return nil
}

func (m *EnergyMeter) send(kind byte, payload []byte) error {
	m.port.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := m.port.Write(encodeFrame(kind, payload)); err != nil {
		return unplugged(m.path, err)
	}
	return nil
}

// command sends one and waits for its echo.
func (m *EnergyMeter) command(ctx context.Context, kind byte, payload []byte, patience time.Duration) error {
	if err := m.send(kind, payload); err != nil {
		return err
	}
	var answer error
	err := m.read(ctx, patience, func(f frame) bool {
		e, ok := f.echo()
		if ok && e.command == kind {
			answer = e.err()
			return true
		}
		return false
	})
	return errors.Join(err, answer)
}

var errNoMeter = errors.New("no energy meter answers")

// read reads frames until found says so, within patience.
func (m *EnergyMeter) read(ctx context.Context, patience time.Duration, found func(frame) bool) error {
	deadline := time.Now().Add(patience)
	buf := make([]byte, 512)
	garbage, frames := m.dec.garbage, m.dec.frames
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.port.SetReadDeadline(deadline)
		n, err := m.port.Read(buf)
		m.dec.write(buf[:n], func(f frame) { done = found(f) || done })
		switch {
		case done:
		case errors.Is(err, os.ErrDeadlineExceeded) && m.dec.garbage > garbage && m.dec.frames == frames:
			return fmt.Errorf("%w: %d bytes received, but no frame; is it another device, or a speed other than %d Bd?",
				errNoMeter, m.dec.garbage-garbage, meterSpeed)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%w; is its firmware flashed (make -C firmware/energy-meter flash)?", errNoMeter)
		case err != nil:
			return unplugged(m.path, err)
		}
	}
	return nil
}

// Close stops the meter and gives up the port.
func (m *EnergyMeter) Close() error {
	m.send(commandStop, nil)
	return m.port.Close()
}

// Describe. The meter belongs to the lab host, so it costs the device nothing.
func (m *EnergyMeter) Describe() measure.Description {
	f := m.Facts()
	return measure.Description{
		Name:       "avr",
		Quantities: []measure.Quantity{energy.Power, energy.Voltage, energy.Current, energy.Marker},
		Resolution: f.Resolution,
		Interval:   f.Interval,
	}
}

// Facts are those of the board's firmware, as it said last.
func (m *EnergyMeter) Facts() energy.Facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.info.facts()
}

// facts: two conversions of 104 µs make a pair.
func (i info) facts() energy.Facts {
	return energy.Facts{
		Kind:       energy.Mean,
		Interval:   time.Duration(i.period) * time.Duration(i.tick),
		Sampling:   208 * time.Microsecond,
		Resolution: i.now().AmpsPerStep * 5, // at 5 V
	}
}

// Stats is of the last observation, when it has ended.
func (m *EnergyMeter) Stats() MeterStats { return m.q }

// Calibration returns what the meter has in its EEPROM, or its default, and
// whether it was ever calibrated.
func (m *EnergyMeter) Calibration() (c Calibration, calibrated bool) {
	return m.info.cal, m.info.calibrated
}

// Calibrate writes a calibration into the meter's EEPROM, with the bandgap
// reading of now.
func (m *EnergyMeter) Calibrate(ctx context.Context, c Calibration) error {
	c.Bandgap = m.info.bandgap
	if err := m.command(ctx, commandCalibrate, c.encode(), 2*time.Second); err != nil {
		return err
	}
	if err := m.query(ctx); err != nil {
		return err
	}
	if !m.info.calibrated {
		return errors.New("the meter did not store its calibration: its EEPROM is worn out")
	}
	return nil
}

// Observe streams until ctx ends. Samples are emitted then: only a whole record
// fits the device's clock to the host's. A meter that falls silent, restarts or
// is unplugged is an error.
func (m *EnergyMeter) Observe(ctx context.Context, emit func(measure.Sample)) error {
	zero := start(ctx)
	r, err := m.stream(ctx, zero)
	if r == nil {
		return fmt.Errorf("instrument avr: %w", err)
	}
	m.q = r.q
	fit, fitErr := FitEcho(r.echoes)
	m.q.Clock = fit
	if fitErr == nil {
		r.emit(fit, emit)
	}
	if err = errors.Join(err, fitErr); err != nil {
		return fmt.Errorf("instrument avr: %w", err)
	}
	return nil
}

// silence is how long a streaming meter may say nothing.
const silence = time.Second

// silent says whether a meter that says nothing for so long, and to so many reads, is silent. In a single read that
// takes long this program may not have run, and what was said meanwhile comes with the next.
func silent(length time.Duration, reads int) bool { return length > silence && reads > 1 }

// stream starts the meter, reads it until ctx ends, and stops it.
func (m *EnergyMeter) stream(ctx context.Context, zero time.Time) (*record, error) {
	if err := m.command(ctx, commandStop, nil, time.Second); err != nil { // a restarted meter does not stream
		return nil, err
	}
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	before := m.dec
	r := newRecord(m.info)
	err := m.send(commandStart, nil) // its echo goes into the record, with the first periods
	if err == nil {
		err = m.readUntil(ctx, zero, r)
	}
	if err == nil {
		err = m.stop(zero, r)
	}
	r.q.BadCRC += m.dec.badCRC - before.badCRC
	r.q.Garbage += m.dec.garbage - before.garbage
	return r, err
}

// stop stops the meter and takes what was still on its way. Its context has ended.
func (m *EnergyMeter) stop(zero time.Time, r *record) error {
	if err := m.send(commandStop, nil); err != nil {
		return err
	}
	var failed error
	err := m.read(context.Background(), time.Second, func(f frame) bool {
		failed = errors.Join(failed, r.take(f, m.now().Sub(zero)))
		e, ok := f.echo()
		return ok && e.command == commandStop
	})
	return errors.Join(err, failed)
}

func (m *EnergyMeter) readUntil(ctx context.Context, zero time.Time, r *record) error {
	defer kernel.BreakOff(ctx, m.port.SetReadDeadline)()
	buf := make([]byte, 4096)
	var token byte
	var failed error
	heard, reads, pinged := time.Now(), 0, time.Time{}
	for ctx.Err() == nil {
		if now := m.now(); now.Sub(pinged) > pingEvery {
			token++
			pinged = now
			r.sent[token] = m.now().Sub(zero)
			if err := m.send(commandPing, []byte{token}); err != nil {
				return err
			}
		}
		m.port.SetReadDeadline(time.Now().Add(pingEvery))
		n, err := m.port.Read(buf)
		arrived := m.now()
		reads++
		if n > 0 {
			m.dec.write(buf[:n], func(f frame) {
				heard, reads = time.Now(), 0
				failed = errors.Join(failed, r.take(f, arrived.Sub(zero)))
			})
		}
		switch {
		case failed != nil:
			return failed
		case silent(time.Since(heard), reads):
			return fmt.Errorf("%s: no frame for %v; check the meter's cable and power supply", m.path, silence)
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return unplugged(m.path, err)
		}
	}
	return nil
}

// pingEvery is no multiple of any usual period, so that echoes fall everywhere.
const pingEvery = 53 * time.Millisecond
