package paper

import (
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

func claimOf(t *testing.T, paper, id string) (Paper, Claim) {
	t.Helper()
	p, err := Load(paper)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Claims, func(c Claim) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("%s makes no claim %s", paper, id)
	}
	p.Claims = p.Claims[i : i+1]
	return p, p.Claims[0]
}

// What claims say of the papers' figures is what the tables have; expected values were worked out by hand.
func TestPublishedFiguresAreThoseOfTheTable(t *testing.T) {
	for _, tt := range []struct {
		paper, id string
		want      []float64 // lowest and highest, of each pair
	}{
		{"frameworks-on-raspberry-pi", "small-axis2-faster-server", []float64{0.842, 0.842}},
		{"frameworks-on-raspberry-pi", "large-cxf-leaner-client", []float64{0.956, 0.956}},
		{"real-versus-emulated", "emulation-overhead-total-client", []float64{1.198, 1.389}},
		{"real-versus-emulated", "emulation-overhead-deserialization-server", []float64{1.331, 1.484}},
		{"real-versus-emulated", "deserialization-below-serialization", []float64{0.286, 0.715}},
		{"real-versus-emulated", "phases-are-a-small-part", []float64{0.0324, 0.1806}},
		{"rest-versus-soap-mobile", "rest-smaller", []float64{0.086, 0.258}},
		{"rest-versus-soap-mobile", "rest-faster", []float64{0.353, 0.536}},
		{"rest-versus-soap-mobile", "services-cost-alike", []float64{0.845, 1.303}},
		{"gsoap-on-arm", "apache-tls-beats-standalone-tls-echo", []float64{0.5, 0.5}},
		{"gsoap-on-arm", "standalone-tls-beats-apache-tls-temperature", []float64{0.970, 0.970}},
		{"gsoap-on-arm", "wssecurity-worst-temperature", []float64{1.060, 1.098}},
		{"gsoap-on-arm", "security-raises-jitter", []float64{0.254, 0.880}},
		{"gsoap-on-arm", "tls-costs-delay", []float64{0.44 - 0.01, 0.44 - 0.01}},
		{"gsoap-on-arm", "wssecurity-costs-delay", []float64{0.37 - 0.01, 0.37 - 0.01}},
		{"gsoap-on-arm", "cgi-costs-delay", []float64{0.14 - 0.01, 0.14 - 0.01}},
		{"cloud-of-things", "serialization-order", []float64{0.265, 0.265, 0.368, 0.368, 0.183, 0.183}},
		{"cloud-of-things", "rtt-order", []float64{0.178, 0.178, 0.708, 0.708, 0.693, 0.693}},
		{"cloud-of-things", "deserialization-order", []float64{0.126, 0.126, 0.360, 0.360, 0.639, 0.639}},
		{"cloud-of-things", "axis2-asymmetry", []float64{3.089, 3.089}},
		{"cloud-of-things", "dpws-symmetry", []float64{0.883, 0.883}},
		{"cloud-of-things", "binary-beats-xml-serialization", []float64{10.26, 10.26}},
		{"cloud-of-things", "rest-rtt-advantage", []float64{11.48, 11.48}},
	} {
		_, c := claimOf(t, tt.paper, tt.id)
		var got []float64
		if lo, hi, ok := c.Published(); ok {
			got = []float64{lo, hi}
		}
		for _, p := range c.Pairs {
			got = append(got, p...)
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.id, got, tt.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-tt.want[i]) > 6e-4*max(1, tt.want[i]) {
				t.Errorf("%s: got %v, want %v", tt.id, got, tt.want)
			}
		}
	}
}

// The slopes that are typed are those of the table.
func TestPublishedSlopesAreThoseOfTheTable(t *testing.T) {
	for _, id := range []string{"soap-size-grows-concat", "soap-size-grows-sum", "rest-size-grows-sum"} {
		p, c := claimOf(t, "rest-versus-soap-mobile", id)
		var xs []float64
		var at []map[int]float64
		for _, r := range p.Rows {
			if x, err := number(r.At[c.SlopePer]); err == nil && r.Response == c.Response && within(r.At, c.At) {
				xs, at = append(xs, x), append(at, map[int]float64{1: r.Mean})
			}
		}
		got, ok := slopeOf(xs, at, 1, func(x float64) float64 { return x })
		if !ok || len(xs) != 7 || math.Abs(got-*c.Slope) > 0.05 {
			t.Errorf("%s: got %.3g of %d sizes, want %g", id, got, len(xs), *c.Slope)
		}
	}
}

