package qemu

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// Interactive is a machine that others speak with: it boots once and stays, an
// agent in it starts what is asked, and an Ethernet leads to it from a network
// namespace of its own.
type Interactive struct {
	Image Image
	// Number tells the machines of a lab apart, which may speak with each other: it
	// is part of their addresses. 0 to 255.
	Number uint8
	Exe    string // this binary, which keeps QEMU
	Temp   string // folder for temporary files; empty: this process's
	Guest  string // this program, or edgegauge-board, for the guest's architecture
	Mode   Mode   // Free or Paced
	Build  string // of both, for the agent's greeting
	Cache  string // folder of the machine's states after boot, from which it is restored; empty: it boots

	mu     sync.Mutex
	at     *machine
	dir    string
	remote *device.Remote
	wire   ethernet
	unkept error         // why its state after boot could not be kept; nil: it was, or needs not be
	Took   time.Duration // from start to an answer of its agent
}

// bootPatience is how long a boot may take on a busy machine.
const bootPatience = 3 * time.Minute

const (
	channelFile = "channel"
	readyLine   = "edgegauge: ready"
)

// Remote is the agent in the machine, which is booted if it does not run.
func (d *Interactive) Remote(ctx context.Context) (*device.Remote, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.remote != nil && d.remote.Err() == nil {
		return d.remote, nil
	}
	d.close()
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, bootPatience, fmt.Errorf("no answer within %v", bootPatience))
	defer cancel()
	restored, err := d.boot(ctx, true)
	if err != nil && restored && ctx.Err() == nil { // a state may be damaged, or another lab may have removed it
		d.close()
		_, err = d.boot(ctx, false)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	d.Took = time.Since(began)
	return d.remote, nil
}

// boot starts the machine: from its state after an earlier boot, if there is one and it may be restored.
func (d *Interactive) boot(ctx context.Context, mayRestore bool) (restored bool, err error) {
	if d.dir, err = os.MkdirTemp(d.Temp, machinePrefix); err != nil {
		return false, err
	}
	b := d.Image.Board
	e, err := NewEnclosed(ctx, d.Image, d.Exe, d.Guest)
	if err != nil {
		return false, err
	}
	e.Image.Board.Clock = Clock{} // who compares clocks must find them equal
	if err := e.furnish(d.dir, device.Job{Seed: 1, Files: d.Image.Files()}); err != nil {
		return false, fmt.Errorf("device %s: %w", b.Name, roomFor(err))
	}
	if d.wire, err = newEthernet(d.Number); err != nil {
		return false, fmt.Errorf("device %s: %w", b.Name, err)
	}
	java := b.unpacksJava(d.Image.Files())
	c := device.Command{Argv: b.argv(d.Mode, java, 1, append(b.outside(), flashed(d.dir)...)...), Namespace: d.wire.ns}
	state, err := d.state(ctx)
	if err != nil {
		return false, err
	}
	restore := mayRestore && state != "" && exists(state)
	if restore {
		c.Argv = append(c.Argv, "-incoming", "exec:cat "+shellQuote(state))
	}
	defer func() {
		if restore && err != nil && !errors.Is(ctx.Err(), context.Canceled) {
			os.Remove(state) // whatever is wrong with it
		}
	}()
	if d.at, err = boot(ctx, d.Exe, b, d.dir, c); err != nil {
		return restore, err
	}
	alive, stop := d.at.whileAlive(ctx)
	defer stop()
	if err := d.wake(alive, state, restore); err != nil {
		return restore, d.at.blame(err)
	}
	return restore, nil
}

// wake brings the machine to where its agent answers, and keeps that state if it
// was booted and states are kept.
func (d *Interactive) wake(ctx context.Context, state string, restored bool) error {
	channel, err := kernel.DialUnix(ctx, filepath.Join(d.dir, channelFile))
	if err != nil {
		return fmt.Errorf("its connection: %w", err)
	}
	if err := d.awake(ctx, state, restored); err != nil {
		channel.Close()
		return err
	}
	if _, err := channel.Write([]byte{'\n'}); err != nil { // until then its agent does not begin
		channel.Close()
		return fmt.Errorf("its connection: %w", err)
	}
	if d.remote, err = device.Connect(ctx, "device "+d.Image.Board.Name, channel, d.Build, 0); err != nil {
		return err
	}
	return d.connect(ctx, usualMTU)
}

