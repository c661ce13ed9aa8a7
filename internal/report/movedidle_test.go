package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Of a base that stays, or moves evenly, the interval of the energy holds; where it moves in all trials in another way,
// the interval does not tell, and the report says so. What the error of the base cannot change is not said.
func TestMovedIdleIsSaidWhereIntervalsDoNotTell(t *testing.T) {
	const long = 5 // s
	type shape = func(s float64) float64
	for _, x := range []struct {
		what         string
		base         func(chance float64) shape
		covers       float64 // share of studies whose interval holds the truth, at least
		least, often float64 // share of studies that say it
	}{
		{"stays", func(float64) shape { return func(float64) float64 { return 2 } }, 0.9, 0, 0.02},
		{"rises by 0.05 % a second", func(float64) shape { return func(s float64) float64 { return 2 + 0.001*s } }, 0.9, 0,
			0.02},
		{"rises by 4 % a second", func(float64) shape { return func(s float64) float64 { return 2 + 0.08*s } }, 0.9, 1, 1},
		{"falls by 4 % a second", func(float64) shape { return func(s float64) float64 { return 2 - 0.08*s } }, 0.9, 1, 1},
		{"wanders", func(chance float64) shape {
			return func(s float64) float64 { return 2 + 0.02*(chance-0.5)*s }
		}, 0.9, 0, 0.1},
		{"steps at any instant", func(chance float64) shape {
			return func(s float64) float64 {
				if s < 8*chance-1.5 {
					return 2
				}
				return 2.1
			}
		}, 0.9, 0.4, 1},
		{"steps a second after the beginning", func(float64) shape {
			return func(s float64) float64 {
				if s < 1 {
					return 2
				}
				return 2.1
			}
		}, 0, 1, 1},
		{"warms up within 3 s", func(float64) shape {
			return func(s float64) float64 { return 2 - 0.2*math.Exp(-(s+3)/3) }
		}, 0, 0.99, 1},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		mean := func(f shape, from, to float64) (sum float64) {
			const parts = 50
			for k := range parts {
				sum += f(from+(to-from)*(float64(k)+0.5)/parts) / parts
			}
			return sum
		}
		const studies, trials, load = 300, 5, 0.3
		covers, said, told := 0, 0, 0
		for range studies {
			var net []float64
			var noted []map[string]float64
			for range trials {
				f := x.base(rng.Float64())
				before, behind := mean(f, -1, 0)+0.0015*rng.NormFloat64(), mean(f, long, long+1)+0.0015*rng.NormFloat64()
				net = append(net, load*long*(1+0.01*rng.NormFloat64())+long*(mean(f, 0, long)-(before+behind)/2))
				noted = append(noted, map[string]float64{"client_idle_moved": long * (behind - before), "requests": 1})
			}
			s, err := stat.Mean(net, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			r := &Report{Treatments: make([]Treatment, 1),
				Cells: []Cell{{Side: measure.Client, Response: "energy", Unit: "J", Mean: s}}}
			r.Study.Design.Confidence = 0.95
			r.doubtEnergy([][]map[string]float64{noted})
			holds := s.Lo <= load*long && load*long <= s.Hi
			if holds {
				covers++
			}
			if len(r.Alarms) > 0 {
				said++
			}
			if holds || len(r.Alarms) > 0 {
				told++
			}
		}
		share := func(n int) float64 { return float64(n) / studies }
		if share(covers) < x.covers || share(said) < x.least || share(said) > x.often || share(told) < 0.9 {
			t.Errorf("a base that %s: %.0f %% of intervals hold the truth, %.0f %% of studies say that it moved, %.0f %% "+
				"either", x.what, 100*share(covers), 100*share(said), 100*share(told))
		}
	}
}

// The sentence says on which side of the run more was used, by how much, and what to do; results of before do not tell.
func TestWhatIsSaidOfMovedIdle(t *testing.T) {
	of := func(half float64, moved ...float64) string {
		r := &Report{Treatments: make([]Treatment, 1), Cells: []Cell{{Side: measure.Server, Response: "energy", Unit: "J",
			Mean: stat.Summary{Center: 0.01, Lo: 0.01 - half, Hi: 0.01 + half}}, {Side: measure.Server, Response: "power"}}}
		r.Study.Design.Confidence = 0.95
		var noted []map[string]float64
		for _, v := range moved {
			noted = append(noted, map[string]float64{"server_idle_moved": v, "server_doubt_idle_moved": 1, "requests": 100})
		}
		if moved == nil {
			noted = []map[string]float64{{"requests": 100}, {"requests": 100}}
		}
		r.doubtEnergy([][]map[string]float64{noted})
		if len(r.Cells[1].Warnings) > 0 {
			t.Errorf("power does not depend on idle power: %v", r.Cells[1].Warnings)
		}
		return strings.Join(r.Alarms, "; ")
	}
	for _, x := range []struct {
		half  float64 // of the interval of the energy, J
		moved []float64
		want  string
	}{
		{1e-4, []float64{0.40, 0.41, 0.39}, "idle power of the server is higher after the runs than before them, by 4.00 mJ over a " +
			"request (mean of 3 trials)"},
		{1e-4, []float64{0.40, 0.41, 0.39}, "off by up to 2.00 mJ in all trials alike"},
		{1e-4, []float64{-0.40, -0.41, -0.39}, "is lower after the runs"},
		{1e-4, []float64{0.40, -0.41, 0.01}, ""}, // by chance
		{1e-4, []float64{0.06, 0.06, 0.061}, "off by up to 302 µJ"},
		{5e-4, []float64{0.06, 0.06, 0.061}, ""}, // less than the interval is wide
		{1e-5, []float64{0.03, 0.03, 0.031}, ""}, // less than 2 %
		{1e-4, []float64{0.4}, ""},
		{1e-4, nil, ""},
	} {
		if got := of(x.half, x.moved...); (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%v: got %q, want %q", x.moved, got, x.want)
		}
	}
}
