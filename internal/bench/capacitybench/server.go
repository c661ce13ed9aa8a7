// Package capacitybench searches for the capacity of simulated servers, whose truth is
// known, and counts how often the interval that edgegauge gives holds it. It measures nothing.
package capacitybench

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Server is a simulated one, and what disturbs it. Times are in s.
type Server struct {
	Name       string
	Service    func(r *rand.Rand) float64 // time of one request
	Workers    int                        // requests served at once
	Pause      float64                    // of the whole server, once in PauseEvery
	PauseEvery float64
	Bound      float64 // of p99
	Length     float64 // of a trial
	Trial      float64 // standard deviation of the speed of trials, relative
	Block      float64 // the same of blocks
}

// margin conducts a trial: Poisson arrivals at a rate, on a server that is so many times
// as fast as it is named.
func (s Server) margin(r *rand.Rand, rate, speed float64) float64 {
	late := top{}
	free := make([]float64, s.Workers)
	pauseAt := s.PauseEvery * r.Float64()
	for at := r.ExpFloat64() / rate; at < s.Length; at += r.ExpFloat64() / rate {
		k := 0
		for i := range free {
			if free[i] < free[k] {
				k = i
			}
		}
		for s.PauseEvery > 0 && at > pauseAt {
			for i := range free {
				free[i] = max(free[i], pauseAt) + s.Pause
			}
			pauseAt += s.PauseEvery * r.ExpFloat64()
		}
		free[k] = max(free[k], at) + s.Service(r)/speed
		late.add(free[k]-at, max(1, int(0.01*rate*s.Length)))
	}
	return s.Bound / late.least()
}

// top keeps the largest values, the least of them first.
type top []float64

