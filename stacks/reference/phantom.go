package reference

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
)

// The phantom is REST with delays that are known, and with faults that are
// wanted: the lab is tested with it.
var phantomOptions = []string{"serialization", "processing", "deserialization", "fault", "fault_at", "fault_once"}

// waits are the phantom's known delays, the same at both sides. They are spent
// by waiting busily, so that they end when they should.
type waits struct{ serialization, processing, deserialization time.Duration }

func readWaits(options map[string]string) (waits, error) {
	var w waits
	for name, to := range map[string]*time.Duration{"serialization": &w.serialization, "processing": &w.processing,
		"deserialization": &w.deserialization} {
		text, ok := options[name]
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return w, fmt.Errorf("invalid %s %q; write it like 2ms", name, text)
		}
		*to = d
	}
	return w, nil
}

func (w waits) serialize()   { spend(w.serialization) }
func (w waits) process()     { spend(w.processing) }
func (w waits) deserialize() { spend(w.deserialization) }

// spend waits for d: asleep while a wake-up may be late, then busily.
func spend(d time.Duration) {
	if d == 0 {
		return
	}
	const late = time.Millisecond
	end := now() + int64(d)
	if d > 2*late {
		time.Sleep(d - late)
	}
	for now() < end {
	}
}

// A phantom is an httpServer that misbehaves as told.
type phantom struct {
	*httpServer
	fault string
	at    int64
	seen  atomic.Int64
}

func servePhantom(p *program, s stack.Serve) (server, error) {
	f := &phantom{fault: s.Options["fault"], at: 1}
	if text, ok := s.Options["fault_at"]; ok {
		var err error
		if f.at, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("invalid fault_at %q; write a number", text)
		}
	}
	if file := s.Options["fault_once"]; file != "" { // only while the file is not there yet
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("invalid fault_once %q; write the path of a file from the root", file)
		}
		made, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			f.fault = ""
		} else {
			made.Close()
		}
	}
	switch f.fault {
	case "", "none", "crash", "hang", "wrong", "refuse", "deaf":
	case "silent":
		// Not select{}: with no other goroutine left, the runtime would call that a deadlock and exit.
		for {
			time.Sleep(time.Hour)
		}
	case "garbage":
		p.out.WriteString("Starting Phantom v0.1 on port 80 ...\n")
		p.out.Flush()
	default:
		return nil, fmt.Errorf("unknown fault %q; supported: crash, hang, wrong, refuse, deaf, silent, garbage",
			f.fault)
	}
	srv, err := serveHTTP(p, s)
	if err != nil {
		return nil, err
	}
	f.httpServer = srv.(*httpServer)
	if f.wait, err = readWaits(s.Options); err != nil {
		return nil, err
	}
	f.before = f.misbehave
	return f, nil
}

// misbehave runs before every request is answered; true means it was dealt with.
func (f *phantom) misbehave(w http.ResponseWriter) bool {
	if f.seen.Add(1) != f.at && f.fault != "wrong" {
		return false
	}
	switch f.fault {
	case "crash":
		os.Exit(3)
	case "hang":
		select {}
	case "refuse":
		f.refuse(w, http.StatusInternalServerError, errors.New("refused as configured"))
		return true
	case "wrong":
		f.falsify = true
	}
	return false
}

// close of a deaf phantom never comes back: it ignores the end of its stdin.
func (f *phantom) close() {
	if f.fault == "deaf" {
		select {}
	}
	f.httpServer.close()
}
