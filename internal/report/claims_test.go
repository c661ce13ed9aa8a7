package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Studies after each paper, with the paper's own names.
var afterPapers = map[string]string{
	"frameworks-on-raspberry-pi": pies,
	"real-versus-emulated": `study: twins
service: sort
factors:
  device: [{name: real, client.device: pi}, {name: emulated, client.device: qemu}]
  message: [{name: small, size: 100kB}, {name: large, size: 500kB}]
stack: cxf
design: {replications: 12}
published:
  table: real-versus-emulated
  columns: {message_kb: {message: {small: 100, large: 500}}}
`,
	"rest-versus-soap-mobile": `study: phones
factors:
  style: [{name: soap, stack: soap}, {name: rest, stack: rest}]
  service: [concat, sum]
  n: [2, 3, 4, 5, 6, 7, 8]
design: {replications: 6}
published:
  table: rest-versus-soap-mobile
  columns: {array_elements: n}
`,
	"gsoap-on-arm": `study: arms
n: 5
factors:
  stack: [standalone, standalone-tls, standalone-wssecurity, apache-cgi-http, apache-cgi-https]
  service: [echo, temperature]
design: {replications: 12}
published:
  table: gsoap-on-arm
  columns: {deployment: stack}
`,
	"cloud-of-things": `study: things
service: monitor
factors:
  stack: [axis2, dpws, rest, coap]
  ip: [ipv4, ipv6]
design: {replications: 8}
published: cloud-of-things
`,
}

// asPublished is the truth that a paper's table states, with a share of spread.
func asPublished(t testing.TB, name string, spread float64) truth {
	p, err := paper.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{"transmission_rtt": "rtt", "energy": "energy_gross"}
	columns := map[string]string{"message_kb": "message", "array_elements": "n"}
	words := map[string]string{"small": "100", "large": "500"}
	return func(at map[string]string, side measure.Side, response string) (float64, float64) {
		for _, r := range p.Rows {
			n := r.Response
			if o, ok := ours[n]; ok {
				n = o
			}
			if n != response || r.Side != side {
				continue
			}
			same := true
			for c, v := range r.At {
				level := at[c]
				if level == "" {
					level = at[columns[c]]
				}
				if level == "" {
					level = at["stack"]
				}
				if w, ok := words[level]; ok {
					level = w
				}
				same = same && level == v
			}
			if same {
				return r.Mean, r.Mean * spread
			}
		}
		return math.NaN(), 0
	}
}

func verdicts(r *Report) map[string]stat.Verdict {
	out := map[string]stat.Verdict{}
	for _, c := range r.Published.Claims {
		out[c.ID] = c.Verdict
	}
	return out
}

// with changes a truth where change says so.
func with(base truth, change func(at map[string]string, side measure.Side, response string, mean, sd float64) (float64,
	float64)) truth {
	return func(at map[string]string, side measure.Side, response string) (float64, float64) {
		mean, sd := base(at, side, response)
		return change(at, side, response, mean, sd)
	}
}

// arms is the table of gsoap-on-arm, with what the paper says besides: the
// sensor's time, the jitter's spread, the messages' sizes.
func arms(t testing.TB) truth {
	return with(asPublished(t, "gsoap-on-arm", 0.01),
		func(at map[string]string, side measure.Side, response string, mean, sd float64) (float64, float64) {
			switch {
			case response == "sensor_time" && at["service"] == "temperature":
				return 3.85, 0.01
			case response == "sensor_time":
				return 0.001, 0.0001
			case response == "message_size" && at["stack"] == "standalone-wssecurity":
				return 1900, 10
			case response == "message_size":
				return 1000, 10
			case response == "jitter" && at["stack"] == "standalone":
				return 0.1, 0.001
			case response == "jitter":
				return 0.1, 0.03
			}
			return mean, sd
		})
}

func twins(t testing.TB) truth {
	return with(asPublished(t, "real-versus-emulated", 0.005),
		func(at map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
			if at["device"] == "emulated" {
				sd *= 6
			}
			return mean, sd
		})
}

// inverse turns every order round.
func inverse(base truth) truth {
	return with(base, func(_ map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
		return 10 / mean, 10 / mean * sd / mean
	})
}

// alike makes all treatments one, with much spread.
func alike(base truth) truth {
	return with(base, func(_ map[string]string, _ measure.Side, _ string, mean, _ float64) (float64, float64) {
		return 10 + 0*mean, 1.5
	})
}