func (t *top) add(v float64, most int) {
	h := *t
	if len(h) < most {
		*t = append(h, v)
		if len(*t) == most {
			slices.Sort(*t)
		}
		return
	}
	if v <= h[0] {
		return
	}
	h[0] = v
	for i := 0; ; { // sift down
		k := 2*i + 1
		if k+1 < len(h) && h[k+1] < h[k] {
			k++
		}
		if k >= len(h) || h[i] <= h[k] {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}

func (t top) least() float64 {
	if len(t) == 0 {
		return 0
	}
	return t[0]
}

// disturbed is a trial's margin with the disturbances of its trial and block.
func (s Server) disturbed(r *rand.Rand, rate, block float64) float64 {
	return s.margin(r, rate, math.Exp(block+s.Trial*r.NormFloat64()))
}

// Truth is the rate at which half of the trials meet the bound, by so many trials close to it.
func (s Server) Truth(r *rand.Rand, trials int) float64 {
	meets := func(rate float64) float64 {
		if s.disturbed(r, rate, s.Block*r.NormFloat64()) >= 1 {
			return 1
		}
		return 0
	}
	lo, hi := 1.0, 1e5
	for hi/lo > 1.03 {
		mid, n := math.Sqrt(lo*hi), 0.0
		for range 60 {
			n += meets(mid) / 60
		}
		if n > 0.5 {
			lo = mid
		} else {
			hi = mid
		}
	}
	rate := math.Sqrt(lo * hi)
	for _, within := range []float64{0.03, 0.015} { // a line through what happens close to it
		var sx, sy, sxx, sxy float64
		n := float64(trials / 2)
		for range trials / 2 {
			x := rate * (1 + within*(2*r.Float64()-1))
			y := meets(x)
			sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
		}
		b := (sxy - sx*sy/n) / (sxx - sx*sx/n)
		rate = sx/n - (sy/n-0.5)/b
	}
	return rate
}

// Search searches for its capacity as edgegauge does, and returns how many trials that took.
func (s Server) Search(ctx context.Context, r *rand.Rand, q stat.CapacitySearch) (stat.CapacityStep, int, error) {
	at := &searched{Server: s, r: r}
	c := capacity.Conductor{Server: at, Search: q}
	err := c.Conduct(ctx)
	return c.Step, len(at.trials), err
}

// searched is a server with the trials that a search had of it.
type searched struct {
	Server
	r      *rand.Rand
	trials []stat.CapacityTrial
}

// Driver is not known: nothing is driven.
func (s *searched) Driver(context.Context) (float64, error) { return 0, nil }

// Closed is what all workers do without a pause.
func (s *searched) Closed(context.Context) (float64, error) {
	const n = 1000
	sum := 0.0
	for range n {
		sum += s.Service(s.r)
	}
	return n / sum * float64(s.Workers), nil
}

// Trials conducts those of new blocks.
func (s *searched) Trials(ctx context.Context, blocks [][]float64) ([]stat.CapacityTrial, error) {
	done := 0
	for _, rates := range blocks {
		if done += len(rates); done <= len(s.trials) {
			continue
		}
		block := s.Block * s.r.NormFloat64()
		for _, rate := range rates {
			s.trials = append(s.trials, stat.CapacityTrial{Rate: rate, Margin: s.disturbed(s.r, rate, block)})
		}
	}
	return s.trials, ctx.Err()
}

// Bisect does what people do: halve the bracket until it is ±2 % wide, by one trial at
// each rate; it returns the middle.
func (s Server) Bisect(r *rand.Rand, first, within float64) (rate float64, trials int) {
	lo, hi := 0.0, 0.0
	for rate = first; ; trials++ {
		if s.disturbed(r, rate, s.Block*r.NormFloat64()) >= 1 {
			lo = rate
		} else {
			hi = rate
		}
		switch {
		case hi == 0:
			rate = 2 * lo
		case lo == 0:
			rate = hi / 2
		case hi/lo > 1+2*within:
			rate = math.Sqrt(lo * hi)
		default:
			return math.Sqrt(lo * hi), trials + 1
		}
	}
}

func exponential(mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
}

// lognormal has that coefficient of variation.
func lognormal(mean, cv float64) func(*rand.Rand) float64 {
	s2 := math.Log(1 + cv*cv)
	return func(r *rand.Rand) float64 { return mean * math.Exp(math.Sqrt(s2)*r.NormFloat64()-s2/2) }
}

// pareto has that shape, and is cut at 300 times the mean.
func pareto(mean, shape float64) func(*rand.Rand) float64 {
	least := mean * (shape - 1) / shape
	return func(r *rand.Rand) float64 { return min(least*math.Pow(r.Float64(), -1/shape), 300*mean) }
}

func constant(mean float64) func(*rand.Rand) float64 {
	return func(*rand.Rand) float64 { return mean }
}

// Servers are those of the table, all of about 1000 requests/s.
func Servers() []Server {
	const ms = 1e-3
	base := Server{Workers: 1, Length: 10, Bound: 20 * ms}
	with := func(name string, change func(*Server)) Server {
		s := base
		s.Name = name
		change(&s)
		return s
	}
	return []Server{
		with("M/M/1, no disturbance", func(s *Server) { s.Service = exponential(ms) }),
		with("M/M/1, trials ±3 %", func(s *Server) { s.Service, s.Trial = exponential(ms), 0.03 }),
		with("M/M/1, trials ±3 % of 40 s", func(s *Server) { s.Service, s.Trial, s.Length = exponential(ms), 0.03, 40 }),
		with("M/M/1, trials ±3 %, blocks ±2 %", func(s *Server) {
			s.Service, s.Trial, s.Block = exponential(ms), 0.03, 0.02
		}),
		with("M/M/1, trials ±8 %", func(s *Server) { s.Service, s.Trial = exponential(ms), 0.08 }),
		with("M/G/1, lognormal, cv 2, trials ±3 %", func(s *Server) {
			s.Service, s.Trial, s.Bound = lognormal(ms, 2), 0.03, 50*ms
		}),
		with("M/G/1, Pareto of shape 2.2, trials ±1 %", func(s *Server) {
			s.Service, s.Trial, s.Bound = pareto(ms, 2.2), 0.01, 100*ms
		}),
		with("M/M/4, trials ±2 %, blocks ±1 %", func(s *Server) {
			s.Service, s.Workers, s.Trial, s.Block, s.Bound = exponential(4*ms), 4, 0.02, 0.01, 40*ms
		}),
		with("M/D/1 with pauses of 40 ms, trials ±2 %", func(s *Server) {
			s.Service, s.Pause, s.PauseEvery, s.Trial, s.Bound = constant(ms), 40*ms, 1, 0.02, 120*ms
		}),
		with("cliff: M/D/1, bound of 500 ms, trials ±3 %", func(s *Server) {
			s.Service, s.Trial, s.Bound = constant(ms), 0.03, 500*ms
		}),
		with("cliff: M/D/1, bound of 500 ms, no disturbance", func(s *Server) { s.Service, s.Bound = constant(ms), 500*ms }),
	}
}
