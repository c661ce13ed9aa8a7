package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// An assembly is a lab being put together, with everything found on the way that
// keeps its plan from running.
type assembly struct {
	bed      *Testbed
	plan     study.Plan
	exe      string // this program, as children are started
	temp     string
	lab      *lab.Lab
	faults   []study.Error
	profiles map[string]link.Link        // of links, by their names; see openLinks
	looking  bool                        // nothing that the study or the user names is run
	sizes    map[sized]made              // of messages that were made already
	close    []func() error              // what was opened, the last first to be closed
	stamps   map[string]map[string]stamp // of the stacks' products, when their checksums were taken
}

func (b *Testbed) assemble(p study.Plan, exe, temp string) *assembly {
	return &assembly{bed: b, plan: p, exe: exe, temp: temp,
		lab: &lab.Lab{Plan: p, Exe: exe, Scratch: temp, Stacks: b.needed(p), Devices: map[string]device.Device{},
			Together: cmp.Or(b.Together, kernel.PIDNamespace)}}
}

// Obstacles lists everything that stands in the way of a plan on this machine, each
// with its place in the study and what to do; nil: nothing does. It opens the plan's
// meters, and closes them; boards are not reached and machines not booted. Open
// finds the same, and nothing else before the first trial but what a board says.
func (b *Testbed) Obstacles(ctx context.Context, p study.Plan) study.Errors {
	return b.obstacles(ctx, p, func(*assembly) {})
}

// obstacles are Obstacles, and what else is found.
func (b *Testbed) obstacles(ctx context.Context, p study.Plan, also func(*assembly)) study.Errors {
	x := b.assemble(p, b.Exe, b.Temp)
	x.looking = true
	defer x.abandon()
	also(x)
	x.look(ctx)
	x.openMeters(ctx)
	return study.Collect(x.faults)
}

// look finds what can be found without opening anything.
func (x *assembly) look(ctx context.Context) {
	x.openLinks()
	x.seeLength()
	x.openSensors()
	x.readyDevices(ctx)
	x.seePrograms()
	x.seeMemory()
	x.refuse()
	x.seeTemporary()
	x.seeIODir()
	x.seeReady()
	x.seeHeap()
	x.seePackets()
	x.seeGiven()
	x.seeFew()
	x.openRequests(ctx)
	x.seePlacement()
	x.seeLostPlacements()
	x.seePins()
	x.seeBoards()
	x.seeLoopback(ctx)
	x.seeDescriptors()
	x.seeUnread()
	x.seeOptions()
	x.seeMessages()
	if x.bed.NeedsNetwork(x.plan) {
		x.mayLink(ctx)
	}
	x.mayCapture()
}

// treatments yields a trial of each treatment.
func (x *assembly) treatments() iter.Seq[study.Trial] {
	return func(yield func(study.Trial) bool) {
		seen := map[int]bool{}
		for _, t := range x.plan.Trials {
			if seen[t.Cell] {
				continue
			}
			if seen[t.Cell] = true; !yield(t) {
				return
			}
		}
	}
}

// fault notes what cannot be done of a treatment; see study.Plan.Fault.
func (x *assembly) fault(t study.Trial, what, advice string, keys ...string) {
	x.faults = append(x.faults, x.plan.Fault(t, what, advice, keys...))
}

// lack notes what this machine lacks for a treatment.
func (x *assembly) lack(t study.Trial, what, advice string, keys ...string) {
	f := x.plan.Fault(t, what, advice, keys...)
	f.Here = true
	x.faults = append(x.faults, f)
}

// sides are the keys of both sides' settings of a name, the client's first.
func sides(name string) []string { return []string{"client." + name, "server." + name} }

// wants lists what the plan wants of each of its devices.
func (x *assembly) wants() iter.Seq2[study.Trial, wanted] {
	return func(yield func(study.Trial, wanted) bool) {
		seen := map[string]bool{}
		machines := uint8(0)
		for t := range x.treatments() {
			for _, name := range places(t.Setup) {
				if name == "" || seen[name] { // a service that is already running has no device
					continue
				}
				seen[name] = true
				w := wanted{name: name, exe: x.exe, temp: x.temp, time: x.plan.Study.Time, java: x.runsJava(name),
					whole: x.runsWhole(name), others: x.runsOthers(name), number: machines}
				if isMachine(x.bed, name) {
					machines++
				}
				if !yield(t, w) {
					return
				}
			}
		}
	}
}

// runsJava says whether a plan has Java programs on a device.
func (x *assembly) runsJava(device string) bool {
	for t := range x.treatments() {
		at := places(t.Setup)
		if at[0] == device && x.lab.Stacks[t.Setup.Client.Stack].Call.Runs("java") ||
			at[1] == device && x.lab.Stacks[t.Setup.Server.Stack].Serve.Runs("java") {
			return true
		}
	}
	return false
}

