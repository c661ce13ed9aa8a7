package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

func TestEveryPaperReads(t *testing.T) {
	rows := map[string]int{"cloud-of-things": 12, "frameworks-on-raspberry-pi": 16, "gsoap-on-arm": 20,
		"real-versus-emulated": 24, "rest-versus-soap-mobile": 56}
	claims := map[string]int{"cloud-of-things": 8, "frameworks-on-raspberry-pi": 10, "gsoap-on-arm": 9,
		"real-versus-emulated": 7, "rest-versus-soap-mobile": 6}
	if got := Names(); len(got) != 5 {
		t.Errorf("got papers %v", got)
	}
	for _, name := range Names() {
		p, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Rows) != rows[name] || len(p.Claims) != claims[name] || p.Title == "" || p.Setup == "" ||
			len(p.Columns) == 0 {
			t.Errorf("%s: got %d rows and %d claims, columns %v", name, len(p.Rows), len(p.Claims), p.Columns)
		}
		for _, c := range p.Claims {
			if c.Form() == "" {
				t.Errorf("%s: claim %s has no form", name, c.ID)
			}
		}
	}
}

func TestClaimsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"p:\n  - {id: a, less: [x, y], published_ratio: [2, 1]}\n": "is not a range",
		"p:\n  - {id: a, response: rtt}\n":                         "has 0 forms",
		"p:\n  - {id: a, less: [x, y], ratio_of: [x, y]}\n":        "has 2 forms",
		"p:\n  - {id: a, equivalent: [x, y], within: 5}\n":         "is not a share",
		"p:\n  - {id: a, smaller: [x, y]}\n":                       "smaller",
	} {
		if _, err := ParseClaims([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// things are series of the cloud of things in which nothing differs from anything.
func things(r *rand.Rand) []advise.Series {
	var out []advise.Series
	for _, stack := range []string{"axis2", "dpws", "rest", "coap"} {
		for _, ip := range []string{"ipv4", "ipv6"} {
			for _, response := range []string{"serialization", "rtt", "deserialization"} {
				s := advise.Series{Factors: []string{"stack", "ip"}, Levels: []string{stack, ip}, Side: measure.Client,
					Response: response, Unit: "s"}
				for b := 1; b <= 6; b++ {
					s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: 1 + 0.1*r.NormFloat64()})
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// Where nothing differs, all claims of an order together are decided in at
// most 5 % of studies (Holm); without Holm it would be some 30 %.
func TestNoClaimIsDecidedByChance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = slices.DeleteFunc(p.Claims, func(c Claim) bool { return c.Equivalent != nil })
	r := rand.New(rand.NewPCG(7, 7))
	const studies = 1000
	wrong := 0
	for range studies {
		card := p.Judge(things(r), Mapping{}, 0.95)
		if slices.ContainsFunc(card.Claims, func(j Judged) bool { return j.Verdict != stat.Undecided }) {
			wrong++
		}
	}
	if wrong > studies*7/100 || wrong == 0 {
		t.Errorf("%d of %d studies decide a claim by chance", wrong, studies)
	}
}

// A block in which a stratum failed is left out of what is averaged.
func TestClaimsLeaveIncompleteBlocksOut(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	series := things(rand.New(rand.NewPCG(1, 1)))
	for i := range series {
		s := &series[i]
		for k := range s.Trials {
			s.Trials[k].Mean = map[string]float64{"axis2": 4, "dpws": 3, "rest": 1,
				"coap": 2}[s.Levels[0]] * (1 + 0.01*float64(k))
		}
		if s.Response == "rtt" && s.Levels[0] == "rest" && s.Levels[1] == "ipv4" {
			s.Trials = s.Trials[1:] // block 1 failed
		}
		if s.Response == "rtt" && s.Levels[0] == "rest" && s.Levels[1] == "ipv6" {
			s.Trials[0].Mean *= 1000 // and is seen if block 1 counts
		}
	}
	for _, j := range p.Judge(series, Mapping{}, 0.95).Claims {
		if j.ID == "rest-rtt-advantage" && (j.Direction != stat.Confirmed || j.Size != stat.Contradicted ||
			j.Ours.N[0] != 5 || j.Ours.Estimate < 3.999 || j.Ours.Estimate > 4.001) {
			t.Errorf("got %s, %v of %d blocks, want 4 of 5", j.Direction, j.Ours.Estimate, j.Ours.N[0])
		}
	}
}

// Direction and size are judged apart: 4 times is above 1 and not 11.48, 1.02 is
// no 90 % of overhead, and the published figure itself confirms both.
func TestSizeIsJudgedApart(t *testing.T) {
	for _, tt := range []struct {
		ratio, published float64
		direction, size  stat.Verdict
		whole            stat.Verdict
		is               string
	}{
		{4, 11.48, stat.Confirmed, stat.Contradicted, stat.Contradicted, Below},
		{40, 11.48, stat.Confirmed, stat.Contradicted, stat.Contradicted, Above},
		{11.48, 11.48, stat.Confirmed, stat.Confirmed, stat.Confirmed, Inside},
		{1.02, 1.9, stat.Confirmed, stat.Contradicted, stat.Contradicted, Below},
		{1.85, 1.9, stat.Confirmed, stat.Confirmed, stat.Confirmed, Inside},
		{0.009, 0.883, stat.Confirmed, stat.Contradicted, stat.Contradicted, Below},
		{0.5, 1.9, stat.Contradicted, stat.Contradicted, stat.Contradicted, Below},
		{1, 1.05, stat.Undecided, stat.Contradicted, stat.Undecided, Below},
		{1.9 * 1.25, 1.9, stat.Confirmed, stat.Undecided, stat.Undecided, ""}, // at the bound itself
	} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"},
			Ratio: span{tt.published, tt.published}}}
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			for k := range series[i].Trials {
				wobble := 0.001 * float64((k*7+i)%5-2)
				series[i].Trials[k].Mean = map[bool]float64{true: tt.ratio, false: 1}[series[i].Levels[0] == "axis2"] * (1 + wobble)
			}
		}
		j := p.Judge(series, Mapping{}, 0.95).Claims[0]
		if j.Direction != tt.direction || j.Size != tt.size || j.Verdict != tt.whole {
			t.Errorf("%g where %g is published: got direction %s, size %s, verdict %s", tt.ratio, tt.published, j.Direction,
				j.Size, j.Verdict)
		}
		if j.SizeIs != tt.is {
			t.Errorf("%g where %g is published: it is %q the bounds, want %q", tt.ratio, tt.published, j.SizeIs, tt.is)
		}
	}
}

// What is of a board, another machine cannot tell: neither the claim nor its size. A direction that is the contrary it
// contradicts where the claim leaves that to any machine.
func TestOnlyBoardsDecideWhatIsOfABoard(t *testing.T) {
	for _, tt := range []struct {
		onBoard      string
		ratio        float64
		board, other stat.Verdict
	}{
		{"", 0.1, stat.Contradicted, stat.Contradicted},
		{"", 4, stat.Contradicted, stat.Contradicted},
		{"", 11.48, stat.Confirmed, stat.Confirmed},
		{"size", 0.1, stat.Contradicted, stat.Contradicted},
		{"size", 4, stat.Contradicted, stat.Undecided},
		{"size", 11.48, stat.Confirmed, stat.Undecided},
		{"claim", 0.1, stat.Contradicted, stat.Undecided},
		{"claim", 4, stat.Contradicted, stat.Undecided},
		{"claim", 11.48, stat.Confirmed, stat.Undecided},
	} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"},
			Ratio: span{11.48, 11.48}, OnBoard: tt.onBoard}}
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			for k := range series[i].Trials {
				series[i].Trials[k].Mean = map[bool]float64{true: tt.ratio, false: 1}[series[i].Levels[0] == "axis2"] *
					(1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		board := p.Judge(series, Mapping{Board: map[measure.Side]bool{measure.Client: true}}, 0.95).Claims[0]
		other := p.Judge(series, Mapping{}, 0.95).Claims[0]
		if board.Verdict != tt.board || board.Needs != (Needs{}) {
			t.Errorf("%q ×%g on a board: %s, needs %+v", tt.onBoard, tt.ratio, board.Verdict, board.Needs)
		}
		if needs := (Needs{Board: tt.other == stat.Undecided}); other.Verdict != tt.other || other.Needs != needs ||
			needs.Board != strings.Contains(other.Decided(), "a board like the paper's") {
			t.Errorf("%q ×%g elsewhere: %s, needs %+v, decided by %q", tt.onBoard, tt.ratio, other.Verdict, other.Needs,
				other.Decided())
		}
	}
}

