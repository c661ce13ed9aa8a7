package testbed

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/devices"
	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// A Kind is one sort of device that a study may name.
type Kind struct {
	Form string // of its names, for tables and manuals
	Says string // in words

	// Names are those there are; nil: they cannot be listed.
	Names func(b *Testbed) []string
	// Is says whether a name is of the kind.
	Is func(b *Testbed, name string) bool
	// State says what it is and what is missing, for a list.
	State func(b *Testbed, name string) string
	// Ready says what stands in the way of Open, without reaching or making anything.
	Ready func(ctx context.Context, b *Testbed, w wanted) error
	// Open makes the device. One on another machine is reached when it is first used.
	Open func(ctx context.Context, b *Testbed, w wanted) (device.Device, error)
	// Refuse says what of a treatment that has it on a side cannot be done, and the
	// setting to change; empty: nothing.
	Refuse func(s study.Study, t *study.Setup) (why, key string)
	// Fitness says what would disturb or falsify a measurement there.
	Fitness func(ctx context.Context, b *Testbed, name string) ([]device.Finding, error)
}

// Kinds lists every kind of device. A name is of the first that takes it.
func Kinds() []Kind {
	return []Kind{
		{"local", "this machine", namesOf("local"), isNamed("local"), titled, readyAlways, openLocal,
			refuseNothing, fitnessHere},
		{"PROFILE", "this machine with CPU and memory limits", constrainedNames, isConstrained, titled, readyLimits,
			openConstrained,
			refuseNothing, fitnessLimited},
		{"instructions-CORE", "a core emulated to count user instructions", coreNames, isCore, stateOfCore, readyCore,
			openCore, refuseNothing, fitnessCore},
		{"MACHINE", "an emulated machine, built by edgegauge devices build", machineNames, isMachine, stateOfMachine,
			readyMachine, openMachine,
			refuseMachine, fitnessMachine},
		{ssh.Scheme + "USER@HOST", "any Linux machine that ssh reaches: doc/devices.md", nil, isBoard, nil, readyAlways,
			openBoard, refuseBoard, fitnessBoard},
	}
}

// KindOf finds the kind of a device.
func (b *Testbed) KindOf(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Is(b, lab.First(name)) {
			return k, true
		}
	}
	return Kind{}, false
}

// DeviceNames are the devices that can be listed, kind after kind.
func (b *Testbed) DeviceNames() []string {
	var names []string
	for _, k := range Kinds() {
		if k.Names != nil {
			names = append(names, k.Names(b)...)
		}
	}
	return names
}

// OpenDevice opens a device for a caller without a plan.
func (b *Testbed) OpenDevice(ctx context.Context, name string) (device.Device, error) {
	k, ok := b.KindOf(name)
	if !ok {
		return nil, fmt.Errorf("no device %q", name)
	}
	return k.Open(ctx, b, wanted{name: name, exe: b.Exe, temp: b.Temp, time: study.Clock})
}

// wanted is what a plan wants of a device.
type wanted struct {
	name   string
	exe    string // this program, to be run
	temp   string // folder for temporary files
	spares *device.Spares
	time   study.Time
	java   bool  // programs in Java run there
	whole  bool  // programs run there that edgegauge-board does not have
	others bool  // only programs run there that are not in this binary
	number uint8 // of the machine among those of the plan
}

// Profiles are the device profiles of ProfileFolders. Broken ones are in the error.
func (b *Testbed) Profiles() (map[string]device.Profile, error) {
	return device.LoadProfiles(b.ProfileFolders()...)
}

// ProfileFolders hold device profiles, of limits and of power: the program's, then those of the folders of devices.
// The later hide the earlier.
func (b *Testbed) ProfileFolders() []fs.FS {
	folders := []fs.FS{devices.Profiles}
	for _, dir := range b.Options.Devices {
		folders = append(folders, kernel.DirFS(dir, 1<<20))
	}
	return folders
}

