package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// A fault is one that is to happen.
type fault struct {
	at    time.Duration
	kind  string
	who   string
	lasts time.Duration
	dice  uint64
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s %s %v", f.at.Round(time.Millisecond), f.kind, f.who, f.lasts.Round(time.Millisecond))
}

// drawFaults draws what a fleet is to meet, by the instant.
func drawFaults(random *rand.Rand) []fault {
	kinds := []string{"kill", "kill", "kill", "freeze", "freeze", "empty", "shorten", "set back", "fill", "cut", "cut",
		"cut", "slow", "move", "other version"}
	if clocksCanBeSet {
		kinds = append(kinds, "clock")
	}
	anyone := append([]string{faultsHub, faultsBoss}, faultBenches...)
	var all []fault
	for range *faultCount {
		f := fault{at: time.Duration(random.Int64N(int64(*faultSpan))), kind: kinds[random.IntN(len(kinds))],
			who: anyone[random.IntN(len(anyone))], lasts: time.Duration(random.Int64N(int64(2 * faultLease))),
			dice: random.Uint64()}
		switch f.kind {
		case "empty", "shorten", "set back", "fill":
			f.who = faultsHub
		case "move":
			f.who = faultsBoss
		case "other version":
			f.who = faultBenches[random.IntN(len(faultBenches))]
		case "cut", "slow":
			f.who = anyone[1:][random.IntN(len(anyone)-1)]
		}
		if f.kind == "kill" { // it is away for a moment only
			f.lasts /= 4
		}
		if f.kind == "cut" {
			f.kind = []string{"cut to the hub", "cut from the hub", "cut both ways"}[random.IntN(3)]
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return all
}

// begin makes a fault, and returns how it ends.
func (f *faulty) begin(x fault) func() {
	p := f.procs[x.who]
	kill := func() func() {
		f.kill(x.who)
		p.held = true
		return func() { p.held = false; f.start(x.who) }
	}
	dice := rand.New(rand.NewPCG(x.dice, 0))
	switch x.kind {
	case "kill":
		return kill()
	case "freeze":
		if p.cmd == nil {
			return func() {}
		}
		frozen := p.cmd.Process
		frozen.Signal(syscall.SIGSTOP)
		return func() { frozen.Signal(syscall.SIGCONT) }
	case "empty":
		back := kill()
		f.must(f.emptyStore())
		return back
	case "shorten":
		back := kill()
		f.must(f.shortenStore(dice))
		return back
	case "set back":
		copied := filepath.Join(f.dir, "earlier")
		f.must(os.RemoveAll(copied))
		if err := os.CopyFS(copied, os.DirFS(f.store())); err != nil {
			f.say("a copy of the store: %v", err) // it changes meanwhile
		}
		return func() {
			f.kill(x.who)
			f.must(f.emptyStore())
			// On a full disk (another fault) what fits is restored: a store that was cut short.
			if err := os.CopyFS(f.store(), os.DirFS(copied)); !errors.Is(err, syscall.ENOSPC) {
				f.must(err)
			}
			f.start(x.who)
		}
	case "fill":
		filler := filepath.Join(f.dir, "disk", "filler")
		if file, err := os.Create(filler); err == nil {
			io.Copy(file, &zeros{})
			file.Close()
		}
		return func() { os.Remove(filler) }
	case "cut to the hub", "cut from the hub", "cut both ways":
		c := f.cables[x.who]
		var ways []int
		if x.kind != "cut from the hub" {
			ways = append(ways, toHub)
		}
		if x.kind != "cut to the hub" {
			ways = append(ways, fromHub)
		}
		for _, way := range ways {
			c.cut[way].Add(1)
		}
		return func() {
			for _, way := range ways {
				c.cut[way].Add(-1)
			}
		}
	case "slow":
		c := f.cables[x.who]
		by := int64(time.Second) + dice.Int64N(int64(2*time.Second))
		c.late.Add(by)
		return func() { c.late.Add(-by) }
	case "move":
		f.kill(x.who)
		p.held = true
		f.moved++
		to := filepath.Join(f.dir, fmt.Sprint("moved", f.moved))
		if _, err := os.Stat(f.out); err == nil {
			f.must(os.CopyFS(to, os.DirFS(f.out)))
			f.must(os.RemoveAll(f.out))
		}
		f.out = to
		return func() { p.held = false; f.start(x.who) }
	case "other version":
		f.kill(x.who)
		p.program = "edgegauge-other"
		f.start(x.who)
		return func() {
			f.kill(x.who)
			p.program = "edgegauge"
			f.start(x.who)
		}
	case "clock":
		f.setClock(x.who, time.Hour*time.Duration(1-2*dice.IntN(2)))
		return func() { f.setClock(x.who, -f.skews[x.who]) } // an hour the other way, and so it stays
	}
	f.t.Fatalf("no fault is called %s", x.kind)
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (f *faulty) store() string { return filepath.Join(f.dir, "disk", "store") }

func (f *faulty) emptyStore() error { return os.RemoveAll(f.store()) }

// shortenStore cuts files of the hub off somewhere, as a disk that lies about what it has written may.
func (f *faulty) shortenStore(dice *rand.Rand) error {
	return filepath.WalkDir(f.store(), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || dice.IntN(3) > 0 {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		return os.Truncate(path, dice.Int64N(info.Size()))
	})
}
