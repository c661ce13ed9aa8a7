package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/measure"
	"edgegauge/internal/stack"
	"edgegauge/internal/study"
)

// stages are what was copied to the devices that are away: for each agent, since
// all of it ends with the agent.
type stages map[*device.Remote]*stage

// A stage is what one agent has of ours: paths there.
type stage struct {
	remote      *device.Remote
	stacks      map[string]string // folder of each stack
	credentials map[string]string
}

// A place is where a side's program runs.
type place struct {
	device  device.Device
	away    device.Away     // nil: on the lab's machine
	network *device.Network // the wire to it; nil: the lab's machine has its address
	stage   *stage
	scratch string // of this trial, there
}

func (r *rig) side(side measure.Side) (end study.Side, verb string, pin []int) {
	if side == measure.Client {
		return r.s.Client, "call", r.lab.Plan.Study.Pin.Client
	}
	end = r.s.Server
	if IsLinked(r.s) && r.lab.Devices[Second(end.Device)] != nil && r.s.Client.Device == end.Device {
		end.Device = Second(end.Device)
	}
	return end, "serve", r.lab.Plan.Study.Pin.Server
}

// Second names the second of two equal machines, which is the server's where a
// link lies between both.
func Second(device string) string { return device + second }

// First is the name without that.
func First(device string) string { return strings.TrimSuffix(device, second) }

const second = " (server)"

// reachDevices connects to devices that are away, and copies there what the
// trial needs and they do not have.
func (r *rig) reachDevices(ctx context.Context) error {
	for i, side := range []measure.Side{measure.Client, measure.Server} {
		end, _, _ := r.side(side)
		on, ok := r.lab.Devices[end.Device]
		if !ok {
			return fmt.Errorf("no device %q", end.Device)
		}
		p := place{device: on}
		if away, ok := on.(device.Away); ok {
			p.away = away
			if err := r.reach(ctx, &p, end); err != nil {
				return err
			}
		}
		r.places[i] = p
	}
	return nil
}

func (r *rig) reach(ctx context.Context, p *place, end study.Side) error {
	remote, err := p.away.Remote(ctx)
	if err != nil {
		return err
	}
	if b, ok := p.away.(device.Behind); ok {
		l, _ := LinkOf(r.s, r.lab.Links)
		n, err := b.Network(ctx, l.LargestPacket())
		if err != nil {
			return err
		}
		p.network = &n
	}
	if r.lab.stages == nil {
		r.lab.stages = stages{}
	}
	p.stage = r.lab.stages[remote]
	if p.stage == nil {
		p.stage = &stage{remote: remote, stacks: map[string]string{}}
		r.lab.stages[remote] = p.stage
	}
	if p.scratch, err = remote.Make(ctx, fmt.Sprintf("trial-%d-%d", r.t.ID, time.Now().UnixNano())); err != nil {
		return err
	}
	d, ok := r.lab.Stacks[end.Stack]
	if !ok {
		return fmt.Errorf("no stack %q", end.Stack)
	}
	if err := p.stage.bring(ctx, d, crossed(p.away, d)); err != nil {
		return p.stage.blame(err)
	}
	if r.credentials() == nil || p.stage.credentials != nil {
		return nil
	}
	p.stage.credentials, err = p.stage.bringFiles(ctx, r.credentials())
	return p.stage.blame(err)
}

// blame makes an error of a standing connection the lab's own: it would come
// again in every trial.
func (s *stage) blame(err error) error {
	if err != nil && s.remote.Err() == nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return err
}

// bring copies a stack's files, and builds there what must be built where it runs.
// Crossed is the folder of its native programs for the device, below build/, if
// it has been built for it here.
func (s *stage) bring(ctx context.Context, d stack.Description, crossed string) error {
	if _, there := s.stacks[d.Name]; there || d.Dir == "" { // the binary itself is there
		return nil
	}
	if crossed != "" {
		var programs []string
		for _, p := range d.Build.Product {
			if _, err := os.Stat(filepath.Join(crossed, filepath.Base(p))); err == nil {
				programs = append(programs, filepath.Base(p))
			}
		}
		at, err := s.remote.PutAll(ctx, crossed, programs, "stacks/"+d.Name+"/build")
		s.stacks[d.Name] = filepath.Dir(at)
		return err
	}
	for _, n := range d.RunNeeds() {
		met := n.MetBy(func(argv ...string) (string, bool) {
			out, code, err := s.remote.Run(ctx, "", nil, argv...)
			return out, err == nil && code == 0
		})
		if !met {
			return fmt.Errorf("on %s: %s", s.remote.Name, n)
		}
	}
	at, err := s.remote.PutAll(ctx, d.Dir, d.Files(), "stacks/"+d.Name)
	if err != nil {
		return err
	}
	if d.Build.Native && len(d.Build.Command) > 0 {
		out, code, err := s.remote.Run(ctx, at, nil, d.Build.Command...)
		if err == nil && code != 0 {
			err = fmt.Errorf("status %d:\n%s", code, out)
		}
		if err != nil {
			return fmt.Errorf("build stack %s on %s: %w", d.Name, s.remote.Name, err)
		}
	}
	s.stacks[d.Name] = at
	return nil
}

