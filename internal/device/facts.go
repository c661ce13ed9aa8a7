package device

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Facts is what a machine is: kept with every result, so that unlike machines
// are never compared unawares. An empty field could not be read.
type Facts struct {
	Model       string   `json:"model"`            // of the machine, or of its CPU
	Arch        string   `json:"arch"`             // as Go names it, such as arm64
	Kernel      string   `json:"kernel"`           // its release
	OS          string   `json:"os"`               // name and version of the distribution
	CPUs        int      `json:"cpus"`             // that programs may use
	MemoryB     int64    `json:"memory_B"`         // B
	SwapB       int64    `json:"swap_B"`           // B
	Governor    string   `json:"governor"`         // of the frequency of CPU 0
	ClockSource string   `json:"clock_source"`     // the kernel's, such as tsc
	Load        float64  `json:"load"`             // of the last minute, when the run began
	Doubts      []string `json:"doubts,omitempty"` // what makes its figures less sure, in sentences
	// Emulation is what an emulated machine is made of: the mode, the unit of its
	// time, QEMU's version and command line, versions and checksums.
	Emulation map[string]string `json:"emulation,omitempty"`
	// Agent is the program that was sent there; nil where none was.
	Agent *Sent `json:"agent,omitempty"`
}

// Sent is a program that was sent to a device.
type Sent struct {
	File   string `json:"file"`   // its name here
	SizeB  int64  `json:"size_B"` // B
	SHA256 string `json:"sha256"` // in hex
	Why    string `json:"why"`    // this one and not another
}

// Facts reads them from /proc and /sys.
func (Local) Facts(context.Context) (Facts, error) { return readFacts(os.DirFS("/")) }

func readFacts(root fs.FS) (Facts, error) {
	text := func(name string) string {
		b, _ := fs.ReadFile(root, name)
		return strings.TrimRight(strings.TrimSpace(string(b)), "\x00")
	}
	f := Facts{Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	f.Model = text("proc/device-tree/model")
	if f.Model == "" {
		f.Model = field(text("proc/cpuinfo"), "model name", ":")
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
	}
	f.OS = strings.Trim(field(text("etc/os-release"), "PRETTY_NAME", "="), `"`)
	f.MemoryB = kib(text("proc/meminfo"), "MemTotal")
	f.SwapB = kib(text("proc/meminfo"), "SwapTotal")
	f.Governor = text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	f.ClockSource = text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	if l := strings.Fields(text("proc/loadavg")); len(l) > 0 {
		f.Load, _ = strconv.ParseFloat(l[0], 64)
	}
	f.Doubts = f.doubts()
	return f, nil
}

// doubts are the reasons not to trust timings taken on this machine.
func (f Facts) doubts() []string {
	var d []string
	if f.Governor != "" && f.Governor != "performance" {
		d = append(d, "CPU frequency governor is "+f.Governor+", not performance: clock rates change with load")
	}
	if f.Load > 0.5*float64(f.CPUs) {
		d = append(d, "load was "+strconv.FormatFloat(f.Load, 'f', 1, 64)+
			" when the run began: other programs use this machine")
	}
	if f.ClockSource == "hpet" || f.ClockSource == "acpi_pm" {
		d = append(d, "clock source "+f.ClockSource+" is slow to read")
	}
	return d
}

func field(text, key, sep string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func kib(meminfo, key string) int64 {
	f := strings.Fields(field(meminfo, key, ":"))
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(f[0], 10, 64)
	return n * 1024
}
