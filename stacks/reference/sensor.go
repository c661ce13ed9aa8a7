package reference

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// sensor opens what "sensor" names: fixed:CELSIUS, or hwmon:PATH, a file of
// millidegrees (Linux, Documentation/hwmon/sysfs-interface).
func sensor(name string) (func() (celsius, at int64, err error), error) {
	how, what, _ := strings.Cut(name, ":")
	switch how {
	case "fixed":
		v, err := strconv.ParseFloat(what, 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > 1e6 {
			return nil, fmt.Errorf("sensor %q: %q is not a temperature; write fixed:21.5", name, what)
		}
		hundredths := int64(math.Round(v * 100))
		return func() (int64, int64, error) { return hundredths, time.Now().UnixMilli(), nil }, nil
	case "hwmon":
		return func() (int64, int64, error) {
			b, err := os.ReadFile(what)
			if err != nil {
				return 0, 0, err
			}
			milli, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %q is not a number of millidegrees", what, b)
			}
			return int64(math.Round(float64(milli) / 10)), time.Now().UnixMilli(), nil
		}, nil
	}
	return nil, fmt.Errorf("no sensor %q; there are fixed:CELSIUS and hwmon:PATH", name)
}
