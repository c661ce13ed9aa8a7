package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// ErrRootless means that the plan needs network namespaces, which this process may
// make only in a user namespace of its own: run the program again by link.Rootless.
// It comes before anything is opened.
var ErrRootless = errors.New("network namespaces need a user namespace")

// A Request is a plan to be opened.
type Request struct {
	Plan study.Plan
	Text []byte // the study file as read
	// Out is the results directory, made or resumed; empty: NAME/NUMBER below Results,
	// the newest if it is unfinished and of this very study, else the next.
	Out     string
	Results string   // empty: results
	Fresh   bool     // without Out, never the newest
	LeftOut []string // what Unavailable left out of the plan, and why; kept with the results
	// Trust says that the user has seen what Foreign lists, and wants it run.
	Trust bool
	// Given are those of the plan's overrides that the user gave on this very command line.
	Given []string
	// Ready, if not nil, is called when nothing else stands in the way, before results are made: its error is Open's.
	Ready func() error
	// Here says that the benches of OpenShared are of this machine and this user, who is asked as for Open: they run all.
	Here bool

	shared bool // by OpenShared
}

// An Experiment is a plan's lab, ready to run, with what was opened for it.
type Experiment struct {
	Lab     *lab.Lab
	Dir     string   // of the results
	Resumed bool     // an unfinished run was found, where no directory was named
	Swept   []string // folders of killed labs, which are gone now
	// Apart says why the newest results, which are of this study and unfinished, are not
	// resumed: what they were measured with; empty: there are none.
	Apart []string

	assembly *assembly
	latest   func() error // makes results/latest lead to Dir
	unmet    string       // lab.Outcome's, of a plan that benches measured
}

// Open puts a lab together. What stands in its way is an error of type
// study.Errors; that it would run what nobody trusts, an *Untrusted. The experiment
// is to be closed.
func (b *Testbed) Open(ctx context.Context, r Request) (*Experiment, error) {
	scratch, err := NewScratch(b.Temp)
	if err != nil {
		return nil, err
	}
	exe, err := ownExe(scratch.Dir)
	if err != nil {
		return nil, errors.Join(err, scratch.Close())
	}
	x := b.assemble(r.Plan, exe, scratch.Dir)
	x.close = append(x.close, scratch.Close)
	e := &Experiment{assembly: x, Lab: x.lab, Swept: scratch.Swept}
	if err := e.open(ctx, r); err != nil {
		return nil, errors.Join(err, x.abandon())
	}
	return e, nil
}

func (e *Experiment) open(ctx context.Context, r Request) error {
	x := e.assembly
	x.refuseJoint()
	x.look(ctx)
	if err := x.found(ctx); err != nil {
		return err
	}
	if x.bed.NeedsNetwork(r.Plan) && link.Able() != nil {
		return ErrRootless
	}
	if foreign := x.bed.Foreign(r.Plan, r.Given...); foreign != nil && !r.Trust {
		return &Untrusted{foreign}
	}
	x.openDevices(ctx)
	x.openMeters(ctx)
	x.lab.CPUs = x.quietestCPUs(ctx)
	if err := x.found(ctx); err != nil {
		return err
	}
	if err := x.meetBoards(ctx); err != nil {
		return err
	}
	if err := x.openCredentials(ctx); err != nil {
		return err
	}
	return e.openStore(ctx, r)
}

// found is what stands in the way. What could not be found out or opened since all was stopped is nobody's fault.
func (x *assembly) found(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped before anything was measured: %w; run the same command again", context.Cause(ctx))
	}
	return x.err()
}

func (x *assembly) err() error {
	if found := study.Collect(x.faults); len(found) > 0 {
		return found
	}
	return nil
}

// openCredentials makes keys for treatments with security, for every address at
// which a server may be reached.
func (x *assembly) openCredentials(ctx context.Context) error {
	reached, err := addresses(ctx, x.lab.Devices)
	if err != nil {
		return err
	}
	if at, err := netip.ParseAddr(x.lab.Address); err == nil {
		reached = append(reached, at)
	}
	keys := filepath.Join(x.temp, "keys")
	securities := []string{}
	for t := range x.treatments() {
		securities = append(securities, t.Setup.Security)
	}
	if err := os.Mkdir(keys, 0o700); err != nil {
		return err
	}
	x.lab.Credentials, err = stack.NewCredentials(keys, securities,
		append(reached, link.ServerAddress.IPv4, link.ServerAddress.IPv6)...)
	return err
}

// addresses are those at which servers on other machines may be reached, and this
// one from them.
func addresses(ctx context.Context, all map[string]device.Device) ([]netip.Addr, error) {
	var out []netip.Addr
	for name, d := range all {
		switch d := d.(type) {
		case device.Behind:
			n, err := d.Network(ctx, link.Link{}.LargestPacket())
			if err != nil {
				return nil, err
			}
			out = append(out, n.Device.IPv4, n.Device.IPv6, n.Here.IPv4, n.Here.IPv6)
		case device.Away:
			board, here, err := d.Addresses(ctx)
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", name, err)
			}
			for _, a := range []netip.Addr{board, here} {
				if a.IsValid() {
					out = append(out, a)
				}
			}
		}
	}
	return out, nil
}

// Begin makes results/latest lead to the results, where they have a number: measuring begins.
func (e *Experiment) Begin() error { return e.latest() }

// Close ends what the experiment opened, and removes its temporary files. The error
// says what may be left on other machines.
func (e *Experiment) Close() error { return e.assembly.abandon() }
