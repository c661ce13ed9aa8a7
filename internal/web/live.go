package web

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// NoticeName is the name of the notice that a lab keeps of what it does (kernel.Notice).
const NoticeName = "edgegauge-lab"

// A LabNotice is what a lab does now, as JSON in its notice.
type LabNotice struct {
	Step  string                   `json:"step,omitempty"`  // of the trial, in words
	Watts map[measure.Side]float64 `json:"watts,omitempty"` // the mean power of the last half second
	At    int64                    `json:"at,omitempty"`    // when Watts was told last, in ms since 1970
	Beat  int64                    `json:"beat,omitempty"`  // when the lab ran last, likewise, to within BeatEvery
	// Devices is how the devices of the current trial are; nil: it has none, or they wait.
	Devices *population.State `json:"devices,omitempty"`
	// Benches are those that share the study, MoreBenches how many are not listed.
	Benches     []fleet.BenchState `json:"benches,omitempty"`
	MoreBenches int                `json:"more_benches,omitempty"`
}

// A liveRow is a figure of a running trial, with its last values.
type liveRow struct {
	Name, Value string
	Points      string // of the last minute, as an SVG's polyline has them
}

// A labCourse follows one running lab.
type labCourse struct {
	cpu   []float64 // busy CPUs of the machine
	watts map[measure.Side][]float64
	told  int64
	// of the current trial's devices, the newest last
	devices []population.State
}

// How many values are drawn, and how old a power may be.
const (
	mostPoints = 60
	tooOld     = 3 * time.Second
)

// BeatEvery is how often a lab says that it runs.
const BeatEvery = time.Second

// silent says for how long a lab has not run, if it tells that at all; empty: it runs.
func (n LabNotice) silent(now time.Time) string {
	age := now.Sub(time.UnixMilli(n.Beat))
	if n.Beat == 0 || age <= tooOld+BeatEvery {
		return ""
	}
	return fmt.Sprintf("Nothing has been heard of its lab for %s: a signal or a pause stopped it, or it gets no CPU. "+
		"What stands here is as it was then; it goes on, or stops if it was told to, once it runs again.",
		study.DurationText(age.Truncate(time.Second)))
}

// renew reads what the lab of a place says.
func (c *labCourse) renew(p place, busy float64) (n LabNotice) {
	if busy >= 0 {
		c.cpu = last(append(c.cpu, busy))
	}
	lab, err := store.Writer(p.path())
	if err != nil {
		return n
	}
	defer lab.Release()
	b, err := kernel.ReadNotice(lab.Pid, NoticeName)
	if err != nil || json.Unmarshal(b, &n) != nil {
		return LabNotice{}
	}
	if time.Since(time.UnixMilli(n.At)) > tooOld {
		c.watts = nil
	} else if n.At != c.told {
		c.told = n.At
		if c.watts == nil {
			c.watts = map[measure.Side][]float64{}
		}
		for side, w := range n.Watts {
			c.watts[side] = last(append(c.watts[side], w))
		}
	}
	switch k := len(c.devices); {
	case n.Devices == nil:
		c.devices = nil
	case k == 0 || c.devices[k-1] != *n.Devices:
		c.devices = last(append(c.devices, *n.Devices))
	}
	return n
}

func last[T any](points []T) []T { return points[max(0, len(points)-mostPoints):] }

// ofDevices are the figures of the devices of a trial.
func (c *labCourse) ofDevices() []liveRow {
	if len(c.devices) == 0 {
		return nil
	}
	course := func(of func(population.State) float64) string {
		var p []float64
		for _, s := range c.devices {
			p = append(p, of(s))
		}
		return polyline(p)
	}
	s := c.devices[len(c.devices)-1]
	return []liveRow{
		{"devices up", itoa(s.Devices-s.Down) + " of " + itoa(s.Devices),
			course(func(s population.State) float64 { return float64(s.Devices - s.Down) })},
		{"requests sent", report.Format(s.Rate, "1/s"), course(func(s population.State) float64 { return s.Rate })},
		{"failed requests", strconv.FormatInt(s.Failed, 10) + " of " + strconv.FormatInt(s.Requests, 10),
			course(func(s population.State) float64 { return float64(s.Failed) })},
		{"lateness of the driver, p99", report.Format(s.Lateness.Seconds(), "s"),
			course(func(s population.State) float64 { return s.Lateness.Seconds() })},
	}
}

// rows are what is shown of it.
func (c *labCourse) rows() []liveRow {
	out := c.ofDevices()
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		if p := c.watts[side]; len(p) > 0 {
			out = append(out, liveRow{"power, " + string(side), report.Format(p[len(p)-1], "W"), polyline(p)})
		}
	}
	if p := c.cpu; len(p) > 0 {
		out = append(out, liveRow{"busy CPUs of this machine", strconv.FormatFloat(p[len(p)-1], 'f', 1, 64) + " of " +
			itoa(runtime.NumCPU()), polyline(p)})
	}
	return out
}

// polyline draws values into a box of 60 by 20, from 0 up.
func polyline(values []float64) string {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	for i, v := range values {
		y := 19.0
		if most > 0 {
			y = 19 - 18*max(0, v)/most
		}
		b.WriteString(strconv.Itoa(i+mostPoints-len(values)) + "," + strconv.FormatFloat(y, 'f', 1, 64) + " ")
	}
	return strings.TrimSpace(b.String())
}

// A cpuClock tells how many CPUs were busy since it was asked last.
type cpuClock struct {
	busy float64 // ticks
	at   time.Time
}

// since is -1 where it is not known.
func (c *cpuClock) since() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return -1
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return -1
	}
	busy := 0.0
	for i, x := range f[1:9] { // user nice system idle iowait irq softirq steal
		if v, err := strconv.ParseFloat(x, 64); err == nil && i != 3 && i != 4 {
			busy += v
		}
	}
	const ticks = 100 // a second, on every platform Go runs on
	old := *c
	c.busy, c.at = busy, time.Now()
	if old.at.IsZero() {
		return -1
	}
	return max(0, busy-old.busy) / ticks / c.at.Sub(old.at).Seconds()
}