func namesOf(names ...string) func(*Testbed) []string {
	return func(*Testbed) []string { return names }
}

func isNamed(this string) func(*Testbed, string) bool {
	return func(_ *Testbed, name string) bool { return name == this }
}

func readyAlways(context.Context, *Testbed, wanted) error       { return nil }
func refuseNothing(study.Study, *study.Setup) (why, key string) { return "", "" }
func (b *Testbed) profile(name string) (p device.Profile, ok bool) {
	all, _ := b.Profiles()
	p, ok = all[name]
	return
}

func titled(b *Testbed, name string) string {
	if name == "local" {
		return "this machine"
	}
	p, _ := b.profile(name)
	return p.Title
}

func openLocal(_ context.Context, _ *Testbed, w wanted) (device.Device, error) { return here(w), nil }

func here(w wanted) device.Local { return device.Local{Exe: w.exe, Temp: w.temp, Spares: w.spares} }

func fitnessHere(context.Context, *Testbed, string) ([]device.Finding, error) {
	return device.CheckFitness(os.DirFS("/")), nil
}

func constrainedNames(b *Testbed) []string {
	all, _ := b.Profiles()
	return slices.DeleteFunc(device.Names(all), func(n string) bool { return n == "local" })
}

func isConstrained(b *Testbed, name string) bool {
	p, ok := b.profile(name)
	return ok && p.Limits != nil
}

func readyLimits(_ context.Context, b *Testbed, w wanted) error {
	p, _ := b.profile(w.name)
	if f := p.Limits.Check(); f.Bad {
		return errorText(f.Do)
	}
	return nil
}

func openConstrained(ctx context.Context, b *Testbed, w wanted) (device.Device, error) {
	p, _ := b.profile(w.name)
	return device.Constrained{Local: here(w), Limits: *p.Limits}, readyLimits(ctx, b, w)
}

func fitnessLimited(ctx context.Context, b *Testbed, name string) ([]device.Finding, error) {
	p, _ := b.profile(name)
	found, err := fitnessHere(ctx, b, name)
	return append(found, p.Limits.Check()), err
}

func isBoard(_ *Testbed, name string) bool { return strings.HasPrefix(name, ssh.Scheme) }

func openBoard(_ context.Context, b *Testbed, w wanted) (device.Device, error) {
	board, err := ssh.New(w.name, w.exe, b.Version)
	if err != nil {
		return nil, err
	}
	board.Whole = w.whole
	return board, nil
}

// refuseBoard: the wire to a board is real, and only this machine looks at it.
func refuseBoard(s study.Study, t *study.Setup) (why, key string) {
	key = "client.device"
	if isBoard(nil, t.Server.Device) {
		key = "server.device"
	}
	return lab.Refusal(t, lab.IsLinked(t), lab.NeedsPackets(s) && lab.Captured(t)), key
}

func fitnessBoard(ctx context.Context, b *Testbed, name string) ([]device.Finding, error) {
	board, err := ssh.New(name, b.Exe, b.Version)
	if err != nil {
		return nil, err
	}
	defer board.Close()
	return board.Check(ctx)
}

// places are the devices of a treatment: the server has a machine of its own
// where a link lies between it and a client on an equal one.
func places(s *study.Setup) [2]string {
	client, server := s.Client.Device, s.Server.Device
	if _, _, machine := findMachine(client); machine && client == server && lab.IsLinked(s) {
		server = lab.Second(server)
	}
	return [2]string{client, server}
}

// findMachine finds the emulated machine of a name.
func findMachine(name string) (m qemu.Board, paced, ok bool) {
	plain, paced := strings.CutSuffix(lab.First(name), qemu.PacedSuffix)
	m, ok = qemu.Find(plain)
	return m, paced, ok
}

// errorText is an error that is its text.
type errorText string

func (e errorText) Error() string { return string(e) }
