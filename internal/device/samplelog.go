package device

import (
	"iter"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A sampleLog keeps an observation's samples on the device until it is over: at
// most mostSamples, of at most mostQuantities, in mostSamples × 32 B = 6.4 MB and
// no copies while it grows.
type sampleLog struct {
	quantities []measure.Quantity
	blocks     [][]keptSample
	n          int
}

// keptSample is a measure.Sample (56 B) in 32 B.
type keptSample struct {
	at       time.Duration
	value    float64
	seq      uint64
	quantity uint8 // in quantities
}

const (
	mostSamples    = 200_000
	mostQuantities = 256
	perBlock       = 1000
)

// add keeps a sample, or says that there is no room.
func (l *sampleLog) add(m measure.Sample) bool {
	q := slices.Index(l.quantities, m.Quantity)
	if q < 0 {
		q = len(l.quantities)
		if q == mostQuantities {
			return false
		}
		l.quantities = append(l.quantities, m.Quantity)
	}
	if l.n == mostSamples {
		return false
	}
	if l.n%perBlock == 0 {
		l.blocks = append(l.blocks, make([]keptSample, 0, perBlock))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, keptSample{m.At, m.Value, m.Seq, uint8(q)})
	l.n++
	return true
}

// all are the samples as they were added.
func (l *sampleLog) all() iter.Seq[measure.Sample] {
	return func(yield func(measure.Sample) bool) {
		for _, b := range l.blocks {
			for _, k := range b {
				if !yield(measure.Sample{Quantity: l.quantities[k.quantity], At: k.at, Value: k.value, Seq: k.seq}) {
					return
				}
			}
		}
	}
}
