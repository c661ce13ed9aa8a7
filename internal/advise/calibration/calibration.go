// Package calibration says what a real board would do by what an emulated one
// did: it keeps how both compared when the same was run on both, and applies that
// to later runs on the emulated one, or says why it cannot. It measures nothing
// and reads no file.
package calibration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// Format is that of the files; a newer one is refused.
const Format = 1

// A File is one calibration: an emulated machine beside a board.
type File struct {
	Format  int       `yaml:"format"`   // 1
	Name    string    `yaml:"name"`     // of the calibration
	Version int       `yaml:"version"`  // 1, and one more each time it is made anew
	Made    time.Time `yaml:"made"`     // when it was measured
	Board   string    `yaml:"board"`    // what it is, in words
	Reached string    `yaml:"reached"`  // as which device of the study, such as ssh://pi@board
	Device  string    `yaml:"emulated"` // the machine's name
	Facts   Facts     `yaml:"facts"`    // what must be the same later
	Entries []Entry   `yaml:"entries"`  // a row for each response of a side under the same conditions
}

// Facts are what figures on an emulated machine depend on besides the treatment.
type Facts struct {
	Emulation map[string]string `yaml:"emulation"` // device.Facts.Emulation
	Stacks    map[string]string `yaml:"stacks"`    // version and checksums of each
}

// An Entry is one response of one side under the same conditions.
type Entry struct {
	Side     measure.Side      `yaml:"side"`     // client or server
	Response string            `yaml:"response"` // name of a time, such as rtt
	Where    map[string]string `yaml:"where"`    // the conditions: setting → value
	Points   []Point           `yaml:"points"`   // by size
}

// A Point is what was measured with messages of one size: means of trials in
// seconds. The rest is for people: emulated over real, with its 95 % interval.
type Point struct {
	Size     int64     `yaml:"size"`            // B, or elements: Where says which
	Real     []float64 `yaml:"real_s,flow"`     // s, of the board
	Emulated []float64 `yaml:"emulated_s,flow"` // s, of the emulated machine
	Overhead float64   `yaml:"overhead"`        // emulated over real
	Lo       float64   `yaml:"overhead_lo"`     // 95 % interval of Overhead
	Hi       float64   `yaml:"overhead_hi"`     // likewise
}

// A Measured is one response of one side of one treatment of a run.
type Measured struct {
	Side     measure.Side
	Response string
	Setup    *study.Setup
	WarmUp   study.Span
	Trials   []float64 // means in seconds
}

// inside are the responses that a side's machine alone decides: not the link, nor
// the other side.
var inside = []string{"serialization", "deserialization", "processing", "cpu"}

// Device is the device that the side ran on.
func (m Measured) Device() string {
	if m.Side == measure.Server {
		return m.Setup.Server.Device
	}
	return m.Setup.Client.Device
}

// size is the message's, which may lie between two that were calibrated.
func (m Measured) size() int64 {
	if m.Setup.Size > 0 {
		return m.Setup.Size
	}
	return int64(m.Setup.N)
}

// where are the conditions under which overheads are alike: all but the device,
// the size, and how long it was measured.
func (m Measured) where() map[string]string {
	s := m.Setup
	mine, other := s.Client, s.Server
	if m.Side == measure.Server {
		mine, other = other, mine
	}
	w := map[string]string{
		"service": s.Service, "stack": mine.Stack, "encoding": s.Encoding, "security": s.Security, "size in": "elements",
		"warm-up": fmt.Sprint(m.WarmUp), "heap": fmt.Sprint(s.Heap), "concurrency": fmt.Sprint(s.Concurrency),
		"rate": fmt.Sprint(s.Rate, s.Arrival),
	}
	if s.Size > 0 {
		w["size in"] = "B"
	}
	for k, v := range s.Options {
		w["options."+k] = v
	}
	if slices.Contains(inside, m.Response) {
		return w
	}
	maps.Copy(w, map[string]string{
		"the other stack": other.Stack, "the other device": other.Device, "transport": s.Transport,
		"connection": s.Connection, "ip": s.IP, "link": s.Link.Text,
	})
	return w
}

// Write is the file's text.
func (f File) Write() ([]byte, error) {
	text, err := yaml.Marshal(f)
	head := "# How an emulated machine compares with a board. Made by edgegauge devices calibrate; doc/devices.md says " +
		"how it is used.\n"
	return append([]byte(head), text...), err
}

// Read reads a file's text.
func Read(text []byte) (File, error) {
	var f File
	if err := yaml.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("not a calibration file: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch {
	case f.Format > Format:
		return f,
			fmt.Errorf("format %d is unsupported (this edgegauge reads %d); use a newer edgegauge, or recreate the file "+
				"with: edgegauge devices calibrate", f.Format, Format)
	case f.Format < 1 || f.Device == "" || len(f.Entries) == 0:
		return f,
			fmt.Errorf("not a calibration file: format, machine or entries are missing; create it with: edgegauge devices " +
				"calibrate")
	}
	for _, e := range f.Entries {
		if len(e.Points) == 0 || !slices.IsSortedFunc(e.Points,
			func(a, b Point) int { return int(min(max(a.Size-b.Size, -1), 1)) }) {
			return f, fmt.Errorf("%s at the %s: points are missing, or not sorted by size; recreate the calibration",
				e.Response, e.Side)
		}
	}
	return f, nil
}