// What a model says stands apart: it is what meters would have been told, and decides nothing.
func TestModelsDecideNothing(t *testing.T) {
	for _, ratio := range []float64{0.1, 4, 11.48, 40} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"},
			Ratio: span{11.48, 11.48}}}
		var cards [2]Judged
		for m := range cards {
			series := things(rand.New(rand.NewPCG(1, 1)))
			for i := range series {
				series[i].Modelled = m == 1
				for k := range series[i].Trials {
					series[i].Trials[k].Mean = map[bool]float64{true: ratio, false: 1}[series[i].Levels[0] == "axis2"] *
						(1 + 0.001*float64((k*7+i)%5-2))
				}
			}
			cards[m] = p.Judge(series, Mapping{}, 0.95).Claims[0]
		}
		measured, modelled := cards[0], cards[1]
		if modelled.Verdict != stat.Undecided || modelled.AsModelled != measured.Verdict ||
			modelled.SizeIs != measured.SizeIs {
			t.Errorf("%g: got %s, as modelled %s %s; measured it is %s %s", ratio, modelled.Verdict, modelled.AsModelled,
				modelled.SizeIs, measured.Verdict, measured.SizeIs)
		}
		if modelled.Needs != (Needs{Meter: "client"}) || measured.Needs != (Needs{}) {
			t.Errorf("%g: modelled needs %+v, measured %+v", ratio, modelled.Needs, measured.Needs)
		}
		if !strings.Contains(modelled.Decided(), "a power meter at the client") || measured.AsModelled != "" ||
			measured.Decided() != "" {
			t.Errorf("%g: modelled is decided by %q, measured is %q as modelled, decided by %q", ratio, modelled.Decided(),
				measured.AsModelled, measured.Decided())
		}
	}
}

