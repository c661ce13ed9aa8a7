package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/testbed"
)

// A workerRun is what the verb worker is told.
type workerRun struct {
	nats, creds, dir, turn string
	address                string // at which other benches reach this one; empty: where it reaches the hub
	lease                  time.Duration
	trust, child           bool
}

func workerCmd(a *app) *cobra.Command {
	var w workerRun
	c := &cobra.Command{
		Use:   "worker",
		Short: "measure blocks of studies for a coordinator: this machine becomes one of its benches",
		Long: `Worker connects to a hub and measures what a coordinator (edgegauge run --benches) orders, until it is
stopped. Results stay in a folder here until the coordinator has stored them, even if the network fails. A study may
use what came with edgegauge, and stacks that are installed here or given with --stacks; other programs that it names
need --trust.`,
		Example: "  edgegauge worker --creds rack1.json\n  edgegauge worker --creds rack1.json --stacks my-stacks",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), w) },
	}
	hubFlags(c, &w.nats, &w.creds)
	leaseFlag(c, &w.lease)
	trustFlag(c, &w.trust)
	c.Flags().StringVar(&w.dir, "dir", "", "folder for results until the coordinator has them (default: in the "+
		"user's cache)")
	c.Flags().StringVar(&w.address, "address", "", "IP address at which other benches reach servers here, for studies "+
		"with driven_from (default: the one at which this machine reaches the hub)")
	c.Flags().StringVar(&w.turn, "turn", "", "file that is locked while a block is measured")
	c.Flags().BoolVar(&w.child, "child", false, "end when standard input ends")
	for _, hidden := range []string{"turn", "child"} { // of the benches that run --benches N starts
		c.Flags().Lookup(hidden).Hidden = true
	}
	return c
}

func (a *app) work(ctx context.Context, r workerRun) error {
	if r.creds == "" {
		return exit{exitUsage, errors.New("a worker needs --creds, the credentials of its bench; edgegauge benches add " +
			"prints a line that makes them")}
	}
	if err := leaseCheck(r.lease); err != nil {
		return exit{exitUsage, err}
	}
	who, err := wire.ReadCredentials(r.creds)
	if err == nil && who.Bench == "" {
		err = fmt.Errorf("%s are the coordinator's credentials; a worker needs those of a bench", r.creds)
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	if r.nats != "" {
		who.URL = r.nats
	}
	if r.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return exit{exitUsage, fmt.Errorf("%w; name a folder with --dir", err)}
		}
		r.dir = filepath.Join(cache, "edgegauge", "bench-"+who.Bench)
	}
	if r.child {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	return a.serveBench(ctx, r, who)
}

// serveBench works for the hub until ctx ends, or the hub turns it away.
func (a *app) serveBench(ctx context.Context, r workerRun, who wire.Credentials) error {
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o755); err != nil {
		return exit{exitUnmeasured, err}
	}
	lock, err := kernel.LockFile(r.dir+".lock", 0o644)
	if err != nil {
		return exit{exitUnmeasured, fmt.Errorf("%s: %w; another worker uses it%s: stop that one, or name another with --dir",
			r.dir, err, kernel.Holder(r.dir+".lock"))}
	}
	defer lock.Close()
	bed, err := a.bed()
	if err != nil {
		return err
	}
	end, err := wire.OpenBench(who)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer end.Close()
	station := &testbed.Station{Bed: bed, Trust: r.trust, Name: who.Bench, Join: end.Join,
		Address: func() string { return cmp.Or(r.address, end.Address()) }}
	defer station.Close()
	if err := end.Answer(station.Able); err != nil {
		return exit{exitUnmeasured, err}
	}
	machine := machineID()
	if r.turn != "" {
		machine += "/" + who.Bench // what shares a machine takes turns
	}
	fmt.Fprintf(a.notes(), "bench %s, at %s\n", who.Bench, who.URL)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-end.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	go end.Attend(ctx, hubPatience(r.lease), func(line string) { fmt.Fprintln(a.notes(), printable.Line(line)) })
	w := fleet.Worker{Name: who.Bench, Machine: machine, Program: version(), Bench: end, Dir: r.dir, Lease: r.lease,
		Conduct: inTurn(r.turn, station.Conduct), Help: station.Help, Tell: func(e fleet.Event) {
			fmt.Fprintln(a.notes(), printable.Line(fmt.Sprintf("block %d: %s", e.Block, e.What)))
		}}
	err = w.Work(ctx)
	if why := end.Err(); why != nil {
		return exit{exitUnmeasured, why}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return exit{exitUnmeasured, err}
}

// A conduct measures an order's block into a folder.
type conduct func(ctx context.Context, o fleet.Order, dir string) error

// inTurn measures while it alone holds a file's lock: benches of one machine would
// disturb each other.
func inTurn(file string, measure conduct) conduct {
	if file == "" {
		return measure
	}
	return func(ctx context.Context, o fleet.Order, dir string) error {
		for {
			lock, err := kernel.LockFile(file, 0o600)
			if err == nil {
				defer lock.Close()
				return measure(ctx, o, dir)
			}
			if !errors.Is(err, kernel.ErrLocked) {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// machineID stands for this machine: systemd's id of it, which is not to be told as it
// is (machine-id(5)), or its name.
func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	text := strings.TrimSpace(string(id))
	if err != nil || text == "" {
		text, _ = os.Hostname()
	}
	sum := sha256.Sum256([]byte("edgegauge bench\n" + text))
	return hex.EncodeToString(sum[:8])
}
