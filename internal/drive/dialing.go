package drive

import (
	"fmt"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
)

// A Dialing says how far the connections are that are made before any request.
type Dialing struct {
	To        string        // host:port; a URL may hold a secret
	Open, All int           // connections that are there, and that are wanted
	Anew      int           // attempts that the server left without an answer, and that were made anew
	For       time.Duration // since the first was begun
}

// Connecting is how a line about connections begins in a client's log.
const Connecting = "connecting: "

// String is the state in words, with advice where there is some.
func (d Dialing) String() string {
	text := fmt.Sprintf("%d of %s to %s were open after %s", d.Open, plural.Count(d.All, "connection"), d.To,
		plural.Duration(d.For.Round(100*time.Millisecond)))
	if d.Anew > 0 && d.Open > 0 {
		text += fmt.Sprintf(", %s had no answer; the server's accept queue may be too short: take a lower concurrency",
			plural.Count(d.Anew, "attempt"))
	}
	return text
}

const (
	// A connection is awaited ten times as long as the quickest took, before it is made anew.
	patienceOverQuickest = 10
	// It is awaited at least so long: a busy machine takes its time.
	leastPatience = 50 * time.Millisecond
	tellEvery     = time.Second
)

// dialing makes connections before any request, one after the other.
//
// A server whose accept queue is full drops the first packet of a further connection, and the kernel sends it
// again after 1 s. Programs with a queue of 5 would need many seconds for 64 connections, which they accept within
// some milliseconds each. So an attempt that takes much longer than another one did is given up and made anew,
// and the next is awaited twice as long. Nothing is measured yet. A handshake of TLS, which costs both sides work, is
// not given up.
type dialing struct {
	to         string
	all        int
	open, anew atomic.Int64
	began      time.Time
	quickest   time.Duration // 0: none is open yet
}

func (d *dialing) state() Dialing {
	return Dialing{To: d.to, Open: int(d.open.Load()), All: d.all, Anew: int(d.anew.Load()), For: time.Since(d.began)}
}

// telling tells the state once a second until the function that it returns is called.
func (d *dialing) telling(tell func(Dialing)) (end func()) {
	if tell == nil {
		return func() {}
	}
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				tell(d.state())
			}
		}
	}()
	return func() { close(over); <-told }
}

// connect opens a lane's connection until l.by.
func (d *dialing) connect(r *run, l *lane) error {
	defer func() { r.patience = 0 }()
	repeats := r.d.overTCP && d.quickest > 0
	patience := max(patienceOverQuickest*d.quickest, leastPatience)
	for {
		began := r.now()
		if repeats {
			r.patience = patience
		}
		err := r.open(l)
		now := r.now()
		switch {
		case err == nil:
			if took := now - began; d.quickest == 0 || took < d.quickest {
				d.quickest = max(took, 1)
			}
			return nil
		case err != errTimeout || !repeats:
			return err
		}
		if now < l.by || r.d.secret == nil { // else it may have been the handshake of TLS
			d.anew.Add(1)
		}
		if now >= l.by {
			return err
		}
		l.hangUp()
		patience *= 2
	}
}