// As many blocks as an undecided claim asks for decide it: nearly always if that
// many are made, and seldom if a quarter of them is.
func TestEnoughBlocksAreAskedFor(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}}
	r := rand.New(rand.NewPCG(16, 3))
	judge := func(blocks int) Judged {
		var series []advise.Series
		for _, level := range []string{"axis2", "rest"} {
			s := advise.Series{Factors: []string{"stack"}, Levels: []string{level}, Side: measure.Client, Response: "rtt",
				Unit: "s"}
			for b := range blocks {
				gain := map[string]float64{"axis2": 1.05, "rest": 1}[level]
				s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: gain * math.Exp(0.1*r.NormFloat64())})
			}
			series = append(series, s)
		}
		return p.Judge(series, Mapping{Columns: nil}, 0.95).Claims[0]
	}
	// The truth: differences of logarithms have a deviation of 0.1·√2 around log 1.05.
	want, err := stat.Blocks(0.1*math.Sqrt2, 1e6, math.Log(1.05), 0.05, power)
	if err != nil {
		t.Fatal(err)
	}
	decided := func(blocks int) (n int) {
		for range 200 {
			if judge(blocks).Verdict == stat.Confirmed {
				n++
			}
		}
		return n
	}
	if full, quarter := decided(want), decided(want/4); full < 140 || quarter > 90 {
		t.Errorf("%d blocks decide %d of 200 studies, a quarter of them %d", want, full, quarter)
	}
	var asked []int
	for range 200 {
		j := judge(30)
		if j.Verdict != stat.Undecided {
			continue
		}
		var n, have int
		if _, err := fmt.Sscanf(j.Decided(), "about %d blocks instead of %d", &n, &have); err != nil {
			if !strings.Contains(j.Decided(), "more trials; how many cannot be said") {
				t.Fatalf("%q: %v", j.Decided(), err)
			}
			continue
		}
		if j.Needs != (Needs{Blocks: n}) {
			t.Fatalf("%q needs %+v", j.Decided(), j.Needs)
		}
		if asked = append(asked, n); have != 30 || n <= have {
			t.Fatalf("%q after 30 blocks", j.Decided())
		}
	}
	// Those that are undecided saw less than the truth on average, so they ask for more than it needs.
	if slices.Sort(asked); len(asked) < 20 || asked[len(asked)/2] < want/2 || asked[len(asked)/2] > 10*want {
		t.Errorf("%d of 200 studies asked for a median of %d blocks, %d are needed", len(asked), asked[len(asked)/2], want)
	}
}