func without(base truth, gone func(at map[string]string) bool) truth {
	return with(base, func(at map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
		if gone(at) {
			return math.NaN(), 0
		}
		return mean, sd
	})
}

const yes, no, open = stat.Confirmed, stat.Contradicted, stat.Undecided

// Every form of claim is seen confirmed, contradicted and undecided.
func TestClaimsWhoseTruthIsKnown(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]map[stat.Verdict]bool{}
	t.Cleanup(func() { // after all of them
		for _, form := range []string{"less", "greatest", "ratio_of", "response_less", "response_ratio", "spread_less",
			"share", "growth_in", "slope_per", "interaction", "equivalent"} {
			if len(seen[form]) != 3 {
				t.Errorf("%s: only %v was seen", form, seen[form])
			}
		}
	})
	for _, c := range []struct {
		words, paper string
		truth        truth
		want         map[string]stat.Verdict
		why          string // of the first claim named in it
	}{
		{"pies as published", "frameworks-on-raspberry-pi", piesAsPublished,
			map[string]stat.Verdict{"small-axis2-faster-server": yes, "large-cxf-faster-server": yes,
				"small-axis2-leaner-client": yes, "time-proportional-to-size": yes, "crossover": yes}, ""},
		{"the contrary", "frameworks-on-raspberry-pi", inverse(piesAsPublished),
			map[string]stat.Verdict{"small-axis2-faster-server": no, "large-cxf-faster-server": no,
				"time-proportional-to-size": no, "crossover": yes}, ""},
		{"one framework always slower", "frameworks-on-raspberry-pi",
			with(piesAsPublished, func(at map[string]string, side measure.Side, response string, mean,
				sd float64) (float64, float64) {
				if at["stack"] == "cxf" {
					mean, sd = piesAsPublished(map[string]string{"stack": "axis2", "message": at["message"]}, side, response)
					return mean * 1.3, sd
				}
				return mean, sd
			}), map[string]stat.Verdict{"crossover": no, "large-cxf-faster-client": no, "small-axis2-faster-client": yes}, ""},
		{"slower at one size, alike at the other", "frameworks-on-raspberry-pi",
			with(piesAsPublished, func(at map[string]string, side measure.Side, response string, mean,
				sd float64) (float64, float64) {
				if at["message"] == "large" {
					return piesAsPublished(map[string]string{"stack": "axis2", "message": "large"}, side, response)
				}
				return mean, sd
			}), map[string]stat.Verdict{"crossover": open, "large-cxf-faster-client": open}, ""},
		{"all alike", "frameworks-on-raspberry-pi", alike(piesAsPublished),
			map[string]stat.Verdict{"small-axis2-faster-server": open, "crossover": open, "time-proportional-to-size": no}, ""},
		{"growth at the bound", "frameworks-on-raspberry-pi",
			with(piesAsPublished, func(at map[string]string, _ measure.Side, _ string, mean, _ float64) (float64, float64) {
				if at["message"] == "large" {
					return 10 * math.Pow(5, 1.06) * (1 + 0*mean), 5
				}
				return 10, 1
			}), map[string]stat.Verdict{"time-proportional-to-size": open}, "the intervals allow both"},

		{"twins as published", "real-versus-emulated", twins(t),
			map[string]stat.Verdict{"emulation-overhead-total-client": yes, "deserialization-below-serialization": yes,
				"phases-are-a-small-part": yes, "real-varies-less": yes}, ""},
		{"the contrary", "real-versus-emulated", inverse(twins(t)),
			map[string]stat.Verdict{"emulation-overhead-total-client": no, "deserialization-below-serialization": no,
				"phases-are-a-small-part": no}, ""},
		{"the real one varies more", "real-versus-emulated",
			with(twins(t), func(at map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
				if at["device"] == "real" {
					sd *= 100
				}
				return mean, sd
			}), map[string]stat.Verdict{"real-varies-less": no}, ""},
		{"all alike, half the time in phases", "real-versus-emulated",
			with(alike(twins(t)), func(_ map[string]string, _ measure.Side, response string, mean,
				sd float64) (float64, float64) {
				if response == "total_time" {
					return 4 * mean, 4 * sd
				}
				return mean, sd
			}), map[string]stat.Verdict{"emulation-overhead-total-client": open, "deserialization-below-serialization": open,
				"phases-are-a-small-part": open, "real-varies-less": open}, ""},

		// the published figures themselves differ by up to 31 %
		{"phones as published", "rest-versus-soap-mobile", asPublished(t, "rest-versus-soap-mobile", 0.01),
			map[string]stat.Verdict{"rest-smaller": yes, "rest-faster": yes, "soap-size-grows-concat": yes,
				"rest-size-grows-sum": yes, "services-cost-alike": yes}, ""},
		{"the contrary", "rest-versus-soap-mobile", inverse(asPublished(t, "rest-versus-soap-mobile", 0.01)),
			map[string]stat.Verdict{"rest-smaller": no, "rest-faster": no, "soap-size-grows-concat": no}, ""},
		{"one exception", "rest-versus-soap-mobile",
			with(asPublished(t, "rest-versus-soap-mobile", 0.01),
				func(at map[string]string, _ measure.Side, response string, mean, sd float64) (float64, float64) {
					if at["style"] == "rest" && at["n"] == "5" && at["service"] == "sum" {
						mean *= 20
					}
					return mean, sd
				}), map[string]stat.Verdict{"rest-smaller": no, "rest-faster": no}, ""},
		{"one service costs twice", "rest-versus-soap-mobile",
			with(asPublished(t, "rest-versus-soap-mobile", 0.01),
				func(at map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
					if at["service"] == "sum" {
						mean *= 2
					}
					return mean, sd
				}), map[string]stat.Verdict{"services-cost-alike": no}, ""},
		{"one service costs a quarter more", "rest-versus-soap-mobile",
			with(asPublished(t, "rest-versus-soap-mobile", 0.01),
				func(at map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
					if at["service"] == "sum" {
						mean *= 1.25
					}
					return mean, sd
				}), map[string]stat.Verdict{"services-cost-alike": no}, ""},
		{"one size is missing", "rest-versus-soap-mobile",
			without(asPublished(t, "rest-versus-soap-mobile", 0.01), func(at map[string]string) bool { return at["n"] == "5" }),
			map[string]stat.Verdict{"rest-smaller": open, "services-cost-alike": open, "soap-size-grows-sum": open},
			"array_elements 5, service concat, style rest"},
		{"all alike", "rest-versus-soap-mobile",
			with(alike(asPublished(t, "rest-versus-soap-mobile", 0.01)),
				func(_ map[string]string, _ measure.Side, _ string, mean, sd float64) (float64, float64) {
					return mean, 3 * sd
				}),
			map[string]stat.Verdict{"rest-smaller": open, "soap-size-grows-concat": open, "services-cost-alike": open}, ""},

		{"arms as published", "gsoap-on-arm", arms(t),
			map[string]stat.Verdict{"tls-costs-delay": yes, "apache-tls-beats-standalone-tls-echo": yes,
				"wssecurity-worst-temperature": yes, "sensor-dominates": yes, "security-raises-jitter": yes,
				"wssecurity-message-overhead": yes}, ""},
		{"the contrary", "gsoap-on-arm", inverse(arms(t)),
			map[string]stat.Verdict{"tls-costs-delay": no, "wssecurity-worst-temperature": no,
				"wssecurity-message-overhead": no}, ""},
		{"a quick sensor", "gsoap-on-arm", with(arms(t),
			func(_ map[string]string, _ measure.Side, response string, mean, sd float64) (float64, float64) {
				if response == "sensor_time" {
					return 2, 0.1
				}
				return mean, sd
			}), map[string]stat.Verdict{"sensor-dominates": no}, ""},
		{"a sensor at the bound", "gsoap-on-arm",
			with(arms(t), func(at map[string]string, _ measure.Side, response string, mean, sd float64) (float64, float64) {
				if response == "sensor_time" {
					return 3.89 * 0.95, 0.2
				}
				return mean, sd
			}), map[string]stat.Verdict{"sensor-dominates": open}, ""},
		{"all alike", "gsoap-on-arm", alike(arms(t)),
			map[string]stat.Verdict{"tls-costs-delay": open, "wssecurity-worst-temperature": open,
				"wssecurity-message-overhead": open, "security-raises-jitter": open}, ""},
		{"calls of TLS vary less", "gsoap-on-arm",
			with(arms(t), func(at map[string]string, _ measure.Side, response string, mean, sd float64) (float64, float64) {
				if response == "jitter" && at["stack"] == "standalone" {
					sd *= 100
				}
				return mean, sd
			}), map[string]stat.Verdict{"security-raises-jitter": no}, ""},
		{"no WS-Security", "gsoap-on-arm", without(arms(t),
			func(at map[string]string) bool { return at["stack"] == "standalone-wssecurity" }),
			map[string]stat.Verdict{"wssecurity-worst-temperature": open, "wssecurity-costs-delay": open,
				"tls-costs-delay": yes}, "not measured: deployment standalone-wssecurity, service temperature"},

		{"things as published", "cloud-of-things", asPublished(t, "cloud-of-things", 0.01),
			map[string]stat.Verdict{"serialization-order": yes, "rtt-order": yes, "axis2-asymmetry": yes, "dpws-symmetry": yes,
				"ip-version-does-not-matter": yes}, ""},
		{"the contrary", "cloud-of-things", inverse(asPublished(t, "cloud-of-things", 0.01)),
			map[string]stat.Verdict{"serialization-order": no, "axis2-asymmetry": no, "dpws-symmetry": no,
				"rest-rtt-advantage": no}, ""},
		{"all alike", "cloud-of-things", alike(asPublished(t, "cloud-of-things", 0.01)),
			map[string]stat.Verdict{"serialization-order": open, "axis2-asymmetry": open,
				"ip-version-does-not-matter": open}, ""},
		{"no DPWS", "cloud-of-things", without(asPublished(t, "cloud-of-things", 0.01),
			func(at map[string]string) bool { return at["stack"] == "dpws" }),
			map[string]stat.Verdict{"serialization-order": open, "dpws-symmetry": open, "axis2-asymmetry": yes},
			"not measured: stack dpws"},
		{"no DPWS, and the order of the others is another", "cloud-of-things",
			without(inverse(asPublished(t, "cloud-of-things", 0.01)),
				func(at map[string]string) bool { return at["stack"] == "dpws" }),
			map[string]stat.Verdict{"serialization-order": no}, ""},
	} {
		t.Run(c.paper+", "+c.words, func(t *testing.T) {
			t.Parallel() // each waits for the disk
			r := reportOf(t, onBoard(t, afterPapers[c.paper], c.truth))
			mu.Lock()
			defer mu.Unlock()
			for _, j := range r.Published.Claims {
				want, ok := c.want[j.ID]
				if !ok {
					continue
				}
				delete(c.want, j.ID)
				if j.Verdict != want {
					t.Errorf("%s is %s, want %s; p %.2g, Holm %.2g, %s, %v", j.ID, j.Verdict, want, j.P, j.PHolm, parts(j), j.Why)
				}
				if j.Verdict == stat.Undecided && (len(j.Why) == 0 || len(c.want) == 0 &&
					!strings.Contains(strings.Join(j.Why, "\n"), c.why)) {
					t.Errorf("%s is undecided for %q, want %q", j.ID, j.Why, c.why)
				}
				if seen[j.Form()] == nil {
					seen[j.Form()] = map[stat.Verdict]bool{}
				}
				seen[j.Form()][want] = true
			}
			if len(c.want) > 0 {
				t.Errorf("no claims %v", c.want)
			}
		})
	}
}