// runsWhole says whether a plan has programs on a device that only the whole edgegauge has.
func (x *assembly) runsWhole(device string) bool {
	for t := range x.treatments() {
		at := places(t.Setup)
		if at[0] == device && reference.Whole(t.Setup.Client.Stack, "client", t.Setup.Transport) ||
			at[1] == device && reference.Whole(t.Setup.Server.Stack, "server", t.Setup.Transport) {
			return true
		}
	}
	return false
}

// runsOthers says whether a plan has only programs on a device that are not in this binary.
func (x *assembly) runsOthers(device string) bool {
	for t := range x.treatments() {
		at := places(t.Setup)
		if at[0] == device && x.lab.Stacks[t.Setup.Client.Stack].Dir == "" ||
			at[1] == device && x.lab.Stacks[t.Setup.Server.Stack].Dir == "" {
			return false
		}
	}
	return true
}

func (x *assembly) readyDevices(ctx context.Context) {
	for t, w := range x.wants() {
		k, ok := x.bed.KindOf(w.name)
		if !ok {
			x.fault(t, fmt.Sprintf("no device %q", w.name), "edgegauge devices list shows them", sides("device")...)
			continue
		}
		if err := k.Ready(ctx, x.bed, w); err != nil {
			x.deviceFault(t, w.name, err)
		}
	}
}

// deviceFault says what is wrong with a device, one fault a line of err.
func (x *assembly) deviceFault(t study.Trial, name string, err error) {
	who := "device " + lab.First(name)
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, who) {
			line = who + ": " + line
		}
		x.lack(t, line, "", sides("device")...)
	}
}

func (x *assembly) openDevices(ctx context.Context) {
	spares := new(device.Spares)
	x.close = append(x.close, spares.Close)
	for t, w := range x.wants() {
		w.spares = spares
		k, ok := x.bed.KindOf(w.name)
		if !ok {
			continue // looked at before
		}
		d, err := k.Open(ctx, x.bed, w)
		if err != nil {
			x.deviceFault(t, w.name, err)
			continue
		}
		x.lab.Devices[w.name] = d
		if away, ok := d.(device.Away); ok {
			x.close = append(x.close, away.Close)
		}
	}
}

// refuse finds what a treatment asks of its devices that they cannot do.
func (x *assembly) refuse() {
	for t := range x.treatments() {
		for _, name := range places(t.Setup) {
			if name == "" {
				continue
			}
			k, ok := x.bed.KindOf(name)
			if !ok {
				continue
			}
			if why, key := k.Refuse(x.plan.Study, t.Setup); why != "" {
				x.fault(t, why, "", "client.device", key)
				break
			}
		}
	}
}

// seeIODir finds an io_dir in which the server could not write. Only a server on
// this machine has one: on another, files lie where its agent works.
func (x *assembly) seeIODir() {
	for t := range x.treatments() {
		dir := t.Setup.IODir
		switch {
		case dir == "":
		case x.onOther(t.Setup.Server.Device):
			x.fault(t, "io_dir is a folder on this machine, but the server is on "+t.Setup.Server.Device, "drop io_dir",
				"server.device", "io_dir")
		case !filepath.IsAbs(dir):
			x.fault(t, fmt.Sprintf("io_dir %s is not an absolute path", dir), "write one such as /var/tmp", "io_dir")
		default:
			try, err := os.MkdirTemp(dir, "edgegauge-try-")
			if err != nil {
				x.lack(t, "io_dir: "+err.Error(), "make it, or name another", "io_dir")
				continue
			}
			os.Remove(try)
		}
	}
}

// seePackets finds treatments of which packets cannot give what the study asks.
func (x *assembly) seePackets() {
	var asked []string
	for _, w := range x.plan.Study.Responses {
		if r, ok := measure.FindResponse(w.Text); ok && r.Packets {
			asked = append(asked, w.Text)
		}
	}
	if len(asked) == 0 {
		return
	}
	for t := range x.treatments() {
		if !lab.Captured(t.Setup) || lab.InTotal(t.Setup, x.plan.Study) {
			continue
		}
		var lacking, reasons, linked []string
		for _, r := range asked {
			why := lab.Lacks(t.Setup, r)
			if packetsGive(t.Setup, r) || t.Setup.LeavesOut(string(measure.Client), r) {
				continue
			}
			lacking = append(lacking, r)
			if !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
			if t.Setup.URL == "" && lab.SumGivesLinked(t.Setup, r) {
				linked = append(linked, r)
			}
		}
		x.seeParted(t, asked)
		if len(lacking) == 0 {
			continue
		}
		keys := []string{"stack", "server.stack", "transport", "connection", "security"}
		if len(linked) > 0 {
			reasons = append(reasons, "behind a link, those of the whole run give "+strings.Join(linked, ", "))
			keys = append([]string{"link"}, keys...) // to exclude no treatment that has them
		}
		advice := "drop these responses and read what packets: keep keeps with edgegauge packets"
		if x.goWithLevel(t, lacking, keys) {
			advice += fmt.Sprintf(", or give this level leave_out: [%s]", strings.Join(lacking, ", "))
		}
		x.fault(t, fmt.Sprintf("packets cannot give %s for %s: %s", strings.Join(lacking, ", "),
			cmp.Or(t.Setup.Server.Stack, t.Setup.URL), strings.Join(reasons, "; ")), advice, keys...)
	}
}

