package device

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Machines as their files say they are, and what is found of each.
func TestFitness(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	quiet := fstest.MapFS{
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            file("performance"),
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":            file("performance"),
		"sys/devices/platform/soc/soc:firmware/get_throttled":             file("0"),
		"sys/class/thermal/thermal_zone0/temp":                            file("48312"),
		"sys/devices/system/clocksource/clocksource0/current_clocksource": file("arch_sys_counter"),
		"proc/loadavg": file("0.10 0.1 0.1 1/100 1"),
		"proc/stat":    file("cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5"),
		"proc/meminfo": file("MemTotal: 448564 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB"),
	}
	for _, tt := range []struct {
		what, file, text string
		finding          string
		says, do         string
		bad              bool
	}{
		{"one core's governor moves", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "ondemand", "governor",
			"ondemand", "echo performance", false},
		{"a weak supply now", "sys/devices/platform/soc/soc:firmware/get_throttled", "50005", "throttling",
			"now: under-voltage, throttled", "stronger power supply", true},
		{"a weak supply before", "sys/devices/platform/soc/soc:firmware/get_throttled", "50000", "throttling",
			"since boot: under-voltage, throttled", "reboot", false},
		{"a hot board", "sys/class/thermal/thermal_zone0/temp", "81000", "temperature", "81 °C", "heat sink", false},
		{"a slow clock", "sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm", "clock source",
			"acpi_pm", "slow or coarse", false},
		{"no clock", "sys/devices/system/clocksource/clocksource0/current_clocksource", "jiffies", "clock source", "jiffies",
			"slow or coarse", true},
		{"another's work", "proc/loadavg", "1.50 1 1 1/100 1", "load", "1.50 in the last minute, on 2 CPUs",
			"stop other programs", false},
		{"swap", "proc/meminfo", "SwapTotal: 102396 kB\nSwapFree: 51200 kB", "swap", "99 MiB, 49 in use", "swapoff", false},
	} {
		root := fstest.MapFS{}
		for n, f := range quiet {
			root[n] = f
		}
		root[tt.file] = file(tt.text)
		for _, f := range CheckFitness(root) {
			if f.What != tt.finding {
				if f.Do != "" || f.Bad {
					t.Errorf("%s: also found %+v", tt.what, f)
				}
				continue
			}
			if !strings.Contains(f.Says, tt.says) || !strings.Contains(f.Do, tt.do) || f.Bad != tt.bad {
				t.Errorf("%s: got %+v", tt.what, f)
			}
		}
	}
	for _, f := range CheckFitness(quiet) {
		if f.Do != "" || f.Bad || f.Says == "" || f.Unknown {
			t.Errorf("a quiet board: got %+v", f)
		}
	}
	for _, f := range CheckFitness(fstest.MapFS{}) {
		if f.Bad || f.Says == "" || f.Unknown != strings.Contains(f.Says, "does not report it") {
			t.Errorf("a kernel that tells nothing: got %+v", f)
		}
	}
}