func parts(j paper.Judged) string {
	var out []string
	for _, p := range j.Parts {
		out = append(out, p.Where+" "+significant(p.Ours.Estimate))
	}
	return strings.Join(out, "; ")
}

// What is of the paper's boards stays undecided on another machine, even where ours are the paper's own figures, and
// says that a board is wanted; all other claims are judged as on one.
func TestClaimsOfBoards(t *testing.T) {
	for _, of := range []struct {
		paper string
		truth truth
		want  []string // those that need a board
	}{
		{"real-versus-emulated", twins(t), []string{"emulation-overhead-total-client", "emulation-overhead-total-server",
			"emulation-overhead-serialization-server", "emulation-overhead-deserialization-server", "phases-are-a-small-part",
			"real-varies-less"}},
		{"gsoap-on-arm", arms(t), []string{"tls-costs-delay", "wssecurity-costs-delay", "cgi-costs-delay",
			"apache-tls-beats-standalone-tls-echo", "standalone-tls-beats-apache-tls-temperature",
			"wssecurity-worst-temperature", "sensor-dominates"}},
	} {
		board := verdicts(reportOf(t, onBoard(t, afterPapers[of.paper], of.truth)))
		var got []string
		for _, c := range reportOf(t, simulated(t, afterPapers[of.paper], of.truth)).Published.Claims {
			if c.Needs.Board {
				got = append(got, c.ID)
			}
			if open := c.Verdict == stat.Undecided; open != c.Needs.Board && board[c.ID] != stat.Undecided {
				t.Errorf("%s, %s: %s, and on a board %s", of.paper, c.ID, c.Verdict, board[c.ID])
			}
		}
		if !slices.Equal(got, of.want) {
			t.Errorf("%s: %q need a board, want %q", of.paper, got, of.want)
		}
	}
}

