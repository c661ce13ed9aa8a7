// Package tally counts durations in little memory.
package tally

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Histogram counts durations in classes 1/16 of a power of two wide, so that a
// quantile is right within 6 %, in 4 KiB and without allocation. The zero value is empty.
type Histogram struct {
	counts [64 * 16]uint32
	n      int
	max    time.Duration
}

// Add counts a duration; a negative one as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[class(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// N is how many durations were added.
func (h *Histogram) N() int { return h.n }

// Max is the longest duration added; 0 if there is none.
func (h *Histogram) Max() time.Duration { return h.max }

func class(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)*16 + int(v>>shift)&15
}

// Quantile is the upper edge of the class that holds it, p from 0 to 1; 0 if there is nothing.
func (h *Histogram) Quantile(p float64) time.Duration {
	rank, seen := int(math.Ceil(p*float64(h.n)-1e-6)), 0
	for i, c := range h.counts {
		if seen += int(c); c > 0 && seen >= rank {
			if i < 16 {
				return time.Duration(i)
			}
			shift := i/16 - 1
			return min(time.Duration((uint64(i&15)+17)<<shift-1), h.max)
		}
	}
	return 0
}

// Merge counts what another counted.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// histogramJSON is a Histogram as text: its classes that are not empty, each with its count.
type histogramJSON struct {
	Classes [][2]uint32   `json:"classes"`
	Max     time.Duration `json:"max"` // ns
}

// MarshalJSON keeps all that was counted.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	x := histogramJSON{Classes: [][2]uint32{}, Max: h.max}
	for i, c := range h.counts {
		if c > 0 {
			x.Classes = append(x.Classes, [2]uint32{uint32(i), c})
		}
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var x histogramJSON
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*h = Histogram{max: x.Max}
	for _, c := range x.Classes {
		if int(c[0]) >= len(h.counts) {
			return fmt.Errorf("tally: class %d; there are %d", c[0], len(h.counts))
		}
		h.counts[c[0]] += c[1]
		h.n += int(c[1])
	}
	return nil
}
