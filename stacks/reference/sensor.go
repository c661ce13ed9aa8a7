package reference

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/service"
)

// A thermometer is a sensor of the kind its name begins with.
type thermometer struct {
	read  func() (hundredths int64, err error)
	close func()
}

// openSensor opens what "sensor" names (stacks/PROTOCOL.md). What is absent is told
// by the first reading: it may be plugged in later.
func openSensor(name string) (thermometer, error) {
	how, what, _ := strings.Cut(name, ":")
	t := thermometer{close: func() {}}
	var line *sensorLine
	switch how {
	case "fixed":
		hundredths, err := fixedSensor(what)
		t.read = func() (int64, error) { return hundredths, nil }
		return t, err
	case "hwmon":
		t.read = func() (int64, error) { return readHwmon(what) }
		return t, nil
	case "iio":
		t.read = func() (int64, error) { return readIIO(what) }
		return t, nil
	case "w1":
		t.read = func() (int64, error) { return readW1(what) }
		return t, nil
	case "serial":
		line = &sensorLine{what: what, dial: openSerial}
	case "program":
		line = &sensorLine{what: what, dial: runProgram}
	default:
		return t,
			fmt.Errorf("unknown sensor %q; supported: fixed:CELSIUS, hwmon:PATH, iio:PATH, w1:ID, serial:DEVICE, "+
				"program:COMMAND",
				name)
	}
	return thermometer{line.read, line.end}, nil
}

// CheckSensor says what is wrong with the name of a sensor, as far as it is known without opening it.
func CheckSensor(name string) error {
	_, err := openSensor(name)
	return err
}

func fixedSensor(what string) (int64, error) {
	v, err := strconv.ParseFloat(what, 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 1e6 {
		return 0, fmt.Errorf("sensor fixed:%s: %q is not a temperature; write fixed:21.5", what, what)
	}
	hundredths := int64(math.Round(v * 100))
	if err := service.CheckCelsius(hundredths); err != nil {
		return 0, fmt.Errorf("sensor fixed:%s: %w; write fixed:21.5", what, err)
	}
	return hundredths, nil
}

// readHwmon reads a file of millidegrees, or that of its folder (Linux,
// Documentation/hwmon/sysfs-interface).
func readHwmon(path string) (int64, error) {
	if fi, err := os.Stat(path); err == nil && fi.IsDir() {
		path = filepath.Join(path, "temp1_input")
	}
	milli, err := readNumber(path)
	return fromMilli(milli), err
}

// readIIO reads in_temp_input, or (raw + offset) × scale, all of millidegrees
// (Linux, Documentation/ABI/testing/sysfs-bus-iio).
func readIIO(folder string) (int64, error) {
	milli, err := readNumber(filepath.Join(folder, "in_temp_input"))
	if !errors.Is(err, os.ErrNotExist) {
		return fromMilli(milli), err
	}
	raw, err := readNumber(filepath.Join(folder, "in_temp_raw"))
	if err != nil {
		return 0, err
	}
	scale, err := readNumber(filepath.Join(folder, "in_temp_scale"))
	if err != nil {
		return 0, err
	}
	offset, err := readNumber(filepath.Join(folder, "in_temp_offset"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	return fromMilli((raw + offset) * scale), nil
}

// readW1 reads a DS18B20: the first line ends in YES if its check sum is right,
// the second in t=MILLIDEGREES (Linux, Documentation/w1/slaves/w1_therm.rst).
func readW1(id string) (int64, error) {
	path := id
	if !strings.Contains(id, "/") {
		path = filepath.Join("/sys/bus/w1/devices", id, "w1_slave")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	first, second, _ := strings.Cut(string(b), "\n")
	_, text, ok := strings.Cut(second, "t=")
	milli, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !strings.HasSuffix(strings.TrimSpace(first), "YES") || !ok || err != nil {
		return 0, fmt.Errorf("%s: its checksum is wrong, or it is not a thermometer", path)
	}
	return fromMilli(milli), nil
}

func readNumber(path string) (float64, error) {
	v, err := kernel.ReadNumberAt(path, 1)
	switch {
	case err != nil:
		return 0, err
	case math.Abs(v) > 1e9:
		return 0, fmt.Errorf("%s: %g is out of any sensor's range", path, v)
	}
	return v, nil
}

func fromMilli(milli float64) int64 { return int64(math.Round(milli / 10)) }