// What cannot decide does not: a model, one trial, no trial.
func TestClaimsThatNothingCanDecide(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished, store.Modelled))
	v := verdicts(r)
	if v["small-axis2-leaner-server"] != open || v["small-axis2-faster-server"] != yes {
		t.Errorf("modelled energy decides, or measured time does not: %v", v)
	}
	for _, c := range []struct {
		words, file string
		truth       truth
	}{
		{"one trial", strings.Replace(pies, "replications: 8", "replications: 1", 1), piesAsPublished},
		{"all failed", pies, func(map[string]string, measure.Side, string) (float64, float64) { return math.NaN(), 0 }},
	} {
		r := reportOf(t, simulated(t, c.file, c.truth))
		for _, j := range r.Published.Claims {
			if j.Verdict != open || len(j.Why) == 0 {
				t.Errorf("%s: %s is %s for %q", c.words, j.ID, j.Verdict, j.Why)
			}
		}
	}
	// Without spread the values decide, as message sizes do.
	r = reportOf(t, simulated(t, afterPapers["rest-versus-soap-mobile"], asPublished(t, "rest-versus-soap-mobile", 0)))
	if v := verdicts(r); v["rest-smaller"] != yes || v["rest-size-grows-sum"] != yes {
		t.Errorf("without spread: got %v", v)
	}
}