// connect gives both ends of the wire their addresses and the size of packets.
func (d *Interactive) connect(ctx context.Context, mtu int) error {
	if err := d.wire.up(mtu); err != nil {
		return err
	}
	argv := append([]string{GuestExe, NetworkVerb}, d.wire.guestArgs(mtu, time.Now())...)
	out, code, err := d.remote.Run(ctx, "", nil, argv...)
	if err != nil || code != 0 {
		return errors.Join(fmt.Errorf("configure its network: %s", strings.TrimSpace(out)), err)
	}
	d.wire.mtu = mtu
	return nil
}

func (d *Interactive) awake(ctx context.Context, state string, restored bool) error {
	m := d.at.monitor
	if restored {
		if err := m.until(ctx, "paused"); err != nil {
			return fmt.Errorf("its state could not be restored: %w", err)
		}
		return m.do(ctx, "cont", nil, nil)
	}
	said := console{file: filepath.Join(d.dir, consoleFile)}
	for {
		line, err := said.next(ctx)
		if err != nil {
			return fmt.Errorf("it did not boot: %w", err)
		}
		if err := trouble(line); err != nil {
			return err
		}
		if strings.HasPrefix(line, readyLine) {
			break
		}
	}
	if state == "" {
		return nil
	}
	part := partOf(state)
	err := m.save(ctx, part)
	if err == nil {
		err = os.Rename(part, state)
	}
	if err != nil { // it only boots again the next time
		os.Remove(part)
		d.unkept = err
	}
	return m.do(ctx, "cont", nil, nil)
}

// state is the file of the machine's state after boot; empty: none is kept. It is
// good for the same QEMU, command line, kernel and initial file system only, so
// all of them make its name.
func (d *Interactive) state(ctx context.Context) (string, error) {
	if d.Cache == "" {
		return "", nil
	}
	b := d.Image.Board
	_, v, err := b.emulator(ctx)
	if err != nil {
		return "", err
	}
	key := v + strings.Join(b.argv(d.Mode, b.unpacksJava(d.Image.Files()), 1, b.outside()...), " ") +
		fmt.Sprint(d.Image.Made.Files)
	for _, name := range []string{initrdFile, flashFile} {
		file := filepath.Join(d.dir, name)
		if !exists(file) {
			continue
		}
		f, err := digest(file)
		if err != nil {
			return "", err
		}
		key += name + f.SHA256
	}
	if d.unkept = os.MkdirAll(d.Cache, 0o755); d.unkept != nil {
		return "", nil
	}
	old := kernel.Matching(d.Cache, b.Name+"-"+string(d.Mode)+"-*.state")
	file := filepath.Join(d.Cache, b.Name+"-"+string(d.Mode)+"-"+sum([]byte(key))[:16]+".state")
	for _, o := range old {
		if o != file {
			os.Remove(o)
		}
	}
	for _, p := range kernel.Matching(d.Cache, b.Name+"-*.state.*") { // of labs killed while they wrote one
		_, owner, _ := strings.Cut(filepath.Base(p), ".state.")
		if owner, _, _ = strings.Cut(owner, "-"); kernel.OwnerGone(owner) {
			os.Remove(p)
		}
	}
	return file, nil
}

// partOf is what a state is called while it is written, by one machine of several that may boot at once:
// STATE.OWNER-TEXT.
func partOf(state string) string { return state + "." + kernel.Owner() + "-" + rand.Text() }

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// unsegmented: the machine sends and gets packets as a wire carries them. Left to
// themselves both sides would hand over up to 64 KB at once, which no small board's
// card does, and a capture would see that.
const unsegmented = ",gso=off,host_tso4=off,host_tso6=off,host_ufo=off,guest_tso4=off,guest_tso6=off,guest_ufo=off"

// outside are the channel to the agent and the network card, on the board's bus.
func (b Board) outside() []string {
	bus, card := "device", ""
	if b.Machine == "versatilepb" {
		bus, card = "pci", ",romfile=" // nobody boots from the network
	}
	return []string{
		"-chardev", "socket,id=channel,path=" + channelFile + ",server=on,wait=off",
		"-device", "virtio-serial-" + bus, "-device", "virtserialport,chardev=channel,name=edgegauge",
		"-netdev", "tap,id=net,ifname=" + tapName + ",script=no,downscript=no", "-device",
		"virtio-net-" + bus + ",netdev=net,mac=52:54:00:12:34:56" + unsegmented + card,
	}
}

