package testbed

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
	"edgegauge.example/edgegauge/internal/stack"
)

// described are the descriptions of all stacks in a folder of their own, without anything that was built but, if
// wanted, a program for each architecture that is emulated.
func described(t *testing.T, built bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	all, err := filepath.Glob("../../stacks/*/stack.yaml")
	if err != nil || len(all) < 10 {
		t.Fatalf("got %d stacks, %v", len(all), err)
	}
	for _, from := range all {
		to := filepath.Join(dir, filepath.Base(filepath.Dir(from)))
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		os.Mkdir(to, 0o755)
		if err := os.WriteFile(filepath.Join(to, "stack.yaml"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, _ := stack.Load(dir)
	for _, d := range found {
		for _, p := range []stack.Program{d.Serve, d.Call} {
			if !built || len(p.Command) == 0 || !strings.Contains(p.Command[0], "/") {
				continue
			}
			for _, target := range []string{"armel", "arm64"} {
				file := filepath.Join(d.Dir, filepath.Dir(p.Command[0]), target, filepath.Base(p.Command[0]))
				os.MkdirAll(filepath.Dir(file), 0o755)
				if err := os.WriteFile(file, nil, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir
}

// Of every stack and every emulated device, check says whether a program is there to be run: a native one that was
// built for it, or where the device has it, one in Java.
func TestCheckFindsProgramsThatAnEmulatedDeviceLacks(t *testing.T) {
	for _, built := range []bool{false, true} {
		if testing.Short() && built {
			continue
		}
		b := bed(t, described(t, built))
		stacks, err := b.Stacks()
		if err != nil {
			t.Fatal(err)
		}
		var ways []way
		for _, name := range slices.Sorted(maps.Keys(stacks)) {
			if offered := waysOf(stacks[name]); len(offered) > 0 {
				ways = append(ways, offered[0])
			}
		}
		for _, name := range slices.Concat(coreNames(b), machineNames(b)) {
			for _, side := range []string{"client", "server"} {
				seesPrograms(t, b, ways, name, side, built)
			}
		}
	}
}

func seesPrograms(t *testing.T, b *Testbed, ways []way, name, side string, built bool) {
	t.Helper()
	p, _, err := b.ReadElsewhere(t.Context(), "s.yaml", studyOf(ways), nil, side+".device="+name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	faults := map[string]bool{}
	for _, f := range b.Obstacles(t.Context(), p) {
		for _, w := range ways {
			if strings.Contains(f.What+" ", "stack "+w.server+" ") || strings.Contains(f.What, "stack "+w.server+";") {
				faults[w.server] = true
				if !strings.Contains(f.What, "device "+strings.TrimSuffix(name, "/icount")) || f.Pos.Line == 0 || !f.Here {
					t.Errorf("%s: got %+v", w.server, f)
				}
			}
		}
	}
	_, core := device.FindCore(name)
	for _, w := range ways {
		d, _ := b.FindStack(w.server)
		program := d.Serve
		if side == "client" {
			program = d.Call
		}
		runs := d.Dir == "" || program.Runs("java") && !core || built && strings.Contains(program.Command[0], "/")
		if faults[w.server] == runs {
			t.Errorf("%s as %s on %s, built %v: refused %v, and it can run: %v", w.server, side, name, built,
				faults[w.server], runs)
		}
	}
}

// What run says of a missing or an old emulator, check says before.
func TestCheckLooksForTheEmulator(t *testing.T) {
	b := bed(t)
	empty := t.TempDir()
	old := t.TempDir()
	for _, program := range []string{"qemu-arm", "qemu-system-arm"} {
		kerneltest.WriteProgram(t, filepath.Join(old, program), "#!/bin/sh\necho 'QEMU emulator version 5.2.0'\n")
	}
	for _, tt := range []struct{ path, device, want string }{
		{empty, "cortex-a7", "device cortex-a7: qemu-system-arm is missing; run: apt-get install qemu-system-arm"},
		{old, "cortex-a7", "is QEMU 5.2; edgegauge needs 7.1 or newer"},
		{empty, "instructions-armv5", "device instructions-armv5: qemu-arm is missing; run: apt-get install qemu-user"},
		{old, "instructions-armv5", "is QEMU 5.2; edgegauge needs 6.2 or newer"},
	} {
		t.Setenv("PATH", tt.path)
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+
			"design: {replications: 1}\nserver: {device: "+tt.device+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if found := fmt.Sprint(b.Obstacles(t.Context(), p)); !strings.Contains(found, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.device, found, tt.want)
		}
		k, _ := b.KindOf(tt.device)
		found, err := k.Fitness(t.Context(), b, tt.device)
		if err != nil || !slices.ContainsFunc(found, func(f device.Finding) bool {
			return f.Bad && strings.Contains(f.Do, tt.want[strings.LastIndex(tt.want, ": ")+1:])
		}) {
			t.Errorf("%s: devices check finds %+v, %v", tt.device, found, err)
		}
	}
}

// A folder is named where a file is to be put into it.
func TestTheFolderOfAGuestsProgramIsNamed(t *testing.T) {
	b := New(Options{Exe: "/usr/bin/edgegauge"})
	for want, g := range map[string]guestProgram{"edgegauge-linux-armv5": {"arm", "5", true},
		"edgegauge-board-arm5": {"arm", "5", false}} {
		if err := b.guestAtHand("arm9-200", g); err == nil ||
			!strings.Contains(err.Error(), "put "+want+" into /usr/bin, or") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A network card is said to be there only if the wire to a machine can be made.
func TestFitnessTriesTheWire(t *testing.T) {
	b := bed(t)
	b.Exe = "/no/such/edgegauge" // so no link can be made, by root or by an ordinary user
	found, err := fitnessMachine(t.Context(), b, "cortex-a7")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.What == "network" && f.Do == "" {
			t.Errorf("got %+v", f)
		}
	}
}
