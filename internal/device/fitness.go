package device

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A Finding is one thing that decides whether a machine is fit to measure on.
type Finding struct {
	What string `json:"what"`          // what was looked at, in words
	Says string `json:"says"`          // what was found
	Do   string `json:"do,omitempty"`  // what to do about it; empty: it is fit
	Bad  bool   `json:"bad,omitempty"` // figures taken so are wrong, not only noisy
	// Unknown: the machine does not tell, so that nobody knows whether it is fit.
	Unknown bool `json:"unknown,omitempty"`
}

const unreported = "this kernel does not report it"

// CheckFitness looks at the machine whose root is given.
func CheckFitness(root fs.FS) []Finding {
	m := machine{root}
	return []Finding{m.governor(), m.throttling(), m.temperature(), m.clockSource(), m.load(), m.swap()}
}

// A machine is looked at through its files.
type machine struct{ root fs.FS }

func (m machine) text(name string) string {
	b, _ := fs.ReadFile(m.root, name)
	return strings.TrimSpace(string(b))
}

func (m machine) number(name string) (float64, bool) {
	x, err := strconv.ParseFloat(m.text(name), 64)
	return x, err == nil
}

func (m machine) governor() Finding {
	f := Finding{What: "governor"}
	all, _ := fs.Glob(m.root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	for _, name := range all {
		if g := m.text(name); g != "performance" {
			f.Says = g + ": clock rates change with load"
			f.Do = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
			return f
		}
	}
	f.Says = "performance"
	if len(all) == 0 {
		f.Says = "none: the kernel does not change clock rates here"
	}
	return f
}

// Bits of a Raspberry Pi's get_throttled (vcgencmd): now, and since boot 16 higher.
var throttleBits = []struct {
	bit  uint
	says string
}{{0, "under-voltage"}, {1, "frequency capped"}, {2, "throttled"}, {3, "soft temperature limit"}}

// throttling reads what the firmware of a Raspberry Pi tells its kernel; other
// machines count it for each core.
func (m machine) throttling() Finding {
	f := Finding{What: "throttling", Says: "none seen"}
	for _, name := range []string{"sys/devices/platform/soc/soc:firmware/get_throttled",
		"sys/devices/platform/soc/soc:firmware/raspberrypi-hwmon/get_throttled"} {
		bits, err := strconv.ParseUint(strings.TrimPrefix(m.text(name), "0x"), 16, 32)
		if err != nil {
			continue
		}
		var now, before []string
		for _, t := range throttleBits {
			if bits>>t.bit&1 == 1 {
				now = append(now, t.says)
			} else if bits>>(t.bit+16)&1 == 1 {
				before = append(before, t.says)
			}
		}
		switch {
		case len(now) > 0:
			f.Says, f.Do, f.Bad = "now: "+strings.Join(now, ", "), "use a stronger power supply and a heat sink", true
		case len(before) > 0:
			f.Says, f.Do = "since boot: "+strings.Join(before, ", "), "use a stronger power supply and a heat sink, and reboot"
		}
		return f
	}
	alarms, _ := fs.Glob(m.root, "sys/class/hwmon/hwmon*/in0_lcrit_alarm") // rpi_volt
	for _, name := range alarms {
		if m.text(name) == "1" {
			f.Says, f.Do, f.Bad = "under-voltage", "use a stronger power supply", true
			return f
		}
	}
	counts, _ := fs.Glob(m.root, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
	for _, name := range counts {
		if n, ok := m.number(name); ok && n > 0 {
			f.Says, f.Do = fmt.Sprintf("a core was throttled %.0f times since boot", n), "cool it, and reboot"
			return f
		}
	}
	if len(alarms)+len(counts) == 0 {
		f.Unknown = true
		f.Says = unreported + "; on a Raspberry Pi: vcgencmd get_throttled"
	}
	return f
}

// hot is where small boards begin to throttle: 80 °C of the Raspberry Pi's.
const hot = 75.0

func (m machine) temperature() Finding {
	f := Finding{What: "temperature", Says: unreported, Unknown: true}
	zones, _ := fs.Glob(m.root, "sys/class/thermal/thermal_zone*/temp")
	warmest, seen := 0.0, false
	for _, z := range zones {
		if t, ok := m.number(z); ok {
			warmest, seen = max(warmest, t/1000), true
		}
	}
	if seen {
		f.Unknown = false
		f.Says = fmt.Sprintf("%.0f °C", warmest)
	}
	if warmest > hot {
		f.Do = "let it cool, or give it a heat sink: it is about to throttle"
	}
	return f
}

func (m machine) clockSource() Finding {
	c := m.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	f := Finding{What: "clock source", Says: c}
	switch c {
	case "":
		f.Says, f.Unknown = unreported, true
	case "hpet", "acpi_pm", "jiffies", "refined-jiffies":
		f.Do = "reading it is slow or coarse; if available_clocksource lists another, write that to current_clocksource"
		f.Bad = strings.Contains(c, "jiffies")
	}
	return f
}

func (m machine) load() Finding {
	words := strings.Fields(m.text("proc/loadavg"))
	if len(words) == 0 {
		return Finding{What: "load", Says: unreported, Unknown: true}
	}
	f := Finding{What: "load"}
	load, _ := strconv.ParseFloat(words[0], 64)
	cpus := max(1, strings.Count(m.text("proc/stat"), "\ncpu")) // a line for all, then one each
	f.Says = fmt.Sprintf("%.2f in the last minute, on %d CPUs", load, cpus)
	if load > 0.5*float64(cpus) {
		f.Do = "stop other programs there: top lists them"
	}
	return f
}

func (m machine) swap() Finding {
	info := m.text("proc/meminfo")
	total, free := kib(info, "SwapTotal"), kib(info, "SwapFree")
	f := Finding{What: "swap", Says: "none"}
	if total > 0 {
		f.Says = fmt.Sprintf("%d MiB, %d in use", total>>20, (total-free)>>20)
		f.Do = "sudo swapoff -a: reading a page back from a card takes milliseconds"
	}
	return f
}
