package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// stages are what was copied to the devices that are away: for each agent, since
// all of it ends with the agent.
type stages map[*device.Remote]*stage

// A stage is what one agent has of ours: paths there.
type stage struct {
	agent       agent
	name        string            // of the device
	stacks      map[string]string // folder of each stack of which something was copied
	brought     map[crossing]bool // what that was
	credentials map[string]string // by name; a file's path, or the value itself
}

// An agent is what staging needs of a device.Remote.
type agent interface {
	Exe() string
	Err() error
	Make(ctx context.Context, dir string) (at string, err error)
	Remove(ctx context.Context, path string) error
	PutAll(ctx context.Context, here string, names []string, there string) (at string, err error)
	Run(ctx context.Context, dir string, env []string, argv ...string) (output string, code int, err error)
}

// A place is where a side's program runs.
type place struct {
	device  device.Device
	away    device.Away     // nil: on the lab's machine
	network *device.Network // the interface to it; nil: the lab's machine has its address
	stage   *stage
	scratch string // of this trial, there
}

// Second names the second of two equal machines, which is the server's where a
// link lies between both.
func Second(device string) string { return device + second }

// First is the name without that.
func First(device string) string { return strings.TrimSuffix(device, second) }

const second = " (server)"

// A placement is where a trial's two programs run.
type placement struct {
	task
	at [2]place
}

// before connects to devices that are away, and copies there what the trial
// needs and they do not have.
func (p *placement) before(ctx context.Context) error {
	for i := range p.at {
		if i == atServer && existing(p.setup) {
			continue
		}
		end, _, _ := p.side(i)
		on, ok := p.lab.Devices[end.Device]
		if !ok {
			return fmt.Errorf("%w: unknown device %q", errLab, end.Device)
		}
		p.at[i] = place{device: on}
		if away, ok := on.(device.Away); ok {
			p.at[i].away = away
			if err := p.reach(ctx, i, end); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *placement) after(context.Context) (findings, error) { return findings{}, nil }

// close removes the trial's scratch folders.
func (p *placement) close() {
	for _, at := range p.at {
		if at.scratch != "" { // not within the trial's context, which may have ended
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			at.stage.agent.Remove(ctx, filepath.Base(at.scratch))
			cancel()
		}
	}
}

// sameMachine says whether both programs run on one machine.
func (p *placement) sameMachine() bool { return p.at[atClient].away == p.at[atServer].away }

// reach connects to the device of a side, and brings there what it lacks. That is not
// done in each trial, and a build on a small board may take longer than any trial may,
// so it has time of its own.
func (p *placement) reach(whole context.Context, side int, end study.Side) error {
	at := &p.at[side]
	ctx, cancel := p.lab.limited(whole)
	defer cancel()
	remote, err := at.away.Remote(ctx)
	if err != nil {
		return err
	}
	if b, ok := at.away.(device.Behind); ok {
		l, _ := p.link()
		n, err := b.Network(ctx, l.LargestPacket())
		if err != nil {
			return err
		}
		at.network = &n
	}
	if p.lab.stages == nil {
		p.lab.stages = stages{}
	}
	at.stage = p.lab.stages[remote]
	if at.stage == nil {
		at.stage = &stage{agent: remote, name: remote.Name, stacks: map[string]string{}, brought: map[crossing]bool{},
			credentials: map[string]string{}}
		p.lab.stages[remote] = at.stage
	}
	if at.scratch, err = remote.Make(ctx, fmt.Sprintf("trial-%d-%d", p.plan.ID, time.Now().UnixNano())); err != nil {
		return err
	}
	d, ok := p.lab.Stacks[end.Stack]
	if !ok {
		return fmt.Errorf("%w: no stack %q", errLab, end.Stack)
	}
	made, err := crossed(at.away, d, side)
	if err != nil {
		return labFault(err)
	}
	if err := at.stage.bring(whole, d, made); err != nil {
		return at.stage.blame(whole, err)
	}
	ctx, again := p.lab.limited(whole)
	defer again()
	return at.stage.blame(ctx, at.stage.bringFiles(ctx, p.credentials(side)))
}

// limited is a context that ends with the time that the study gives a trial.
func (l *Lab) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	most := l.Plan.Study.Timeouts.Trial
	return context.WithTimeoutCause(ctx, most, study.TooLong(most))
}

// blame makes an error of a standing connection the lab's own: it would come
// again in every trial.
func (s *stage) blame(ctx context.Context, err error) error {
	if err != nil && s.agent.Err() == nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) &&
		!errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return err
}

// bring copies a stack's files, unless they are there, and builds there what must
// be built where it runs. A stack counts as copied only when all of it is there,
// so that a retry begins anew.
func (s *stage) bring(ctx context.Context, d stack.Description, made crossing) error {
	if made.from != "" {
		return s.bringMade(ctx, d, made)
	}
	whole := crossing{from: d.Dir}
	if s.brought[whole] || d.Dir == "" { // the binary itself is there
		return nil
	}
	for _, n := range d.RunNeeds() {
		met := n.MetBy(func(argv ...string) (string, bool) {
			ctx, cancel := context.WithTimeout(ctx, mostAnswer)
			defer cancel()
			out, code, err := s.agent.Run(ctx, "", nil, argv...)
			return out, err == nil && code == 0
		})
		if !met {
			return fmt.Errorf("on %s: %s", s.name, n)
		}
	}
	at, err := s.agent.PutAll(ctx, d.Dir, d.Files(), "stacks/"+d.Name)
	if err != nil {
		return err
	}
	if d.Build.Native && len(d.Build.Command) > 0 {
		ctx, cancel := context.WithTimeoutCause(ctx, mostBuild, fmt.Errorf("it took longer than %s",
			study.DurationText(mostBuild)))
		defer cancel()
		out, code, err := s.agent.Run(ctx, at, nil, d.Build.Command...)
		if err == nil && code != 0 {
			err = fmt.Errorf("status %d:\n%s", code, out)
		}
		if err != nil {
			return fmt.Errorf("build stack %s on %s: %w", d.Name, s.name, err)
		}
	}
	s.stacks[d.Name], s.brought[whole] = at, true
	return nil
}