// Twice as much here and half there is not alike, and no average applies which
// is quicker.
func TestNoAverageDecidesWhatDisagrees(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	for _, factor := range []float64{2, 3} {
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			v := map[string]float64{"axis2": factor, "dpws": 1 / factor}[s.Levels[0]]
			if v == 0 || s.Levels[1] == "ipv4" {
				v = 1
			}
			for k := range s.Trials {
				s.Trials[k].Mean = v * (1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		p.Claims = []Claim{
			{ID: "alike", Response: "transmission_rtt", Equivalent: []string{"ipv4", "ipv6"}, Within: 0.05},
			{ID: "less", Response: "transmission_rtt", Less: []string{"axis2", "dpws"}},
			{ID: "ip", Response: "transmission_rtt", Less: []string{"ipv4", "ipv6"}},
		}
		card := p.Judge(series, Mapping{}, 0.95)
		for i, want := range []stat.Verdict{stat.Contradicted, stat.Contradicted, stat.Undecided} {
			if c := card.Claims[i]; c.Verdict == stat.Confirmed || i != 1 && c.Verdict != want {
				t.Errorf("×%g, %s: got %s (%v)", factor, c.ID, c.Verdict, c.Why)
			}
		}
		if why := strings.Join(card.Claims[2].Why, " "); !strings.Contains(why, "no average applies") {
			t.Errorf("got %q", why)
		}
	}
}

// What waiting for a CPU can explain decides no claim; ten times is more than that.
func TestStarvedTrialsDecideNoClaim(t *testing.T) {
	for factor, want := range map[float64]stat.Verdict{1.3: stat.Undecided, 10: stat.Confirmed} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}}
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			s.Waiting = 0.3
			for k := range s.Trials {
				s.Trials[k].Mean = map[bool]float64{true: factor,
					false: 1}[s.Levels[0] == "axis2"] * (1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		j := p.Judge(series, Mapping{}, 0.95).Claims[0]
		if j.Verdict != want || want == stat.Undecided && !strings.Contains(strings.Join(j.Why, " "), "waited for a CPU") {
			t.Errorf("×%g: got %s, %v", factor, j.Verdict, j.Why)
		}
		if j.Needs != (Needs{Quiet: want == stat.Undecided}) {
			t.Errorf("×%g: it needs %+v", factor, j.Needs)
		}
	}
}

// Sides that waited for a CPU unlike decide nothing that this may explain, though neither starved.
func TestUnlikeWaitingDecidesNoClaim(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}}
	for waiting, want := range map[float64]stat.Verdict{0.01: stat.Confirmed, 0.09: stat.Undecided} {
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			slow := s.Levels[0] == "axis2"
			if slow {
				s.Waiting = waiting
			}
			for k := range s.Trials {
				s.Trials[k].Mean = map[bool]float64{true: 1.1, false: 1}[slow] * (1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		if j := p.Judge(series, Mapping{}, 0.95).Claims[0]; j.Verdict != want {
			t.Errorf("waiting %g: got %s, want %s, %v", waiting, j.Verdict, want, j.Why)
		}
	}
}

// Waiting that can move a ratio by 6 % decides sizes that lie further from the bounds than that.
func TestWaitingDecidesSizesFarFromTheBounds(t *testing.T) {
	for ratio, want := range map[float64]stat.Verdict{
		1.9: stat.Confirmed, 1.9 * 1.22: stat.Undecided, 1.9 * 1.29: stat.Undecided, 1.9 * 1.4: stat.Contradicted,
		1.9 / 1.22: stat.Undecided, 1.9 / 1.4: stat.Contradicted,
	} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"}, Ratio: span{1.9, 1.9}}}
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			slow := s.Levels[0] == "axis2"
			s.Waiting = map[bool]float64{true: 0.05}[slow]
			for k := range s.Trials {
				s.Trials[k].Mean = map[bool]float64{true: ratio, false: 1}[slow] * (1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		if j := p.Judge(series, Mapping{}, 0.95).Claims[0]; j.Size != want {
			t.Errorf("%g where 1.9 is published: got size %s, want %s", ratio, j.Size, want)
		}
	}
}

// A difference far beyond what waiting for a CPU can explain is decided, direction and size, and no nearer one.
func TestWaitingDecidesDifferencesFarFromTheBounds(t *testing.T) {
	const published = 9
	for _, tt := range []struct {
		waiting         float64
		slow            float64 // where the other takes 1
		direction, size stat.Verdict
	}{
		{0.05, 10, stat.Confirmed, stat.Confirmed},
		{0.05, 8.0, stat.Confirmed, stat.Undecided}, // 7 of at least 6.75, or 6.6 without the wait
		{0.05, 3, stat.Confirmed, stat.Contradicted},
		{0.05, 30, stat.Confirmed, stat.Contradicted},
		{0.3, 10, stat.Confirmed, stat.Undecided},
		{0.3, 3, stat.Confirmed, stat.Contradicted},
		{0.3, 1.3, stat.Undecided, stat.Contradicted},
		{0.3, 0.8, stat.Undecided, stat.Contradicted},
		{0.3, 0.5, stat.Contradicted, stat.Contradicted},
	} {
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		d := float64(published)
		p.Claims = []Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}, Difference: &d,
			Unit: "s"}}
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			slow := s.Levels[0] == "axis2"
			s.Waiting = map[bool]float64{true: tt.waiting}[slow]
			for k := range s.Trials {
				s.Trials[k].Mean = map[bool]float64{true: tt.slow, false: 1}[slow] * (1 + 0.001*float64((k*7+i)%5-2))
			}
		}
		if j := p.Judge(series, Mapping{}, 0.95).Claims[0]; j.Direction != tt.direction || j.Size != tt.size {
			t.Errorf("%g against 1, waiting %g: got %s, size %s; want %s, size %s", tt.slow, tt.waiting, j.Direction, j.Size,
				tt.direction, tt.size)
		}
	}
}

