package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// What goes on arriving is not given up, however long it takes in all; what stalls is.
func TestWhatStallsIsGivenUp(t *testing.T) {
	t.Parallel()
	const most = 500 * time.Millisecond
	for range 20 { // a busy machine may stand still for as long as a hub may not
		sent, from := io.Pipe()
		ctx, arrived, stop := whileArriving(t.Context(), most)
		body := reader(ctx, sent, arrived)
		stood, err := readFor(3*most, from, body)
		if err == nil {
			_, err = body.Read(make([]byte, 1))
		} else if stood < most/2 {
			t.Errorf("given up, though no byte was more than %v late: %v", stood, err)
		}
		cause := context.Cause(ctx)
		stop()
		body.Close()
		if !errors.Is(err, errStalled) || !errors.Is(cause, errStalled) {
			t.Errorf("got %v, cause %v, want %v", err, cause, errStalled)
		}
		if stood < most/2 {
			return
		}
	}
	t.Error("this machine stood still in each of 20 tries")
}

// readFor reads what is sent byte by byte for that long, and says how long the longest took to follow the one before.
func readFor(long time.Duration, from io.Writer, body io.Reader) (stood time.Duration, err error) {
	began := time.Now()
	for last := began; time.Since(began) < long && err == nil; {
		go from.Write([]byte("x"))
		_, err = body.Read(make([]byte, 1))
		now := time.Now()
		stood, last = max(stood, now.Sub(last)), now
		time.Sleep(10 * time.Millisecond)
	}
	return stood, err
}