func TestScorecardIsTold(t *testing.T) {
	r := reportOf(t, simulated(t, strings.Replace(pies, "published:\n", "published:\n  differs: one machine\n", 1),
		piesAsPublished, store.Modelled))
	var text, js strings.Builder
	if err := ClaimsText(&text, []*Report{r,
		reportOf(t, simulated(t, strings.Split(pies, "published:")[0], piesAsPublished))}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"4 confirmed, 0 contradicted, 6 undecided", "! the set-up differs: one machine", "Ours: local (simulated)",
		"confirmed     total_time at the server: axis2 below cxf (message_kb 100)\n              published ratio 0.842; " +
			"ours ratio 0.8",
		"only a meter can decide", "as modelled: confirmed, inside ", "a model decides nothing",
		"would decide: a power meter at the server", "the paper had 50", "The study names no published table",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	for line := range strings.Lines(text.String()) {
		if len([]rune(line)) > Columns+1 {
			t.Errorf("a line is too wide: %s", line)
		}
	}
	if err := ClaimsJSON(&js, []*Report{r}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Format  int
		Studies []struct {
			Confirmed, Undecided int
			Claims               []struct {
				ID, Verdict string
				Modelled    bool
				Published   struct{ Range []float64 }
				Ours        *struct {
					Value float64
					CI    []float64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(js.String()), &got); err != nil {
		t.Fatal(err)
	}
	first := got.Studies[0].Claims[0]
	if got.Format != 1 || got.Studies[0].Confirmed != 4 || first.ID != "small-axis2-faster-server" ||
		first.Verdict != "confirmed" || math.Abs(first.Published.Range[0]-0.842) > 5e-4 ||
		!(first.Ours.CI[0] < first.Ours.Value && first.Ours.Value < first.Ours.CI[1]) || !got.Studies[0].Claims[4].Modelled {
		t.Errorf("got %+v", got)
	}
}

func TestPageHasTheClaims(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished))
	var b strings.Builder
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="claims"`,
		`<th scope="row">confirmed</th><td>total_time at the server: axis2 below cxf (message_kb 100)`, `id="published"`,
		" confirmed, 0 contradicted", "direction confirmed, size confirmed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in the page", want)
		}
	}
}