// What turns round by less than waiting for a CPU can explain is no interaction that was seen.
func TestWaitingTurnsNoInteraction(t *testing.T) {
	p, err := Load("frameworks-on-raspberry-pi")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "x", Side: "client", Response: "total_time", Interaction: []string{"framework", "message_kb"}}}
	for turn, want := range map[float64]stat.Verdict{1.1: stat.Undecided, 3: stat.Confirmed} {
		var series []advise.Series
		for i, levels := range [][]string{{"axis2", "100"}, {"axis2", "500"}, {"cxf", "100"}, {"cxf", "500"}} {
			s := advise.Series{Response: "total_time", Unit: "s", Side: "client", Waiting: 0.3,
				Factors: []string{"framework", "message_kb"}, Levels: levels}
			for k := range 10 {
				v := []float64{1, 1, turn, 1 / turn}[i]
				s.Trials = append(s.Trials, advise.TrialSummary{Block: k, Mean: v * (1 + 0.001*float64((k*7+i)%5-2))})
			}
			series = append(series, s)
		}
		if j := p.Judge(series, Mapping{}, 0.95).Claims[0]; j.Direction != want {
			t.Errorf("×%g: got %s, want %s, %v", turn, j.Direction, want, j.Why)
		}
	}
}

// A share is decided where it lies further from its bound than waiting for a CPU can explain.
func TestWaitingDecidesSharesFarFromTheBound(t *testing.T) {
	p, err := Load("frameworks-on-raspberry-pi")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "x", Side: "client", Response: "total_time", ShareBelow: 0.5}}
	for share, want := range map[float64]stat.Verdict{0.2: stat.Confirmed, 0.45: stat.Undecided, 0.6: stat.Undecided,
		0.8: stat.Contradicted} {
		var series []advise.Series
		for i, levels := range [][]string{{"axis2", "100"}, {"axis2", "500"}, {"cxf", "100"}, {"cxf", "500"}} {
			for response, v := range map[string]float64{"serialization": share / 2, "deserialization": share / 2,
				"total_time": 1} {
				s := advise.Series{Response: response, Unit: "s", Side: "client", Waiting: 0.3,
					Factors: []string{"framework", "message_kb"}, Levels: levels}
				for k := range 10 {
					wobble := 0.001 * float64((k*7+i+len(response))%5-2)
					s.Trials = append(s.Trials, advise.TrialSummary{Block: k, Mean: v * (1 + wobble)})
				}
				series = append(series, s)
			}
		}
		if j := p.Judge(series, Mapping{}, 0.95).Claims[0]; j.Direction != want {
			t.Errorf("%g of at most 0.5: got %s, want %s, %v", share, j.Direction, want, j.Why)
		}
	}
}