// bringMade copies a program that was made here, with the stack's other products that were made beside it, unless it
// is there.
func (s *stage) bringMade(ctx context.Context, d stack.Description, made crossing) error {
	if s.brought[made] {
		return nil
	}
	programs := []string{made.program}
	for _, p := range d.Build.Product {
		name := filepath.Base(p)
		if _, err := os.Stat(filepath.Join(made.from, name)); err == nil && !slices.Contains(programs, name) {
			programs = append(programs, name)
		}
	}
	at, err := s.agent.PutAll(ctx, made.from, programs, path.Join("stacks", d.Name, made.to))
	if err == nil {
		s.stacks[d.Name], s.brought[made] = strings.TrimSuffix(at, "/"+made.to), true
	}
	return err
}

const (
	mostAnswer = 5 * time.Minute // for a need's program to say its version, on a slow board
	mostBuild  = 6 * time.Hour   // for a stack to be built on one
)

// A crossing is a folder here of a stack's native programs that were made for a
// device, its path below the stack's folder there, and the program that is to run.
// Without these two it is the stack's own folder, and all of it is copied.
type crossing struct{ from, to, program string }

// crossed finds the programs of a stack that were made here for the architecture of a
// machine that cannot make them itself. The error says what to do where there are none.
func crossed(on device.Away, d stack.Description, side int) (made crossing, err error) {
	program := d.Call
	if side == atServer {
		program = d.Serve
	}
	m, ok := on.(interface{ Target() string })
	if !ok || d.Dir == "" || len(program.Command) == 0 || program.Runs("java") {
		return made, nil
	}
	file, err := device.Crossed(d.Name, d.Dir, program.Command[0], m.Target())
	if err != nil {
		return made, err
	}
	return crossing{filepath.Dir(file), path.Dir(path.Clean(program.Command[0])), filepath.Base(file)}, nil
}

// bringFiles copies the values that are files here, unless they are there, and
// notes how each is called there.
func (s *stage) bringFiles(ctx context.Context, values map[string]string) error {
	for key, v := range values {
		if _, there := s.credentials[key]; there {
			continue
		}
		i, err := os.Stat(v)
		if !filepath.IsAbs(v) || err != nil || !i.Mode().IsRegular() {
			s.credentials[key] = v
			continue
		}
		at, err := s.agent.PutAll(ctx, filepath.Dir(v), []string{filepath.Base(v)}, "credentials")
		if err != nil {
			return err
		}
		s.credentials[key] = at + "/" + filepath.Base(v)
	}
	return nil
}

// secrets are the credentials as a side's program finds them.
func (p *placement) secrets(side int) map[string]string {
	values := p.credentials(side)
	if at := p.at[side]; at.away != nil {
		for key := range values {
			values[key] = at.stage.credentials[key]
		}
	}
	return values
}

// between is the address that the server listens on where a side is a board: one
// that the client can reach.
func (p *placement) between(ctx context.Context) (string, error) {
	server := p.at[atServer]
	on := server
	if server.away == nil {
		on = p.at[atClient]
	}
	board, here, err := on.away.Addresses(ctx)
	if err != nil {
		return "", err
	}
	at, why, advice := Reach(on.stage.name, board, here, server.away != nil, p.setup.IP)
	if why != "" {
		return "", fmt.Errorf("%w: %s; %s", errLab, why, advice)
	}
	return at.String(), nil
}

// IsAway says whether a device's name says that it is on another machine.
func IsAway(name string) bool { return strings.Contains(name, "://") }

// Refusal says what of a treatment cannot be done where a side is away; empty:
// nothing.
func Refusal(s *study.Setup, linked, packets bool) string {
	switch {
	case !IsAway(s.Client.Device) && !IsAway(s.Server.Device):
	case linked:
		return "a link connects two programs on this machine, and " + awayOf(s) +
			" is another: the network to it is real; remove the link"
	case packets && IsAway(s.Client.Device):
		return "packets are captured at the client, and only on this machine; swap the sides, so that the server is on " +
			s.Client.Device + ", or write capture: off"
	}
	return ""
}

func awayOf(s *study.Setup) string {
	if IsAway(s.Server.Device) {
		return s.Server.Device
	}
	return s.Client.Device
}

// portOf is a URL's port, or its scheme's.
func portOf(u *url.URL) (uint16, error) {
	at, _, err := drive.Spec{URL: u.String()}.Address()
	if err != nil {
		return 0, err
	}
	_, text, err := net.SplitHostPort(at)
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return uint16(port), err
}

// towards is the interface by which this machine's packets go to a URL's host.
func towards(ctx context.Context, to string) (string, error) {
	at, _, err := drive.Spec{URL: to}.Address()
	if err != nil {
		return "", err
	}
	c, err := kernel.Dial(ctx, "udp", at) // sends nothing
	if err != nil {
		return "", err
	}
	defer c.Close()
	from, there := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), c.RemoteAddr().(*net.UDPAddr).AddrPort().Addr()
	if from == there || there.IsLoopback() { // an address of this machine
		return "lo", nil
	}
	return interfaceOf(from.Unmap().WithZone(""))
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
