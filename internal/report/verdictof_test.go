package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Responses without a sentence of their own in a verdict, unless a study names them first, and why.
var unsaid = map[string]string{
	"serialization": "a part of the time", "deserialization": "a part of the time", "processing": "a part of the time",
	"sensor_time": "a part of the time", "connection": "a part of the time", "delay": "the time, as the wire sees it",
	"delay_to_data": "the time, as the wire sees it", "jitter": "the time's spread", "jitter_rfc3550": "the time's spread",
	"handshake_time": "a part of the time", "handshake_bytes": "a part of the bytes", "packets": "the bytes say it",
	"response_size": "the service's answer", "retransmissions": "the bytes have them", "resent": "the bytes have them",
	"discovery": "once", "metadata": "once", "first_invoke": "once", "instructions": "counted time has them",
	"trial_energy": "the energy of a request tells", "power": "the energy of a request tells",
	"peak_rss":   "a limit, not a price",
	"throughput": "the time tells, or it is what was asked", "notification_rate": "what is missed tells",
}

// Each response with a better direction has a sentence in the verdict, or a reason why not, and each is in a verdict
// where a study names it first.
func TestResponsesHaveSentences(t *testing.T) {
	asked := func(name string) bool {
		return slices.ContainsFunc(slices.Concat([][]question{outagesOf}, devicesOf, verdictOf), func(row []question) bool {
			return slices.ContainsFunc(row, func(q question) bool { return q.response == name })
		})
	}
	for _, x := range measure.Responses() {
		if said := asked(x.Name) || unsaid[x.Name] != ""; said != (x.Better() != measure.Neither) ||
			asked(x.Name) && unsaid[x.Name] != "" {
			t.Errorf("%s: better %s, asked %v, reason %q", x.Name, x.Better(), asked(x.Name), unsaid[x.Name])
		}
		if x.Better() == measure.Neither {
			continue
		}
		next := "next is b, 2.0"
		if x.Better() == measure.More {
			next = "next is a, 0.5" // b has the greater figure
		}
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			v := map[string]float64{"a": 1, "b": 2}[at["stack"]] * wobble(block)
			out := store.Result{Side: x.Sides[0], Response: x.Name, Unit: x.Unit, N: 100, Mean: v, SD: v / 10, Median: v, P95: v,
				Min: v, Max: v, Method: store.Measured}
			rtt := out
			rtt.Side, rtt.Response, rtt.Unit = measure.Client, "rtt", "s"
			if x.Name == "rtt" {
				return []store.Result{out}
			}
			return []store.Result{out, rtt}
		}
		names := strings.Join(slices.Compact([]string{x.Name, "rtt"}), ", ")
		got := strings.Join(reportOf(t, w.write(t, oneTreatment+"responses: ["+names+"]\n")).Verdict(), "\n")
		// total_time and response_time answer the same question as the RTT.
		if named := !asked(x.Name) || slices.Contains([]string{"recovery_time", "datagram_bytes"}, x.Name); named &&
			(!strings.Contains(strings.ToLower(got), strings.ToLower(words(x.Name))) && !strings.Contains(got, "Back soonest") &&
				!strings.Contains(got, "datagrams") || !strings.Contains(got, next) || strings.Count(got, "next is") != 2) {
			t.Errorf("%s first: got\n%s", x.Name, got)
		}
	}
}

// After an outage the verdict begins with who is back soonest, and nobody is called best of whom only lucky trials
// tell.
func TestVerdictOnRecovery(t *testing.T) {
	for blocks, want := range map[int]string{
		6: "Back soonest after the outage: b, 10",
		5: "Back soonest after the outage: a, the only one with a figure in each trial, 60.2 s",
		1: "Back soonest after the outage: a, the only one with a figure in each trial, 60.2 s",
	} {
		r := recovering(t, 10, blocks, false)
		got := r.Verdict()
		if !strings.HasPrefix(got[0], want) || blocks < 6 && !strings.Contains(got[0],
			"; not ranked, since devices were not back by the end of trials: b (") {
			t.Errorf("%d of 6 trials: got %q, want %q", blocks, got[0], want)
		}
		if name, isTime := r.MainResponse(); name != "recovery_time" || isTime {
			t.Errorf("got the main response %s, %v", name, isTime)
		}
	}
}

// Of devices the requests that failed are ranked, where some did.
func TestVerdictOnFailedShare(t *testing.T) {
	for _, lost := range []float64{0, 0.01} {
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			v := map[string]float64{"a": 1, "b": 2}[at["stack"]] * lost * wobble(block)
			return []store.Result{{Side: measure.Client, Response: "failed_share", Unit: "1", N: 1, Mean: v, Median: v,
				P95: math.NaN(), Min: v, Max: v, Method: store.Measured}}
		}
		r := reportOf(t, w.write(t, "study: s\nservice: monitor\ndevices: 100\nperiod: 1s\nfactors: {stack: [a, b]}\n"+
			"design: {replications: 6, seed: 1}\n"))
		got := strings.Join(r.Verdict(), "\n")
		if strings.Contains(got, "Fewest failed requests: a, 0.01") != (lost > 0) {
			t.Errorf("%g fail: got\n%s", lost, got)
		}
	}
}

// Where more is better the same is said as of the inverse figure, of which less is: who is the best, and who is apart
// from it. Of equals no more than the confidence allows are.
func TestVerdictWhereMoreIsBetter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const seeds = 30
	for _, apart := range []float64{1, 1.05} { // c is so much slower
		told := 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 7))
			took := map[string]float64{}
			value := func(at map[string]string, block int) float64 {
				key := fmt.Sprint(at["stack"], block)
				if _, ok := took[key]; !ok {
					took[key] = math.Exp(0.01 * r.NormFloat64())
					if at["stack"] == "c" {
						took[key] *= apart
					}
				}
				return took[key]
			}
			said := func(name string, of func(float64) float64) (best, next string) {
				x, _ := measure.FindResponse(name)
				w := exactly(nil)
				w.exact = func(at map[string]string, block int) []store.Result {
					v := of(value(at, block))
					return []store.Result{{Side: measure.Client, Response: name, Unit: x.Unit, N: 1, Mean: v, SD: math.NaN(),
						Median: v, P95: math.NaN(), Min: v, Max: v, Method: store.Measured}}
				}
				got := reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b, c]}\n"+
					"design: {replications: 6, seed: 1}\nresponses: ["+name+"]\n")).Verdict()[0]
				best, _, _ = strings.Cut(got[strings.Index(got, ": ")+2:], ",")
				if i := strings.Index(got, "next is "); i >= 0 {
					next = got[i+8 : i+9]
				}
				return best, next
			}
			less, lessNext := said("discovery", func(v float64) float64 { return v })
			more, moreNext := said("throughput", func(v float64) float64 { return 1 / v })
			if lessNext != moreNext || lessNext != "" && less != more {
				t.Errorf("seed %d: less is better: %s, next is %q; more: %s, next is %q", seed, less, lessNext, more, moreNext)
			}
			if moreNext != "" {
				told++
			}
		}
		if apart == 1 && told > seeds/10 || apart > 1 && told < seeds*9/10 {
			t.Errorf("%g times as slow: of %d studies %d say that one is behind", apart, seeds, told)
		}
		t.Logf("%g times as slow: of %d studies %d say that one is behind", apart, seeds, told)
	}
}
