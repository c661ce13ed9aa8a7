package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A sensor that a trial could not read is refused before the first one: one of which no stack makes a temperature, and
// one that is to be simulated where nothing can.
func TestSensorsThatCannotBeRead(t *testing.T) {
	b := bed(t)
	w1 := filepath.Join(t.TempDir(), "w1_slave") // the file itself
	if err := os.WriteFile(w1, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"temp1_input", "in_temp_raw", "in_temp_scale"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("20000\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	const counted = "time: instructions\nclient: cortex-a53\nserver: cortex-a53\nrequests: 5\n"
	for _, x := range []struct{ study, want string }{
		{"sensor: fixed:21.5", ""},
		{"sensor: fixed:warm", `4:9: sensor fixed:warm: "warm" is not a temperature; write fixed:21.5`},
		{"sensor: fixed:.nan", "is not a temperature"},
		{"factors: {sensor: [simulated, 'w1:28-none']}", "sensor w1:28-none: stat /sys/bus/w1/devices/28-none"},
		{"sensor: 'w1:" + w1 + "'", ""},
		{"sensor: 'w1:/none/w1_slave'", "sensor w1:/none/w1_slave: stat /none/w1_slave: no such file"},
		{"service: monitor\nsensor: fixed:warm", ""}, // it reads none
		{counted, "with time: instructions no sensor is simulated; write sensor: fixed:21.5"},
		{counted + "sensor: fixed:20", ""},
		{"server: {device: 'ssh://pi@board'}\nsensor: simulated", ""},
		{"server: {device: 'ssh://pi@board'}\nsensor: simulated:avr", "device ssh://pi@board cannot run the simulator that " +
			"is built on this machine; write sensor: simulated:go"},
		{"server: {device: instructions-arm64}\nsensor: simulated:avr", "device instructions-arm64 cannot run"},
		{"server: {device: arm9-200}", "its kernel has no pseudo terminals"},
		{"server: {device: cortex-a53}\nsensor: w1:28-0", "s.yaml:5:9: sensor w1:28-0: device cortex-a53 has no such " +
			"sensor; write sensor: fixed:21.5"},
		{"server: {device: cortex-a53/icount}\nsensor: 'hwmon:/proc/self'", "device cortex-a53/icount has no such sensor"},
		{"server: {device: cortex-a53}\nsensor: 'iio:/proc/self'", "device cortex-a53 has no such sensor"},
		{"server: {device: cortex-a53}\nsensor: 'serial:/dev/null'", "device cortex-a53 has no such sensor"},
		{"server: {device: cortex-a53}\nsensor: 'program:echo 20'", "device cortex-a53 has no such sensor"},
		{counted + "sensor: w1:28-0", "device cortex-a53 has no such sensor"},
		{"factors: {server.device: [local, cortex-a53]}\nsensor: 'hwmon:" + folder + "'", "exclude: [{server.device: " +
			"cortex-a53}]"},
		{"server: {device: cortex-a53}\nsensor: fixed:20", ""},
		{"client: {device: cortex-a53}\nsensor: 'hwmon:" + folder + "'", ""},

		{"sensor: fixed:-274", "4:9: sensor fixed:-274: temperature is -274.00 °C, out of any sensor's range; write fixed:21.5"},
		{"sensor: fixed:-273.15", ""},
		{"sensor: fixed:1e4", "out of any sensor's range"},
		{"sensor: 'hwmon:" + folder + "/temp1_input'", ""},
		{"sensor: 'iio:" + folder + "'", ""},
		{"sensor: 'hwmon:/tmp'", "sensor hwmon:/tmp: stat /tmp/temp1_input: no such file"},
		{"sensor: 'iio:/tmp'", "sensor iio:/tmp: stat /tmp/in_temp_raw: no such file"},
		{"sensor: 'hwmon:" + pipe + "'", pipe + " is no file"},
		{"sensor: 'w1:/tmp'", "/tmp is no file"},
		{"sensor: 'serial:/dev/null'", "sensor serial:/dev/null: /dev/null is not a serial port; connect it"},
		{"sensor: 'serial:/etc/passwd'", "/etc/passwd is not a serial port"},
		{"sensor: 'serial:" + pipe + "'", "is not a serial port"},
		{"sensor: 'serial:/dev/ptmx'", ""},                          // as terminals go
		{"server: {device: 'ssh://pi@board'}\nsensor: w1:28-0", ""}, // it may have one
	} {
		text := "study: s\nstack: coap-cbor\n"
		if !strings.Contains(x.study, "service:") {
			text += "service: temperature\n"
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.openSensors()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