// Addresses are how the machine is reached from here, and this machine from it.
func (d *Interactive) Addresses(ctx context.Context) (there, here netip.Addr, err error) {
	if _, err := d.Remote(ctx); err != nil {
		return there, here, err
	}
	return d.wire.guest.IPv4, d.wire.host.IPv4, nil
}

// Network is the Ethernet to the machine.
func (d *Interactive) Network(ctx context.Context, mtu int) (device.Network, error) {
	if _, err := d.Remote(ctx); err != nil {
		return device.Network{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if mtu != d.wire.mtu {
		if err := d.connect(ctx, mtu); err != nil {
			return device.Network{}, fmt.Errorf("device %s: %w", d.Image.Board.Name, err)
		}
	}
	return device.Network{Namespace: d.wire.ns, Interface: tapName, Device: d.wire.guest, Here: d.wire.host}, nil
}

// Start starts a command in the machine; the lab has copied what it needs there.
func (d *Interactive) Start(ctx context.Context, c device.Command) (*device.Process, error) {
	r, err := d.Remote(ctx)
	if err != nil {
		return nil, err
	}
	said := console{file: filepath.Join(d.dir, consoleFile)}
	if info, err := os.Stat(said.file); err == nil {
		said.at = info.Size()
	}
	p, err := r.Start(ctx, c)
	if err == nil {
		p.Tell(said.ofMemory)
	}
	return p, err
}

// ofMemory adds to how a process ended that the guest's kernel killed one since, because no memory was left.
func (c *console) ofMemory(e device.Exit) device.Exit {
	if e.Err != "" || e.Signal == "" && e.Code == 0 {
		return e
	}
	for {
		if n, err := c.read(); n == 0 || err != nil {
			break
		}
	}
	if who := device.KilledForMemory(c.held); who != "" {
		e.Signal = e.Reason() + ": the machine was out of memory, and its kernel killed " + who
	}
	return e
}

// Target is the architecture as stacks name the folders of their native programs.
func (d *Interactive) Target() string { return d.Image.Board.Target() }

// Facts are the guest's own, with what the machine is made of.
func (d *Interactive) Facts(ctx context.Context) (device.Facts, error) {
	made, err := facts(ctx, d.Image, d.Mode, d.Guest)
	if err != nil {
		return made, err
	}
	r, err := d.Remote(ctx)
	if err != nil {
		return made, err
	}
	f, err := r.Facts(ctx)
	if err != nil {
		return f, err
	}
	b := d.Image.Board
	b.Clock = Clock{}
	f.Model, f.Emulation = made.Model, made.Emulation
	f.Emulation["time"] = "this machine's clock"
	doubt := "emulated: it computes as fast as this machine can emulate it, and slower when this machine has other work"
	if d.Mode == Paced {
		f.Emulation["time"] = "while it computes, " + b.Model() +
			"; while it waits, this machine's clock, losing up to a millisecond per wait"
		doubt = "emulated, and paced by " + b.Model() +
			": serialization, deserialization, processing and cpu are reliable; rtt and total_time with the other side " +
			"outside lose " +
			"up to a millisecond per wait"
	}
	if here, err := (device.Local{}).Facts(ctx); err == nil {
		f.Emulation["host"], f.Emulation["host load"] = here.Model, fmt.Sprintf("%.2f", here.Load)
	}
	f.Emulation["started in"] = d.Took.Round(time.Millisecond).String()
	if d.unkept != nil {
		f.Emulation["started in"] += ", because its state after boot could not be saved (free space, or name another " +
			"folder " +
			"with EDGEGAUGE_CACHE): " + d.unkept.Error()
	}
	f.Doubts = append(f.Doubts, doubt)
	return f, nil
}

// Observe asks the agent.
func (d *Interactive) Observe(ctx context.Context, instrument string, emit func(measure.Sample)) error {
	r, err := d.Remote(ctx)
	if err != nil {
		return err
	}
	return r.Observe(ctx, instrument, emit)
}

// Close ends the machine.
func (d *Interactive) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.close()
	return nil
}

func (d *Interactive) close() {
	if d.remote != nil {
		d.remote.Close()
		d.remote = nil
	}
	if d.at != nil {
		d.at.end()
		d.at = nil
	}
	d.wire.release()
	if d.dir != "" {
		os.RemoveAll(d.dir)
		d.dir = ""
	}
}