func TestTablesThatGiveNothingAreSaid(t *testing.T) {
	p, _ := claimOf(t, "cloud-of-things", "rtt-order")
	for _, tt := range []struct {
		want  string
		claim Claim
	}{
		{"no ratio is published of growth_in", Claim{Response: "serialization", GrowthIn: "stack", Ratio: span{}}},
		{errNotGiven.Error(), Claim{Response: "transmission_rtt", Less: []string{"ipv4", "ipv6"}, Ratio: span{}}},
		{errNotGiven.Error(), Claim{Response: "no such response", RatioOf: []string{"axis2", "rest"}, Ratio: span{}}},
		{errNotGiven.Error(), Claim{Response: "total_time", ShareBelow: 0.5, Share: span{}}},
	} {
		if err := p.complete(&tt.claim); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.claim.Form(), err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"p:\n  - {id: a, less: [x, y], by_design: size}\n":                "invalid by_design",
		"p:\n  - {id: a, less: [x, y], on_board: board}\n":                "invalid on_board",
		"p:\n  - {id: a, growth_in: x, published_exponent: table}\n":      "write the published_exponent",
		"p:\n  - {id: a, less: [x, y], published_ratio: the table}\n":     "",
		"p:\n  - {id: a, less: [x, y], published_ratio: [1, 2, 3]}\n":     "is not a range",
		"p:\n  - {id: a, less: [x, y], published_share: [0.5, 0.25]}\n":   "is not a range",
		"p:\n  - {id: a, less: [x, y], by_design: all, on_board: size}\n": "invalid",
	} {
		if _, err := ParseClaims([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// known are series of the cloud of things of known means, by stack level and response; stacks names what ran.
func known(stacks map[string]string, mean func(level, response string) float64) []advise.Series {
	var out []advise.Series
	for i, level := range []string{"axis2", "dpws", "rest", "coap"} {
		for _, response := range []string{"serialization", "rtt", "deserialization"} {
			s := advise.Series{Factors: []string{"stack"}, Levels: []string{level}, Stack: stacks[level], Side: measure.Client,
				Response: response, Unit: "s"}
			for k := range 8 {
				s.Trials = append(s.Trials, advise.TrialSummary{ID: k, Block: k,
					Mean: mean(level, response) * (1 + 0.001*float64((k*7+i)%5-2))})
			}
			out = append(out, s)
		}
	}
	return out
}

func asPrinted(p Paper) func(level, response string) float64 {
	return func(level, response string) float64 {
		if response == "rtt" {
			response = "transmission_rtt"
		}
		for _, r := range p.Rows {
			if r.At["stack"] == level && r.Response == response {
				return r.Mean
			}
		}
		return math.NaN()
	}
}

// An order states a ratio of each pair of neighbours, and each is judged.
func TestPairsOfAnOrderAreSized(t *testing.T) {
	for _, tt := range []struct {
		coap, axis2     float64 // times as much as published
		direction, size stat.Verdict
		is              string
	}{
		{1, 1, stat.Confirmed, stat.Confirmed, Inside},
		{2, 1, stat.Confirmed, stat.Contradicted, Above},
		{0.5, 1, stat.Confirmed, stat.Contradicted, Below},
		{2, 2, stat.Confirmed, stat.Contradicted, Astray}, // coap/rest above, rest/axis2 below
		{10, 1, stat.Contradicted, stat.Contradicted, Above},
	} {
		p, _ := claimOf(t, "cloud-of-things", "serialization-order")
		of := asPrinted(p)
		j := p.Judge(known(nil, func(level, response string) float64 {
			return of(level, response) * map[string]float64{"coap": tt.coap, "axis2": tt.axis2, "dpws": 1, "rest": 1}[level]
		}), Mapping{}, 0.95).Claims[0]
		if j.Direction != tt.direction || j.Size != tt.size || j.SizeIs != tt.is {
			t.Errorf("coap ×%g, axis2 ×%g: got %s, size %s, %q; want %s, %s, %q", tt.coap, tt.axis2, j.Direction, j.Size,
				j.SizeIs, tt.direction, tt.size, tt.is)
		}
		if len(j.Parts) != 3 || len(j.Parts[0].Published) != 2 {
			t.Errorf("got parts %+v", j.Parts)
		}
	}
}

// What another stack than the paper's stands for is undecided, whichever way it goes; its own decide, and so does a
// pair that both are the paper's.
func TestOnlyThePapersOwnStacksDecide(t *testing.T) {
	ours := map[string]string{"axis2": "axis2", "dpws": "dpws-sdcri", "rest": "jersey", "coap": "californium"}
	theirs := map[string]string{"axis2": "axis2", "dpws": "jmeds", "rest": "jersey", "coap": "jcoap"}
	contrary := map[string]float64{"coap": 8, "rest": 4, "axis2": 2, "dpws": 1}
	for _, tt := range []struct {
		id     string
		stacks map[string]string
		means  map[string]float64 // nil: as published
		want   stat.Verdict
		foes   bool // the paper's own would decide it
	}{
		{"rtt-order", ours, nil, stat.Undecided, true},
		{"rtt-order", theirs, nil, stat.Confirmed, false},
		{"rtt-order", ours, contrary, stat.Undecided, true},
		{"rtt-order", theirs, contrary, stat.Contradicted, false},
		{"serialization-order", ours, contrary, stat.Contradicted, false}, // rest is above axis2
		{"binary-beats-xml-serialization", ours, contrary, stat.Undecided, true},
		{"binary-beats-xml-serialization", theirs, contrary, stat.Contradicted, false},
		{"rest-rtt-advantage", ours, nil, stat.Confirmed, false},
		{"dpws-symmetry", ours, nil, stat.Undecided, true},
	} {
		p, _ := claimOf(t, "cloud-of-things", tt.id)
		mean := asPrinted(p)
		if tt.means != nil {
			mean = func(level, _ string) float64 { return tt.means[level] }
		}
		j := p.Judge(known(tt.stacks, mean), Mapping{}, 0.95).Claims[0]
		said := strings.Contains(strings.Join(j.Why, " "), "another stack than the paper's own")
		if j.Verdict != tt.want || j.Needs.Stacks != tt.foes || tt.foes != strings.Contains(j.Decided(), "own stacks") ||
			tt.foes && !said {
			t.Errorf("%s with %s: got %s, needs %+v, %q, decided by %q", tt.id, tt.stacks["coap"], j.Verdict, j.Needs, j.Why,
				j.Decided())
		}
	}
}

// phones are series of the paper on phones as published, REST's sizes times a factor.
func phones(p Paper, rest float64) []advise.Series {
	var out []advise.Series
	for i, r := range p.Rows {
		s := advise.Series{Factors: []string{"style", "service", "array_elements"},
			Levels: []string{r.At["style"], r.At["service"], r.At["array_elements"]}, Side: measure.Client, Response: r.Response,
			Unit: r.Unit}
		v := r.Mean
		if r.At["style"] == "rest" && r.Response == "message_size" {
			v *= rest
		}
		for k := range 8 {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: k, Block: k, Mean: v * (1 + 0.001*float64((k*7+i)%5-2))})
		}
		out = append(out, s)
	}
	return out
}

// Messages that were made of the published sizes confirm no size of them; the contrary of a direction they may show, if
// only the size was chosen.
func TestMessagesMadeOfPublishedSizesDecideNoSize(t *testing.T) {
	for _, tt := range []struct {
		id          string
		rest        float64
		made, found stat.Verdict
	}{
		{"rest-smaller", 1, stat.Undecided, stat.Confirmed},
		{"rest-smaller", 0.3, stat.Undecided, stat.Contradicted},
		{"rest-smaller", 30, stat.Contradicted, stat.Contradicted},
		{"rest-size-grows-sum", 1, stat.Undecided, stat.Confirmed},
		{"rest-size-grows-sum", -1, stat.Undecided, stat.Contradicted},
		{"rest-faster", 1, stat.Confirmed, stat.Confirmed},
	} {
		p, _ := claimOf(t, "rest-versus-soap-mobile", tt.id)
		series := phones(p, tt.rest)
		made := p.Judge(series, Mapping{Options: map[string]bool{"letters": true}}, 0.95).Claims[0]
		found := p.Judge(series, Mapping{Options: map[string]bool{"n": true}}, 0.95).Claims[0]
		if made.Verdict != tt.made || found.Verdict != tt.found || found.Needs.Messages {
			t.Errorf("%s ×%g: got %s of made messages, %s of others; want %s, %s", tt.id, tt.rest, made.Verdict, found.Verdict,
				tt.made, tt.found)
		}
		if open := tt.made == stat.Undecided; made.Needs.Messages != open || open &&
			(!strings.Contains(strings.Join(made.Why, " "), "tests our message format") || made.Decided() == "") {
			t.Errorf("%s ×%g: needs %+v, %q, decided by %q", tt.id, tt.rest, made.Needs, made.Why, made.Decided())
		}
	}
}

// A claim about the server needs a board there, and one about both sides two.
func TestABoardMustBeWhereTheClaimIs(t *testing.T) {
	client, server := measure.Client, measure.Server
	for _, tt := range []struct {
		paper, id string
		boards    []measure.Side
		needs     bool
	}{
		{"real-versus-emulated", "emulation-overhead-total-client", []measure.Side{client}, false},
		{"real-versus-emulated", "emulation-overhead-total-server", []measure.Side{client}, true},
		{"real-versus-emulated", "emulation-overhead-total-server", []measure.Side{server}, false},
		{"real-versus-emulated", "phases-are-a-small-part", []measure.Side{client}, true},
		{"real-versus-emulated", "phases-are-a-small-part", []measure.Side{client, server}, false},
		{"real-versus-emulated", "real-varies-less", []measure.Side{server}, true},
		{"gsoap-on-arm", "tls-costs-delay", []measure.Side{client}, true}, // delay is of the client, the board is the server
		{"gsoap-on-arm", "tls-costs-delay", []measure.Side{server}, false},
	} {
		p, c := claimOf(t, tt.paper, tt.id)
		board := map[measure.Side]bool{}
		for _, s := range tt.boards {
			board[s] = true
		}
		if apart := p.view(nil, Mapping{Board: board}).test(c, 0.95).apart != ""; apart != tt.needs {
			t.Errorf("%s with boards at %v: it needs another %v, want %v", tt.id, tt.boards, apart, tt.needs)
		}
	}
}

// An undecided claim names the part that keeps it open, with its interval; blocks are asked for in two digits.
func TestUndecidedClaimsSayWhatIsOpen(t *testing.T) {
	p, _ := claimOf(t, "cloud-of-things", "rtt-order")
	series := known(nil, func(level, _ string) float64 {
		return map[string]float64{"rest": 1, "coap": 2, "dpws": 2.0001, "axis2": 9}[level]
	})
	j := p.Judge(series, Mapping{}, 0.95).Claims[0]
	why := strings.Join(j.Why, " ")
	if j.Verdict != stat.Undecided || !strings.Contains(why, "coap over dpws is 1 (") ||
		!strings.Contains(why, "shown neither below nor above 1") {
		t.Errorf("got %s, %q", j.Verdict, why)
	}
	for n, want := range map[int]int{1: 1, 99: 99, 100: 100, 101: 110, 123: 130, 590: 590, 1991: 2000, 11990: 12000} {
		if got := twoDigits(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
}

// What rests on trials that drift says so, whatever the verdict; what does not is silent.
func TestClaimsOfUnsteadyTrialsSayIt(t *testing.T) {
	p, _ := claimOf(t, "cloud-of-things", "rest-rtt-advantage")
	for _, unsteady := range []string{"", "rest", "coap"} {
		series := known(nil, asPrinted(p))
		for i := range series {
			series[i].Unsteady = series[i].Levels[0] == unsteady
		}
		j := p.Judge(series, Mapping{}, 0.95).Claims[0]
		if said := strings.Contains(strings.Join(j.Why, " "), "unsteady"); said != (unsteady == "rest") ||
			j.Verdict != stat.Confirmed {
			t.Errorf("%q drifts: got %s, %q", unsteady, j.Verdict, j.Why)
		}
	}
}

// An average keeps what it is of; the spread of calls is said to be theirs.
func TestAveragesKeepTheirStrata(t *testing.T) {
	p, c := claimOf(t, "gsoap-on-arm", "tls-costs-delay")
	var series []advise.Series
	for i, client := range []string{"gsoap", "dotnet"} {
		for _, deployment := range []string{"standalone", "standalone-tls"} {
			s := advise.Series{Factors: []string{"service", "deployment", "client"},
				Levels: []string{"echo", deployment, client}, Side: measure.Client, Response: "delay", Unit: "s"}
			for k := range 8 {
				v := map[string]float64{"standalone": 1, "standalone-tls": float64(2 + 10*i)}[deployment]
				s.Trials = append(s.Trials, advise.TrialSummary{ID: k, Block: k, Mean: v * (1 + 0.001*float64((k*7+i)%5-2))})
			}
			series = append(series, s)
		}
	}
	of := func(c Claim) []advise.Stratum {
		p.Claims = []Claim{c}
		return p.Judge(series, Mapping{}, 0.95).Claims[0].Ours.Strata
	}
	ratio := c
	ratio.Difference = nil
	for want, strata := range map[[2]float64][]advise.Stratum{{1, 11}: of(c), {1. / 2, 1. / 12}: of(ratio)} {
		if len(strata) != 2 || strata[0].Name() != "client gsoap" || math.Abs(strata[0].Estimate-want[0]) > 0.01 ||
			math.Abs(strata[1].Estimate-want[1]) > 0.02 {
			t.Errorf("got %+v, want %v", strata, want)
		}
	}
	for paper, want := range map[string]string{
		"gsoap-on-arm":         "jitter: calls of standalone vary less than those of standalone-tls",
		"real-versus-emulated": "total_time: trials of real vary less than those of emulated",
	} {
		id := map[string]string{"gsoap-on-arm": "security-raises-jitter", "real-versus-emulated": "real-varies-less"}[paper]
		if _, c := claimOf(t, paper, id); c.Words() != want {
			t.Errorf("got %q, want %q", c.Words(), want)
		}
	}
}
