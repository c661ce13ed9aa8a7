// Package qemu is emulated machines as devices: it makes what they need of
// Debian packages, boots them, and runs programs in them. It does not know what
// the programs do.
package qemu

import (
	"fmt"
	"slices"
)

// A Board is a machine that can be emulated.
type Board struct {
	Name, Title string
	Program     string // QEMU's, of the architecture
	Machine     string // -M
	CPU         string // -cpu
	MemoryMiB   int
	// KernelMiB is what of it the kernel keeps for itself before it unpacks anything: "Memory: …K/…K available" among
	// its first lines. No image depends on it.
	KernelMiB int    `json:"-"`
	Debian    string // the architecture in Debian's words
	GOARCH    string
	GOARM     string
	Kernel    Kernel
	// Shift makes an instruction take 2^Shift ns of the guest's time (-icount).
	Shift int
	// Clock is declared in the device tree in place of the board's own, so that the
	// guest believes that less time has passed; only where nobody outside the guest
	// compares clocks. Zero: the board's own is left.
	Clock Clock
	// Flash says that the board has the flash of flash.go.
	Flash bool
	// RootInFlash: its root file system lies there, since it has no memory to spare.
	RootInFlash bool
}

// A Clock is a fixed clock of the device tree.
type Clock struct {
	Node     string // its path, from the root, such as /xtal24mhz@24M
	Property string
	Hertz    uint32 // declared
	True     uint32 // what QEMU makes of it
}

// A Kernel says where a board's kernel comes from.
type Kernel struct {
	Package string // Debian's, by a pattern with one number of its ABI, such as linux-image-6.1.0-*-armmp
	// Modules are loaded before anything else, what they need before them.
	Modules []string
	// Own is the configuration to compile linux-source with; empty: Package is used.
	Own string
	DTB string // the device tree that goes with it, by its file name; empty: QEMU makes one
}

// MIPS is how many million instructions are a second of the guest's time.
func (b Board) MIPS() float64 { return 1000 / float64(int(1)<<b.Shift) * b.Clock.factor() }

// factor is how much slower than QEMU's the guest's clock runs.
func (c Clock) factor() float64 {
	if c.Hertz == 0 {
		return 1
	}
	return float64(c.Hertz) / float64(c.True)
}

// Model says in words what the guest's time is.
func (b Board) Model() string {
	return fmt.Sprintf("counted instructions at %.4g million a second, %s", b.MIPS(), b.Name)
}

// virtModules give a virt machine its channel and its network card.
var virtModules = []string{"virtio_mmio", "virtio_console", "failover", "net_failover", "virtio_net"}

// Boards are all of them.
func Boards() []Board {
	versatile := Board{
		Program: "qemu-system-arm", Machine: "versatilepb", Debian: "armel", GOARCH: "arm",
		Kernel: Kernel{DTB: "versatile-pb.dtb"}, Flash: true,
	}
	pi := versatile
	pi.Name, pi.Title = "raspberry-pi-1",
		"ARM1176 with 256 MiB at 697.95 BogoMIPS, as the published emulation of a Raspberry Pi 1"
	pi.CPU, pi.MemoryMiB, pi.GOARM, pi.Kernel.Own, pi.Shift = "arm1176", 256, "6", "versatile-v6", 1
	pi.KernelMiB = 8
	pi.Clock = Clock{Node: "/xtal24mhz@24M", Property: "clock-frequency", Hertz: 33_600_000, True: 24_000_000}
	arm9 := versatile
	arm9.Name, arm9.Title = "arm9-200", "ARM926 with 64 MiB at 125 million instructions a second, for a core of 200 MHz"
	arm9.CPU, arm9.MemoryMiB, arm9.GOARM, arm9.Kernel.Own, arm9.Shift = "arm926", 64, "5", "versatile-v5", 3
	arm9.KernelMiB, arm9.RootInFlash = 6, true
	return []Board{pi, arm9,
		{
			Name: "cortex-a7", Title: "Cortex-A7 with 256 MiB at 500 million instructions a second",
			Program: "qemu-system-arm", Machine: "virt", CPU: "cortex-a7", MemoryMiB: 256, KernelMiB: 39, Debian: "armhf",
			GOARCH: "arm", GOARM: "7",
			Kernel: Kernel{Package: "linux-image-6.1.0-*-armmp", Modules: virtModules}, Shift: 1,
		}, {
			Name: "cortex-a53", Title: "Cortex-A53 with 512 MiB at 1000 million instructions a second",
			Program: "qemu-system-aarch64", Machine: "virt", CPU: "cortex-a53", MemoryMiB: 512, KernelMiB: 107,
			Debian: "arm64", GOARCH: "arm64",
			Kernel: Kernel{Package: "linux-image-6.1.0-*-arm64", Modules: virtModules}, Shift: 0,
		}}
}