// packetsGive says whether packets give a response of a treatment, request by request or in total.
func packetsGive(s *study.Setup, response string) bool {
	return lab.Lacks(s, response) == "" || lab.SumGives(s, response)
}

// goWithLevel says whether no treatment with the level that a fault of these keys blames gives any of the responses: to
// leave them out there loses nothing.
func (x *assembly) goWithLevel(t study.Trial, responses, keys []string) bool {
	at := x.plan.Fault(t, "", "", keys...).Pos
	for other := range x.treatments() {
		has := slices.ContainsFunc(keys, func(key string) bool {
			place, ok := x.plan.Place(other, key)
			return ok && place == at
		})
		if has && lab.Captured(other.Setup) && slices.ContainsFunc(responses, func(r string) bool {
			return packetsGive(other.Setup, r) && !other.Setup.LeavesOut(string(measure.Client), r)
		}) {
			return false
		}
	}
	return true
}

// mayCapture tries whether packets can be captured on lo, if the plan needs them there.
func (x *assembly) mayCapture() {
	if !lab.NeedsPackets(x.plan.Study) || x.plan.Study.Time == study.Instructions {
		return
	}
	for t := range x.treatments() {
		// Behind a link, whoever made it may capture.
		if needsNetwork(x.plan.Study, t.Setup) || !lab.Captured(t.Setup) {
			continue
		}
		if err := tryLoopback(); err != nil {
			x.faults = append(x.faults, study.Error{Pos: x.packetsAsked(),
				What: "the study needs packet capture: " + err.Error(), Advice: "or drop the responses that need them", Here: true})
		}
		return
	}
}

// packetsAsked is where the study asks for packets.
func (x *assembly) packetsAsked() study.Pos {
	for _, w := range x.plan.Study.Responses {
		if r, ok := measure.FindResponse(w.Text); ok && r.Packets {
			return w.Pos
		}
	}
	return study.Pos{File: x.plan.Study.File}
}

// NeedsNetwork says whether a plan makes network namespaces.
func (b *Testbed) NeedsNetwork(p study.Plan) bool {
	for _, t := range p.Trials {
		if needsNetwork(p.Study, t.Setup) {
			return true
		}
	}
	return false
}

// needsNetwork: a link is made of namespaces, and the wire to an emulated machine
// that others speak with ends in one. Many devices have their links in the driver.
func needsNetwork(s study.Study, t *study.Setup) bool {
	if s.Time == study.Instructions {
		return false
	}
	return lab.IsLinked(t) && t.Population.Devices == 0 || isMachine(nil, t.Client.Device) ||
		isMachine(nil, t.Server.Device)
}

// mayLink tries a link of each shaper the plan has, or a bare one, where the run
// will make them.
func (x *assembly) mayLink(ctx context.Context) {
	tried := map[link.Shaper]bool{}
	for t := range x.treatments() {
		if !needsNetwork(x.plan.Study, t.Setup) {
			continue
		}
		l, ok := x.lab.Links[t.Setup.Link.Text]
		if !ok {
			l = toMachine
		}
		if tried[l.Shaper] || l.Check() != nil {
			continue
		}
		tried[l.Shaper] = true
		if err := x.bed.tryLink(ctx, l); err != nil {
			x.lack(t, err.Error(), "", append(sides("device"), "link")...)
		}
	}
}

// toMachine is the wire to an emulated machine, as a link to be tried.
var toMachine = link.Link{Name: "to an emulated machine", Shaper: link.Bare}

// tryLink makes a link where a run would make it, and removes it: once for each shaper, since what may be left out is
// looked for before all else.
func (b *Testbed) tryLink(ctx context.Context, l link.Link) error {
	if _, made := b.linked.Load(l.Shaper); made {
		return nil
	}
	err := b.makeLink(ctx, l)
	if err == nil {
		b.linked.Store(l.Shaper, nil)
	}
	return err
}

func (b *Testbed) makeLink(ctx context.Context, l link.Link) error {
	if err := link.Able(); err != nil {
		if !b.Rootless {
			return err
		}
		return link.TryRootless(ctx, b.Exe, l)
	}
	line, err := link.Open(ctx, b.Exe, l)
	if err != nil {
		return err
	}
	return line.Close()
}

// abandon closes what was opened.
func (x *assembly) abandon() error {
	var errs []error
	for i := len(x.close) - 1; i >= 0; i-- {
		errs = append(errs, x.close[i]())
	}
	x.close = nil
	return errors.Join(errs...)
}