// crossed is the folder of a stack's programs that were made here for the
// architecture of a machine that cannot make them itself; empty: there is none.
func crossed(on device.Away, d stack.Description) string {
	m, ok := on.(interface{ Target() string })
	if !ok || d.Dir == "" || len(d.Serve.Command) == 0 || !strings.HasPrefix(d.Serve.Command[0], "build/") {
		return ""
	}
	dir := filepath.Join(d.Dir, "build", m.Target())
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(d.Serve.Command[0]))); err != nil {
		return ""
	}
	return dir
}

// bringFiles copies the values that are files here, and names them there.
func (s *stage) bringFiles(ctx context.Context, values map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for key, v := range values {
		out[key] = v
		i, err := os.Stat(v)
		if !filepath.IsAbs(v) || err != nil || !i.Mode().IsRegular() {
			continue
		}
		at, err := s.remote.PutAll(ctx, filepath.Dir(v), []string{filepath.Base(v)}, "credentials")
		if err != nil {
			return nil, err
		}
		out[key] = at + "/" + filepath.Base(v)
	}
	return out, nil
}

// leave removes the trial's scratch folders.
func (r *rig) leave() {
	for _, p := range r.places {
		if p.scratch != "" {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			p.stage.remote.Remove(ctx, filepath.Base(p.scratch))
			cancel()
		}
	}
}

// scratch is the folder of a side's program.
func (r *rig) scratch(side int) string {
	if p := r.places[side]; p.away != nil {
		return p.scratch
	}
	return r.dir
}

// secrets are the credentials as a side's program finds them.
func (r *rig) secrets(side int) map[string]string {
	if p := r.places[side]; p.away != nil && r.credentials() != nil {
		return p.stage.credentials
	}
	return r.credentials()
}

// between is the address that the server listens on where a side is a board: one
// that the client can reach.
func (r *rig) between(ctx context.Context) (string, error) {
	client, server := r.places[atClient], r.places[atServer]
	on, reached := server, "the board"
	if server.away == nil {
		on, reached = client, "this machine"
	}
	board, here, err := on.away.Addresses(ctx)
	if err != nil {
		return "", err
	}
	at := board
	if server.away == nil {
		at = here
	}
	switch {
	case !at.IsValid():
		return "", fmt.Errorf("%w: there is no direct way between client and server: %s is reached through a jump host; put both sides on it", errLab, on.stage.remote.Name)
	case at.Is4() == (r.s.IP == "ipv6"):
		return "", fmt.Errorf("%w: the study asks for %s, but %s is reached at %v; write the board's other address, such as ssh://pi@[2001:db8::7]", errLab, r.s.IP, reached, at)
	}
	return at.String(), nil
}

func loopback(ip string) string {
	if ip == "ipv6" {
		return "::1"
	}
	return "127.0.0.1"
}

// IsAway says whether a device's name says that it is on another machine.
func IsAway(name string) bool { return strings.Contains(name, "://") }

// Refusal says what of a treatment cannot be done where a side is away; empty:
// nothing.
func Refusal(s *study.Setup, linked, packets bool) string {
	switch {
	case !IsAway(s.Client.Device) && !IsAway(s.Server.Device):
	case linked:
		return "a link lies between two programs on this machine, and " + awayOf(s) + " is another: the wire to it is real; drop the link"
	case packets && IsAway(s.Client.Device):
		return "packets are captured where the client runs, on this machine only; put the server on " + s.Client.Device + ", or ask for no packets"
	}
	return ""
}

func awayOf(s *study.Setup) string {
	if IsAway(s.Server.Device) {
		return s.Server.Device
	}
	return s.Client.Device
}

// interfaceOf is the interface that has an address of this machine.
func interfaceOf(at netip.Addr) (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().WithZone("") == at {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface here has the address %v", at)
}
