package tally

import (
	"encoding/json"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h Histogram
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	for p, want := range map[float64]time.Duration{0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond,
		1: time.Millisecond} {
		if got := h.Quantile(p); got < want || got > want*17/16 {
			t.Errorf("quantile %g: got %v, want %v to 6 %% more", p, got, want)
		}
	}
}

// Two histograms together, one of them sent as text, are the histogram of all.
func TestHistogramsTogether(t *testing.T) {
	var all, a, b, read Histogram
	for i := range 1000 {
		d := time.Duration(i*i+1) * time.Microsecond
		all.Add(d)
		if i%3 == 0 {
			a.Add(d)
		} else {
			b.Add(d)
		}
	}
	text, err := json.Marshal(&b)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if a.Merge(&read); err != nil || a != all {
		t.Errorf("got %d up to %v, want %d up to %v: %v", a.N(), a.Max(), all.N(), all.Max(), err)
	}
	if err := json.Unmarshal([]byte(`{"classes":[[1024,1]]}`), &read); err == nil {
		t.Error("took a class that there is not")
	}
}

// A share that is a little more than it says, as a double, moves no rank.
func TestQuantilesThatRoundUp(t *testing.T) {
	var h Histogram
	for i := range 100 {
		h.Add(time.Duration(1+i/14) * time.Second) // the 14th is of the first class, the 15th of the second
	}
	if got := h.Quantile(0.14); got > 1100*time.Millisecond {
		t.Errorf("quantile 0.14: got %v, want 1 s", got)
	}
}