// A size is said with its unit, if it has one.
func TestBoundsHaveTheirUnit(t *testing.T) {
	difference, slope := 0.43, 26.0
	for want, c := range map[string]Claim{
		"0.3225 to 0.5375 s": {Difference: &difference, Unit: "s"},
		"19.5 to 32.5 B":     {Slope: &slope, Unit: "B"},
		"1.52 to 2.375":      {Ratio: span{1.9, 1.9}},
	} {
		j := Judged{Claim: c}
		lo, hi, ok := c.SizeBounds()
		if got := j.bounds(lo, hi); !ok || got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The factor that a claim compares is the one that has its levels, though another has a level of the same name.
func TestAClaimFindsTheFactorOfItsLevels(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	var series []advise.Series
	for _, s := range things(rand.New(rand.NewPCG(2, 3))) {
		for _, tunnel := range []string{"ipv4", "none"} {
			s.Factors, s.Levels = []string{"stack", "ip", "a-tunnel"}, []string{s.Levels[0], s.Levels[1], tunnel}
			series = append(series, s)
		}
	}
	for range 20 {
		for _, j := range p.Judge(series, Mapping{}, 0.95).Claims {
			if j.ID == "ip-version-does-not-matter" && (len(j.Missing) > 0 || len(j.Parts) == 0) {
				t.Fatalf("missing %q, %d parts", j.Missing, len(j.Parts))
			}
		}
	}
}

// Bounds of a ratio say nothing of a difference, which takes its place where a value is not above 0.
func TestZerosDecideNoRatio(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []Claim{{ID: "alike", Response: "transmission_rtt", Equivalent: []string{"rest", "axis2"}, Within: 0.05},
		{ID: "part", Response: "total_time", ShareBelow: 0.5}}
	for _, zeros := range []int{1, 6} { // trials of 6
		series := things(rand.New(rand.NewPCG(1, 1)))
		for i := range series {
			s := &series[i]
			for k := range s.Trials {
				if s.Trials[k].Mean = 1 + 0.001*float64((k*7+i)%5-2); k < zeros {
					s.Trials[k].Mean = 0
				}
			}
			if s.Response == "rtt" && i%3 == 1 {
				whole := *s
				whole.Response = "total_time"
				whole.Trials = slices.Clone(s.Trials)
				for k := range whole.Trials {
					whole.Trials[k].Mean = 0.002
				}
				series = append(series, whole)
			}
		}
		for _, j := range p.Judge(series, Mapping{}, 0.95).Claims {
			why := strings.Join(j.Why, " ")
			for _, part := range j.Parts {
				why += part.Why
			}
			if len(j.Parts) == 0 || j.Verdict != stat.Undecided || !strings.Contains(why, "not above 0") {
				t.Errorf("%d zeros, %s: got %s of %d parts, %q", zeros, j.ID, j.Verdict, len(j.Parts), why)
			}
		}
	}
}
