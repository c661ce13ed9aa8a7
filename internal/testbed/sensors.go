package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// openSensors says how each simulated sensor of the plan is run. Only service temperature reads one.
func (x *assembly) openSensors() {
	folders := append(installed(x.bed.Exe, "firmware/temperature/build"), "firmware/temperature/build")
	x.lab.Sensors = map[string]sensor.Simulation{}
	for t := range x.treatments() {
		name := t.Setup.Sensor
		if name == "" || t.Setup.Service != string(service.Temperature) {
			continue
		}
		if !sensor.IsSimulated(name) {
			x.seeSensor(t)
			continue
		}
		if why, advice := x.notSimulated(t.Setup); why != "" {
			x.fault(t, why, advice, "sensor", "server.device", "service")
			continue
		}
		if _, done := x.lab.Sensors[name]; done {
			continue
		}
		s, err := sensor.Simulate(name, x.exe, folders)
		if err != nil {
			x.lack(t, "sensor "+name+": "+err.Error(), "name another sensor", "sensor", "service")
			continue
		}
		x.lab.Sensors[name] = s
	}
}

// notSimulated says why the sensor of a treatment cannot be simulated beside its server; empty: it can.
func (x *assembly) notSimulated(s *study.Setup) (why, advice string) {
	name := s.Server.Device
	m, _, machine := findMachine(name)
	switch _, core := device.FindCore(name); {
	case x.plan.Study.Time == study.Instructions:
		return "with time: instructions no sensor is simulated", "write sensor: fixed:21.5"
	case machine && m.Kernel.Own != "":
		return "device " + m.Name + " cannot simulate a sensor: its kernel has no pseudo terminals",
			"write sensor: fixed:21.5, which needs none"
	case s.Sensor == sensor.SimulatedAVR && (core || x.onOther(name)):
		return "device " + name + " cannot run the simulator that is built on this machine", "write sensor: " +
			sensor.SimulatedGo
	}
	return "", ""
}

// seeSensor finds a sensor that no stack takes, or one that this machine or an emulated one does not have. What it says
// is found by reading it.
func (x *assembly) seeSensor(t study.Trial) {
	if err := reference.CheckSensor(t.Setup.Sensor); err != nil {
		x.fault(t, err.Error(), "", "sensor")
		return
	}
	kind, at, _ := strings.Cut(t.Setup.Sensor, ":")
	switch on := t.Setup.Server.Device; {
	case isMachine(x.bed, on) && kind != "fixed": // nothing is connected to it, and it has no shell
		x.fault(t, fmt.Sprintf("sensor %s: device %s has no such sensor", t.Setup.Sensor, on), "write sensor: fixed:21.5",
			"service", "server.device", "sensor")
		return
	case x.onOther(on):
		return
	}
	if kind == "program" && !runs(at) {
		x.lack(t, fmt.Sprintf("sensor %s: there is no such program", t.Setup.Sensor), "install it, or name another", "sensor",
			"service")
	}
	if err := findSensor(kind, at); err != nil {
		x.lack(t, fmt.Sprintf("sensor %s: %v", t.Setup.Sensor, err), "connect it, or name another", "sensor", "service")
	}
}

// findSensor says why a sensor of a file is none, as far as it is known without opening it: boards restart when their
// port is opened, and to open a pipe waits for its other end.
func findSensor(kind, at string) error {
	switch kind {
	case "serial":
		return findPort(at)
	case "hwmon":
		if fi, err := os.Stat(at); err == nil && fi.IsDir() {
			at = filepath.Join(at, "temp1_input")
		}
	case "iio":
		in := filepath.Join(at, "in_temp_input")
		if _, err := os.Stat(in); err == nil {
			return readable(in)
		}
		if err := readable(filepath.Join(at, "in_temp_raw")); err != nil {
			return err
		}
		at = filepath.Join(at, "in_temp_scale")
	case "w1":
		if !strings.Contains(at, "/") { // else a file, as stacks take it
			at = filepath.Join("/sys/bus/w1/devices", at, "w1_slave")
		}
	default:
		return nil
	}
	return readable(at)
}