// PacedSuffix after a board's name asks for the mode Paced where it would be Free.
const PacedSuffix = "/icount"

// Find finds a board by name.
func Find(name string) (Board, bool) {
	all := Boards()
	i := slices.IndexFunc(all, func(b Board) bool { return b.Name == name })
	if i < 0 {
		return Board{}, false
	}
	return all[i], true
}

// A Mode is how a guest's time relates to the world's. Figures of the first are
// never set beside those of the others.
type Mode string

const (
	// Deterministic: time is counted instructions, idle time is skipped, nothing
	// outside reaches the guest, and equal boots are equal to the nanosecond.
	Deterministic Mode = "deterministic"
	// Free: the guest's clock is this machine's, and the guest computes as fast as
	// this machine emulates: others can speak with it.
	Free Mode = "free"
	// Paced: computing takes its time in counted instructions, waiting this
	// machine's time. QEMU loses up to a millisecond of each wait, so only figures
	// without waits are good: phases inside the stack, CPU time.
	Paced Mode = "paced"
)

// argv is QEMU's command line. Every word of it can change a deterministic
// guest's figures, so all of it is kept with them; files go by the names they
// have in the machine's folder, which is where QEMU runs. Java says that its runtime
// is among the files that the kernel unpacks.
func (b Board) argv(m Mode, java bool, seed uint64, extra ...string) []string {
	machine := b.Machine
	if machine == "virt" {
		machine += ",dtb-randomness=off"
	}
	a := []string{b.Program, "-M", machine, "-cpu", b.CPU, "-m", fmt.Sprint(b.MemoryMiB), "-display", "none",
		"-monitor", "none",
		"-no-reboot", "-serial", "file:" + consoleFile, "-qmp", "unix:" + monitorFile + ",server=on,wait=off",
		"-seed", fmt.Sprint(seed % (1 << 32)), "-rtc", "base=2020-01-01,clock=vm", "-kernel", kernelFile}
	if !b.RootInFlash {
		a = append(a, "-initrd", initrdFile)
	}
	if b.Kernel.DTB != "" {
		a = append(a, "-dtb", dtbFile, "-audiodev", "none,id=a")
	}
	switch m {
	case Deterministic:
		a = append(a, "-icount", fmt.Sprintf("shift=%d,sleep=off", b.Shift), "-nic", "none")
	case Paced:
		a = append(a, "-icount", fmt.Sprintf("shift=%d,sleep=on", b.Shift))
	}
	words := "console=ttyAMA0 panic=-1 quiet"
	if b.RootInFlash {
		words += " root=/dev/mtdblock0 rootfstype=squashfs ro init=/init"
	}
	if java { // a tmpfs would have half of the memory only
		words += " rootfstype=ramfs"
	}
	a = append(a, "-append", words)
	return append(a, extra...)
}

// Names of the files in a machine's folder.
const (
	kernelFile  = "kernel"
	dtbFile     = "board.dtb"
	initrdFile  = "initrd"
	consoleFile = "console.log"
	monitorFile = "monitor"
)
