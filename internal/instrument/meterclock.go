package instrument

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Fit maps a device's clock to the host's, for one trial. Arrival times are
// never used as sample times: they are late by 5 to 30 ms on a busy host.
type Fit struct {
	Method   string        // "echo" or "arrival"; "" without a fit
	Points   int           // pairs of instants it rests on
	Skew     float64       // how much faster the host's clock runs than the device's nominal one: 1e-6 is 1 ppm
	Residual time.Duration // 99th percentile of what the points differ from the line
	Bias     time.Duration // what all points may have in common unseen: half of the best round trip not explained
	ref      float64       // device, s
	host     float64       // s, at ref
	slope    float64       // host s per device s
}

// DeviceToHost maps device time since its origin to the host's clock.
func (f Fit) DeviceToHost(device time.Duration) (host, uncertainty time.Duration) {
	return seconds(f.host + f.slope*(device.Seconds()-f.ref)), f.Uncertainty()
}

// Uncertainty is how far instants may be off the host's clock, as far as the points tell.
func (f Fit) Uncertainty() time.Duration { return f.Residual + f.Bias }

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// A pair is one instant on both clocks, in s.
type pair struct{ device, host float64 }

const (
	likelySkew = 0.005 // of a ceramic resonator
	maxSkew    = 0.02  // beyond what any resonator or crystal is off: such a fit is wrong
)

// line fits host = a + b × device by least squares.
func line(method string, pairs []pair) (Fit, error) {
	f := Fit{Method: method, Points: len(pairs)}
	if len(pairs) < 2 {
		return f, fmt.Errorf("clock fit by %s: %d points are too few", method, len(pairs))
	}
	for _, p := range pairs {
		f.ref += p.device / float64(len(pairs))
		f.host += p.host / float64(len(pairs))
	}
	var sxy, sxx float64
	for _, p := range pairs {
		sxy += (p.device - f.ref) * (p.host - f.host)
		sxx += (p.device - f.ref) * (p.device - f.ref)
	}
	if sxx == 0 {
		return f, fmt.Errorf("clock fit by %s: all points have the same time", method)
	}
	f.put(sxy/sxx, pairs)
	// Subtle: over a second or two, points that are late by milliseconds say
	// nothing of a skew. The line is drawn towards the nominal rate as far as
	// they scatter: λ = (residual / likely skew)².
	lambda := math.Pow(f.Residual.Seconds()/likelySkew, 2)
	f.put((sxy+lambda)/(sxx+lambda), pairs)
	if !(math.Abs(f.Skew) < maxSkew) {
		return f,
			fmt.Errorf("clock fit by %s: the clocks differ by %.1f %%, more than crystals do; the device's clock was stepped",
				method, 100*f.Skew)
	}
	return f, nil
}

// put takes a slope and finds what the points then differ from the line.
func (f *Fit) put(slope float64, pairs []pair) {
	f.slope, f.Skew = slope, slope-1
	off := make([]float64, len(pairs))
	for i, p := range pairs {
		off[i] = math.Abs(p.host - f.host - f.slope*(p.device-f.ref))
	}
	slices.Sort(off)
	f.Residual = seconds(off[int(math.Ceil(0.99*float64(len(off))))-1])
}

// closest leaves out pairs that a host too busy has made late, although their trip
// looked short: those further from the median line (Theil 1950, Sen 1968) than
// five times the median distance. A device's clock does not leap for a moment.
// If that were more than a third of them, all stay, and the residual tells.
func closest(pairs []pair) []pair {
	every := max(1, len(pairs)/100)
	var slopes []float64
	for i := 0; i < len(pairs); i += every {
		for j := 0; j < i; j += every {
			if dx := pairs[i].device - pairs[j].device; dx != 0 {
				slopes = append(slopes, (pairs[i].host-pairs[j].host)/dx)
			}
		}
	}
	if len(slopes) == 0 {
		return pairs
	}
	slope := median(slopes)
	off := make([]float64, len(pairs))
	for i, p := range pairs {
		off[i] = p.host - slope*p.device
	}
	middle := median(slices.Clone(off))
	far := make([]float64, len(pairs))
	for i := range off {
		far[i] = math.Abs(off[i] - middle)
	}
	limit := 5 * median(slices.Clone(far))
	var kept []pair
	for i, p := range pairs {
		if far[i] <= limit {
			kept = append(kept, p)
		}
	}
	if 3*len(kept) < 2*len(pairs) {
		return pairs
	}
	return kept
}

// median sorts x. A board's program, which has this package in it, is to do without stat.
func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// An Echo is a ping and its answer. The wire's own time is taken off already:
// Sent is when the last byte of the ping was on the wire at the earliest,
// Received when the first of the answer was at the latest.
type Echo struct {
	Sent, Received          time.Duration // host
	DeviceReceived, Replied time.Duration // device
}

// trip is what the way there and back took beyond wire and device.
func (e Echo) trip() time.Duration { return e.Received - e.Sent - (e.Replied - e.DeviceReceived) }

// FitEcho fits the best fifth of the echoes by round trip, but no fewer than five.
func FitEcho(echoes []Echo) (Fit, error) {
	best := slices.SortedFunc(slices.Values(echoes), func(a, b Echo) int { return cmp.Compare(a.trip(), b.trip()) })
	best = best[:min(len(best), max(5, len(best)/5))]
	if len(best) < 5 {
		return Fit{}, fmt.Errorf("clock fit by echo: %d of at least 5 echoes; observe for a second or longer", len(best))
	}
	pairs := make([]pair, len(best))
	for i, e := range best {
		pairs[i] = pair{(e.DeviceReceived + e.Replied).Seconds() / 2, (e.Sent + e.Received).Seconds() / 2}
	}
	f, err := line("echo", closest(pairs))
	f.Bias = max(0, best[0].trip()) / 2
	return f, err
}

// FitArrival fits the lower envelope of arrivals, for a device that answers no
// ping: of each of 20 slices the message that was least late. A constant delay
// stays in it, so bias says what such a link is known to take.
func FitArrival(device, arrived []time.Duration, bias time.Duration) (Fit, error) {
	const parts = 20
	n := min(len(device), len(arrived))
	if n < parts {
		return Fit{}, fmt.Errorf("clock fit by arrival: %d of at least %d messages", n, parts)
	}
	var pairs []pair
	for s := range parts {
		from, to := s*n/parts, (s+1)*n/parts
		best := from
		for i := from; i < to; i++ {
			if arrived[i]-device[i] < arrived[best]-device[best] {
				best = i
			}
		}
		pairs = append(pairs, pair{device[best].Seconds(), arrived[best].Seconds()})
	}
	f, err := line("arrival", closest(pairs))
	f.Bias = bias
	f.Residual = max(f.Residual, f.leap(pairs))
	return f, err
}

// leap is what the pairs that closest left out say of the device's clock, if that is not the line: samples that were
// lost hold it back. A message that came before the line is no late one, nor are those that stay late to the end.
func (f Fit) leap(pairs []pair) time.Duration {
	off := func(p pair) float64 { return p.host - f.host - f.slope*(p.device-f.ref) }
	most := off(pairs[len(pairs)-1])
	for _, p := range pairs {
		most = max(most, -off(p))
	}
	return seconds(most)
}