// readable says why a file cannot be read as that of a sensor.
func readable(path string) error {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s is no file", path)
	}
	if err := unix.Access(path, unix.R_OK); err != nil {
		return &os.PathError{Op: "read", Path: path, Err: err}
	}
	return nil
}

// findPort says why a path is no serial port. The kernel tells which devices are terminals; those that it does not know
// there, as pseudo terminals, may be.
func findPort(path string) error {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	kind := "tty"
	at := fmt.Sprintf("/sys/dev/char/%d:%d/subsystem", unix.Major(s.Rdev), unix.Minor(s.Rdev))
	if of, err := os.Readlink(at); err == nil {
		kind = filepath.Base(of)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFCHR || kind != "tty" {
		return fmt.Errorf("%s is not a serial port", path)
	}
	return nil
}

// plainCommand is one whose first word a shell takes as a program's name.
var plainCommand = lazy.Regexp(`^\s*([A-Za-z0-9_./+-]+)(\s|$)`)

// runs reports whether a command of the shell can begin: where its first word is a name, something has it.
// The command itself is not run, so that it may fail later.
func runs(command string) bool {
	m := plainCommand().FindStringSubmatch(command)
	if m == nil {
		return true
	}
	_, err := exec.LookPath(m[1])
	return err == nil || slices.Contains(ofShell, m[1])
}

// ofShell are words that a shell knows without a program.
var ofShell = strings.Fields(". alias break case cd command continue do eval exec exit export false for getopts " +
	"hash if local printf pwd read readonly return set shift test time times trap true type ulimit umask unset until " +
	"wait while")

// leastReady is what timeouts.ready and timeouts.trial must be at least: no program starts sooner on every machine.
const leastReady = 100 * time.Millisecond

// seeReady finds a time limit that no program keeps to.
func (x *assembly) seeReady() {
	limits := x.plan.Study.Timeouts
	for t := range x.treatments() {
		for i, limit := range []time.Duration{limits.Ready, limits.Trial} {
			if limit < leastReady {
				x.fault(t, fmt.Sprintf("timeouts.%s of %v is shorter than a program takes to start",
					[]string{"ready", "trial"}[i], limit), fmt.Sprintf("write %v or more, 30s for Java", leastReady))
			}
		}
		return
	}
}

// Heaps that no Java VM takes: HotSpot wants 2 MiB, and no program has more than 2^48 B of addresses.
const leastJavaHeap, mostJavaHeap = 2 << 20, 1 << 48

// seeHeap finds a heap with which a program surely does not start.
func (x *assembly) seeHeap() {
	for t := range x.treatments() {
		heap := t.Setup.Heap
		if heap == 0 || heap >= leastJavaHeap && heap <= mostJavaHeap {
			continue
		}
		client, server := x.lab.Stacks[t.Setup.Client.Stack], x.lab.Stacks[t.Setup.Server.Stack]
		for _, p := range []stack.Program{client.Call, server.Serve} {
			if p.Runs("java") && p.TakesHeap() {
				x.fault(t, fmt.Sprintf("heap %s: a Java virtual machine starts with none below %s or above %s",
					study.SizeText(heap), study.SizeText(leastJavaHeap), study.SizeText(mostJavaHeap)),
					"write 64MiB, for example", "heap", "stack")
				break
			}
		}
	}
}

// sensorFacts is what a simulated sensor was.
type sensorFacts struct {
	Says      string            `json:"says"`
	Checksums map[string]string `json:"checksums,omitempty"` // SHA-256 of simulator and firmware
}

func factsOfSensors(sensors map[string]sensor.Simulation) (map[string]sensorFacts, error) {
	if len(sensors) == 0 {
		return nil, nil
	}
	out := map[string]sensorFacts{}
	for name, s := range sensors {
		f := sensorFacts{Says: s.Says, Checksums: map[string]string{}}
		for _, file := range s.AVR {
			sum, err := stack.FileSum(file)
			if err != nil {
				return nil, err
			}
			f.Checksums[filepath.Base(file)] = sum
		}
		out[name] = f
	}
	return out, nil
}
