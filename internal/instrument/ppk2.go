package instrument

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// Commands of the PPK2's serial protocol.
const (
	ppk2Start    = 0x06
	ppk2Stop     = 0x07
	ppk2Power    = 0x0C // 1: the device under test is connected
	ppk2Voltage  = 0x0D // mV, high byte first
	ppk2Mode     = 0x11 // 1 ampere, 2 source
	ppk2Metadata = 0x19
)

// A PPK2 is a Nordic Power Profiler Kit II (USB 1915:c00a): 100,000 samples a
// second, kept as means over 1 ms.
type PPK2 struct {
	path string
	port *os.File
	cal  ppk2Cal
	vdd  float64
	q    MeterStats
}

// openPPK2 opens one: PATH?mode=ampere|source&mV=5000. In source mode it feeds the
// device under test at that voltage, in ampere mode the voltage is what the
// supply is known to have. power=off leaves the device's supply as it is.
func openPPK2(ctx context.Context, arg string, _ Options) (Meter, error) {
	path, set, err := settings(arg, "mode", "mV", "power")
	if err != nil {
		return nil, err
	}
	mode := map[string]byte{"ampere": 1, "source": 2}[set["mode"]]
	if mode == 0 {
		return nil, fmt.Errorf("unknown mode %q; supported: ampere, source, such as ppk2:/dev/ttyACM0?mode=ampere&mV=5000",
			set["mode"])
	}
	mV, err := strconv.Atoi(set["mV"])
	if err != nil || mV < 800 || mV > 5000 {
		return nil, fmt.Errorf("mV %q is not within 800 to 5000", set["mV"])
	}
	if set["power"] != "" && set["power"] != "off" {
		return nil, fmt.Errorf("unknown power %q; write power=off, or leave it out", set["power"])
	}
	port, err := openSerial(path, 115200) // over USB any speed does
	if err != nil {
		return nil, err
	}
	p := &PPK2{path: path, port: port, vdd: float64(mV) / 1000}
	if err := p.setUp(ctx, mode, mV, set["power"] != "off"); err != nil {
		port.Close()
		return nil, err
	}
	return p, nil
}

func (p *PPK2) setUp(ctx context.Context, mode byte, mV int, power bool) error {
	if err := p.send(ppk2Stop); err != nil {
		return err
	}
	p.drain()
	text, err := p.metadata(ctx)
	if err != nil {
		return err
	}
	if p.cal, err = parsePPK2(text); err != nil {
		return err
	}
	// The voltage before the mode: a device must not see an old one.
	if err := p.send(ppk2Voltage, byte(mV>>8), byte(mV)); err != nil {
		return err
	}
	if err := p.send(ppk2Mode, mode); err != nil {
		return err
	}
	if power {
		return p.send(ppk2Power, 1)
	}
	return nil
}

func (p *PPK2) send(b ...byte) error {
	p.port.SetWriteDeadline(time.Now().Add(time.Second))
	if _, err := p.port.Write(b); err != nil {
		return unplugged(p.path, err)
	}
	return nil
}

// drain throws away what is on its way, until 50 ms of silence.
func (p *PPK2) drain() {
	buf := make([]byte, 4096)
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		p.port.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, _ := p.port.Read(buf); n == 0 {
			return
		}
	}
}

func (p *PPK2) metadata(ctx context.Context) (string, error) {
	if err := p.send(ppk2Metadata); err != nil {
		return "", err
	}
	var text strings.Builder
	buf := make([]byte, 4096)
	p.port.SetReadDeadline(time.Now().Add(2 * time.Second))
	for text.Len() < 1<<14 && ctx.Err() == nil {
		n, err := p.port.Read(buf)
		text.Write(buf[:n])
		if strings.Contains(text.String(), "END") {
			return text.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: no metadata, but %d other bytes: is it a PPK2? (%w)", p.path, text.Len(), err)
		}
	}
	return "", errors.Join(ctx.Err(), fmt.Errorf("%s: no metadata: is it a PPK2?", p.path))
}

// Close stops the PPK2. The device under test stays powered: it may be at work.
func (p *PPK2) Close() error {
	p.send(ppk2Stop)
	return p.port.Close()
}

// Describe: the PPK2 feeds the device and is read by the lab host, so it costs
// the device nothing.
func (p *PPK2) Describe() measure.Description {
	return measure.Description{Name: "ppk2", Quantities: []measure.Quantity{energy.Power, energy.Current, energy.Marker},
		Resolution: p.Facts().Resolution, Interval: ppk2Bin}
}

// Facts: the resolution is that of the finest range.
func (p *PPK2) Facts() energy.Facts {
	return energy.Facts{Kind: energy.Mean, Interval: ppk2Bin, Sampling: ppk2Every,
		Resolution: ppk2Step / p.cal[0].r * p.vdd}
}

// Stats is of the last observation, when it has ended.
func (p *PPK2) Stats() MeterStats { return p.q }

// Observe emits only when the observation has ended: the samples carry no time,
// so their instants come from a line fitted to when they arrived.
func (p *PPK2) Observe(ctx context.Context, emit func(measure.Sample)) error {
	zero := start(ctx)
	p.drain() // what was left of an observation before
	r := &ppk2Record{cal: p.cal, vdd: p.vdd}
	if err := p.send(ppk2Start); err != nil {
		return fmt.Errorf("instrument ppk2: %w", err)
	}
	err := p.stream(ctx, zero, r)
	stopped := p.send(ppk2Stop)
	if err == nil {
		err = stopped
	}
	fit, fitErr := r.fit()
	if fitErr == nil && fit.Residual > 5*time.Millisecond {
		fitErr = fmt.Errorf("the number of samples and the time they took differ by %v: samples were lost, or the host "+
			"was too busy", fit.Residual)
	}
	r.q.Clock = fit
	p.q = r.q
	if fitErr == nil {
		r.emit(fit, emit)
	}
	if err = errors.Join(err, fitErr); err != nil {
		return fmt.Errorf("instrument ppk2: %w", err)
	}
	return nil
}

func (p *PPK2) stream(ctx context.Context, zero time.Time, r *ppk2Record) error {
	defer kernel.BreakOff(ctx, p.port.SetReadDeadline)()
	buf := make([]byte, 1<<16)
	for ctx.Err() == nil {
		p.port.SetReadDeadline(time.Now().Add(silence))
		n, err := p.port.Read(buf)
		r.write(buf[:n], time.Since(zero))
		if err != nil && ctx.Err() == nil {
			return unplugged(p.path, err)
		}
	}
	return nil
}
