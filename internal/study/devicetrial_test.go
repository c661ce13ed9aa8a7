package study

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A trial in which devices may not report at all, or meet no outage, is refused where that is to be run.
func TestDevicesThatDoNotReport(t *testing.T) {
	const quiet = "responses: [sent_rate]\n"
	for _, x := range []refusal{
		{"stack: rest\ndevices: 3\nperiod: 1h\nduration: 30s\n", "a.yaml:6:11: of 3 devices with a period of 1h none " +
			"reports within 30s, in 97.5% of the trials; write a longer duration, or take more devices"},
		{"stack: rest\ndevices: 1\nperiod: 60s\n", ""},
		{"stack: rest\ndevices: 1000\nperiod: 60s\nduration: 1s\n", ""},
		{"stack: rest\ndevices: 9\nperiod: 10s\nduration: 5s\n", "in 0.195% of the trials"},
		{"stack: rest\ndevices: 10\nperiod: 10s\nduration: 5s\n", ""},
		{"stack: rest\ndevices: 1\nperiod: 10s\njitter: 50%\n", "of 1 device with a period of 10s none reports within " +
			"10s, in 8.33% of"},
		{"stack: rest\ndevices: 1\nperiod: 10s\njitter: 50%\nduration: 15s\n", ""},
		{"stack: rest\ndevices: 1\nperiod: 10s\nphase: aligned\nduration: 1s\n", ""},
		{"stack: rest\ndevices: 1\nperiod: 10s\nphase: aligned\njitter: 50%\nduration: 1s\n", "in 80% of the trials"},
		{"stack: rest\ndevices: 4\nmix: {a: {share: 50%, period: 1h}, b: {share: 50%, period: 2h}}\nduration: 36s\n",
			"of 4 devices with periods of 1h to 2h none reports within 36s, in 97% of the trials"},
		{"stack: mqtt\ndevices: 2\nperiod: 1h\nobserve: on\nduration: 30s\n", ""},
		{"server: {url: \"http://127.0.0.1/\"}\ndevices: 2\nperiod: 1h\nduration: 30s\n", "of 2 devices with a period of 1h"},
		{"stack: rest\nfactors: {load: [{name: few, devices: 3, period: 1h, duration: 30s}, {name: many, devices: 9000, " +
			"period: 1h, duration: 30s}]}\n", "or exclude: [{load: few}]"},

		{"stack: rest\ndevices: 2\nperiod: 60s\nduration: 90s\noutage: {at: 10s, for: 1s}\n" + quiet, "a.yaml:7:9: the " +
			"outage meets nobody in 96.7% of the trials: none of the devices that it cuts off reports within 1s; write a " +
			"longer outage, or take more devices"},
		{"stack: rest\ndevices: 1000\nperiod: 60s\nduration: 90s\noutage: {at: 10s, for: 29s, share: 0.1%}\n" + quiet,
			"in 51.7% of the trials"},
		{"stack: rest\ndevices: 1000\nperiod: 60s\nduration: 90s\noutage: {at: 10s, for: 31s, share: 0.1%}\n" + quiet, ""},
		{"stack: rest\ndevices: 2\nperiod: 60s\nduration: 90s\nkeepalive: 10s\noutage: {at: 10s, for: 1s}\n" + quiet, ""},
		{"stack: rest\ndevices: 2\nperiod: 60s\nduration: 90s\nphase: aligned\noutage: {at: 10s, for: 1s}\n" + quiet, ""},
	} {
		if strings.HasPrefix(x.text, "stack") {
			x.text = "service: monitor\n" + x.text
		}
		refuses(t, Vocabulary{Stacks: streaming}, x)
	}
}

// The probability that a device reports is that of drawn phases and jitters.
func TestWhetherADeviceReports(t *testing.T) {
	const draws = 100_000
	random := rand.New(rand.NewPCG(7, 7))
	for _, phase := range []string{"random", "aligned"} {
		for _, jitter := range []float64{0, 0.1, 0.5, 1} {
			for _, lasts := range []float64{0.05, 0.3, 0.9, 1, 1.2, 1.7, 2.5} { // in periods
				p := Population{Devices: 1, Phase: phase, Period: time.Minute, Jitter: jitter}
				reported := 0
				for range draws {
					phi := 0.0
					if phase == "random" {
						phi = random.Float64()
					}
					first, before := phi+jitter*random.Float64(), phi-1+jitter*random.Float64()
					if first < lasts || before >= 0 && before < lasts {
						reported++
					}
				}
				within := time.Duration(lasts * float64(time.Minute))
				got := 1 - p.silent(1, func(c Class) float64 { return p.reports(c, within) })
				if want := float64(reported) / draws; math.Abs(got-want) > 0.01 { // six times its standard error
					t.Errorf("%s, jitter %g, %g periods: %g, want %g", phase, jitter, lasts, got, want)
				}
			}
		}
	}
}
