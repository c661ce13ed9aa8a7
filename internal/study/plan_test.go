package study

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func expand(t testing.TB, s Study) Plan {
	t.Helper()
	p, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func csvOf(t testing.TB, p Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(words []Word) string {
	var s []string
	for _, w := range words {
		s = append(s, w.Text)
	}
	return strings.Join(s, " | ")
}

// A plan must not change between versions and platforms: results of an
// interrupted run are resumed by it. The wants are printed by testdata/plan.py,
// which shares no code. If this fails, do not change the want.
func TestPlanStaysAsItIs(t *testing.T) {
	s := parse(t,
		"study: a\nservice: monitor\ndesign: {replications: 2, seed: 7}\nfactors: {stack: [soap, rest-json], ip: "+
			"[ipv4, ipv6]}\n")
	want := `id,block,replication,stack,ip
1,1,1,soap,ipv4
2,1,1,soap,ipv6
3,1,1,rest-json,ipv6
4,1,1,rest-json,ipv4
5,2,2,soap,ipv4
6,2,2,rest-json,ipv6
7,2,2,soap,ipv6
8,2,2,rest-json,ipv4
`
	p := expand(t, s)
	if got := csvOf(t, p); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	h := fnv.New64a()
	p, _ = p.Extend(200)
	for _, tr := range p.Trials {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(tr.Cell)))
		h.Write(binary.LittleEndian.AppendUint64(nil, tr.MessageSeed))
	}
	if got, want := h.Sum64(), uint64(0x96b3d2d3e7335cbd); got != want {
		t.Errorf("202 blocks: got %#x, want %#x", got, want)
	}
}

// The generator is the published one. Vectors: SplitMix64 from seed
// 1234567, as Rosetta Code and the reference C program print them.
func TestSplitMix64(t *testing.T) {
	g := generator{1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821} {
		if got := g.next(); got != want {
			t.Errorf("number %d: got %d, want %d", i, got, want)
		}
	}
}

// Random designs with random, overlapping exclusions, against a plain count.
func TestPlanProperties(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		sizes := []int{2 + r.IntN(4), 2 + r.IntN(3), 2 + r.IntN(3)}
		replications := 1 + r.IntN(5)
		var exclude [][3]int // -1: any level
		for range r.IntN(4) {
			exclude = append(exclude, [3]int{r.IntN(sizes[0]+1) - 1, r.IntN(sizes[1]+1) - 1, r.IntN(sizes[2])})
		}
		file, wanted := design(sizes, exclude, replications, seed)
		p := expand(t, parse(t, file))
		count, blocks := map[string]int{}, map[int]map[string]bool{}
		for i, tr := range p.Trials {
			k := text(tr.Treatment)
			count[k]++
			if blocks[tr.Block] == nil {
				blocks[tr.Block] = map[string]bool{}
			}
			blocks[tr.Block][k] = true
			if tr.ID != i+1 || tr.Replication != tr.Block || i > 0 && tr.Block < p.Trials[i-1].Block {
				t.Errorf("seed %d: trial %d is out of place: %+v", seed, i, tr)
			}
			if got := fmt.Sprintf("%d | %d | %d", tr.Setup.N, tr.Setup.Requests, tr.Setup.Concurrency); got != k {
				t.Errorf("seed %d: got setup %s for treatment %s", seed, got, k)
			}
		}
		if len(count) != len(wanted) {
			t.Errorf("seed %d: got %d treatments, want %d", seed, len(count), len(wanted))
		}
		for k := range wanted {
			if count[k] != replications {
				t.Errorf("seed %d: treatment %s stands %d times, want %d", seed, k, count[k], replications)
			}
			for b := 1; b <= replications; b++ {
				if !blocks[b][k] {
					t.Errorf("seed %d: block %d lacks %s", seed, b, k)
				}
			}
		}
	}
}

// design writes a study and counts its wanted treatments by itself. The levels
// of the factors are 10…, 20…, 1…, so that all are possible.
func design(sizes []int, exclude [][3]int, replications int, seed uint64) (file string, wanted map[string]bool) {
	names, base := []string{"n", "requests", "concurrency"}, []int{10, 20, 1}
	var b strings.Builder
	fmt.Fprintf(&b, "study: a\nservice: sort\nstack: soap\ndesign: {replications: %d, seed: %d}\nfactors:\n",
		replications, seed)
	for f, size := range sizes {
		fmt.Fprintf(&b, "  %s: [", names[f])
		for l := range size {
			fmt.Fprintf(&b, "%d, ", base[f]+l)
		}
		b.WriteString("]\n")
	}
	b.WriteString("exclude:\n")
	for _, x := range exclude {
		b.WriteString("  - {")
		for f, l := range x {
			if l >= 0 {
				fmt.Fprintf(&b, "%s: %d, ", names[f], base[f]+l)
			}
		}
		b.WriteString("}\n")
	}
	if len(exclude) == 0 {
		b.WriteString("  []\n")
	}
	wanted = map[string]bool{}
	for i := range sizes[0] {
		for j := range sizes[1] {
			for k := range sizes[2] {
				out := false
				for _, x := range exclude {
					out = out || (x[0] < 0 || x[0] == i) && (x[1] < 0 || x[1] == j) && x[2] == k
				}
				if !out {
					wanted[fmt.Sprintf("%d | %d | %d", base[0]+i, base[1]+j, base[2]+k)] = true
				}
			}
		}
	}
	return b.String(), wanted
}

func TestSeedFixesTheOrder(t *testing.T) {
	file := func(seed int) string {
		return fmt.Sprintf("study: a\nservice: sort\nstack: soap\ndesign: {seed: %d}\nfactors: {n: [1, 2, 3, 4, 5, "+
			"6, 7, 8]}\n", seed)
	}
	a, again, b := expand(t, parse(t, file(1))), expand(t, parse(t, file(1))), expand(t, parse(t, file(2)))
	if csvOf(t, a) != csvOf(t, again) {
		t.Error("the same seed gave another order")
	}
	if csvOf(t, a) == csvOf(t, b) {
		t.Error("another seed gave the same order")
	}
	orders := map[string]bool{}
	for block := range slices.Chunk(a.Trials, 8) {
		var o []string
		for _, tr := range block {
			o = append(o, text(tr.Treatment))
			if tr.MessageSeed != block[0].MessageSeed {
				t.Errorf("block %d: treatments see different messages", tr.Block)
			}
			if tr.MessageSeed >= 1<<53 {
				t.Errorf("message seed %d does not fit a float", tr.MessageSeed)
			}
		}
		orders[fmt.Sprint(o, block[0].MessageSeed)] = true
	}
	if len(orders) != 10 {
		t.Errorf("got %d different blocks, want 10", len(orders))
	}
	for i := range a.Trials {
		if a.Trials[i].MessageSeed == b.Trials[i].MessageSeed {
			t.Errorf("trial %d: seeds 1 and 2 make the same messages", i)
		}
	}
}

// Blocks added later are those of a plan made longer at once, also with other
// exclusions of the order they were asked for.
func TestExtend(t *testing.T) {
	file := "study: a\nservice: sort\nstack: soap\ndesign: {replications: %d}\nfactors: {n: [1, 2, 3, 4, 5]}\n"
	long := expand(t, parse(t, fmt.Sprintf(file, 12)))
	p := expand(t, parse(t, fmt.Sprintf(file, 3)))
	short := slices.Clone(p.Trials)
	q, err := p.Extend(4)
	if err != nil {
		t.Fatal(err)
	}
	if q, err = q.Extend(5); err != nil {
		t.Fatal(err)
	}
	if csvOf(t, q) != csvOf(t, long) {
		t.Errorf("got\n%swant\n%s", csvOf(t, q), csvOf(t, long))
	}
	for i := range q.Trials {
		if q.Trials[i].MessageSeed != long.Trials[i].MessageSeed {
			t.Errorf("trial %d: got another message seed", i)
		}
	}
	if !reflect.DeepEqual(p.Trials, short) {
		t.Error("Extend changed the plan it was asked of")
	}
}

// A block of some treatments is the whole block without the others: same order, same numbers,
// same messages, whatever was left out of blocks before.
func TestExtendBy(t *testing.T) {
	file := "study: a\nservice: sort\nstack: soap\ndesign: {replications: %d}\nfactors: {n: [1, 2, 3, 4, 5]}\n"
	whole := expand(t, parse(t, fmt.Sprintf(file, 5))).Trials
	p := expand(t, parse(t, fmt.Sprintf(file, 3)))
	short := slices.Clone(p.Trials)
	q := p
	for _, cells := range [][]int{{4, 1}, {1}} {
		var err error
		if q, err = q.ExtendBy(cells); err != nil {
			t.Fatal(err)
		}
	}
	want := slices.DeleteFunc(whole, func(x Trial) bool {
		return x.Block == 4 && x.Cell != 1 && x.Cell != 4 || x.Block == 5 && x.Cell != 1
	})
	if len(q.Trials) != 18 {
		t.Errorf("got %d trials, want 18", len(q.Trials))
	}
	for i := range q.Trials {
		a, b := q.Trials[i], want[i]
		if a.ID != b.ID || a.Block != b.Block || a.Cell != b.Cell || a.MessageSeed != b.MessageSeed {
			t.Errorf("trial %d: got %+v, want %+v", i, a, b)
		}
	}
	if !reflect.DeepEqual(p.Trials, short) {
		t.Error("ExtendBy changed the plan it was asked of")
	}
}

func TestPlansHaveAnEnd(t *testing.T) {
	if _, err := Expand(Study{}); err == nil {
		t.Error("a Study nobody parsed: got no error")
	}
	p := expand(t, parse(t, "study: a\nservice: sort\nstack: soap\nfactors: {n: [1, 2]}\n"))
	for _, blocks := range []int{MaxTrials, 1<<31 - 1, MaxTrials/2 - 9} {
		if _, err := p.Extend(blocks); err == nil {
			t.Errorf("%d more blocks: got no error", blocks)
		}
	}
	if q, err := p.Extend(MaxTrials/2 - 10); err != nil || len(q.Trials) != MaxTrials {
		t.Errorf("got %d trials, %v, want %d", len(q.Trials), err, MaxTrials)
	}
}

// Level texts with commas and quotes come back whole.
func TestCSVQuotes(t *testing.T) {
	s := parse(t, "study: a\nservice: monitor\nstack: soap\nfactors: {options.greeting: ['say \"hi\", twice', plain]}\n")
	rows, err := csv.NewReader(strings.NewReader(csvOf(t, expand(t, s)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range rows[1:] {
		seen[r[3]]++
	}
	if seen[`say "hi", twice`] != 10 || seen["plain"] != 10 || rows[0][3] != "options.greeting" {
		t.Errorf("got %v", seen)
	}
}

// A spreadsheet runs no level, and shows numbers as numbers.
func TestCSVHasNoFormulas(t *testing.T) {
	s := parse(t, "study: a\nservice: monitor\nstack: soap\n"+
		"factors: {options.note: ['=1+1', '+cmd', '-x', '@SUM(A1)', -1]}\n")
	rows, err := csv.NewReader(strings.NewReader(csvOf(t, expand(t, s)))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range rows[1:] {
		seen[r[3]]++
	}
	for _, level := range []string{"'=1+1", "'+cmd", "'-x", "'@SUM(A1)", "-1"} {
		if seen[level] != 10 {
			t.Errorf("got %v, want %s ten times", seen, level)
		}
	}
}

// Pearson's chi-square of the 24 orders of 4 treatments, and of the place each
// of 7 takes, over fixed seeds. Limits: 99.9 % quantiles of chi-square with 23
// and 36 degrees of freedom (testdata/plan.py prints them).
func TestShuffleIsUniform(t *testing.T) {
	const blocks = 24_000
	for _, seed := range []uint64{0, 1, 2, 3, 42, 1 << 40, 1<<53 - 1} {
		orders := map[[4]int]int{}
		var places [7][7]int
		for b := 1; b <= blocks; b++ {
			g := stream(seed, b, forOrder)
			four := []int{0, 1, 2, 3}
			shuffle(&g, four)
			orders[[4]int(four)]++
			seven := []int{0, 1, 2, 3, 4, 5, 6}
			shuffle(&g, seven)
			for place, x := range seven {
				places[place][x]++
			}
		}
		chi := 0.0
		for _, n := range orders {
			chi += square(float64(n)-blocks/24) / (blocks / 24)
		}
		if len(orders) != 24 || chi > 49.728 {
			t.Errorf("seed %d: orders: got %d, chi-square %.1f, want 24, below 49.728", seed, len(orders), chi)
		}
		chi = 0
		for _, row := range places {
			for _, n := range row {
				chi += square(float64(n)-blocks/7.0) / (blocks / 7.0)
			}
		}
		chi *= 6.0 / 7 // a place taken by one is taken from the others: covariance 1/6, not 1/7
		if chi > 67.985 {
			t.Errorf("seed %d: places: got chi-square %.1f, want below 67.985", seed, chi)
		}
	}
}

func square(x float64) float64 { return x * x }

// below has no favourites: with n of 3·2^62 four draws share three numbers, and
// without a second draw every third number would come twice as often.
func TestBelowIsUnbiased(t *testing.T) {
	g := generator{1}
	third := 0
	const draws = 30_000
	for range draws {
		v := g.below(3 << 62)
		if v >= 3<<62 {
			t.Fatalf("got %d, want below 3·2^62", v)
		}
		if v%3 == 0 {
			third++
		}
	}
	if d := third - draws/3; d < -400 || d > 400 { // 5 standard deviations
		t.Errorf("got %d of %d, want about %d", third, draws, draws/3)
	}
}

func TestSequence(t *testing.T) {
	s, err := Parse("s.yaml", []byte("study: s\nserver: {url: 'http://127.0.0.1'}\nrequest: {path: /}\nrequests: 5\n"+
		"factors: {rate: [10, 20, 30]}\n"), Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Sequence(s, [][]string{{"20"}, {"30", "20"}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for i, x := range p.Trials {
		if got = append(got, x.Setup.Rate); x.ID != i+1 || x.Replication != x.Block {
			t.Errorf("%+v", x)
		}
	}
	if !slices.Equal(got, []float64{20, 30, 20}) || p.Trials[0].Block != 1 || p.Trials[2].Block != 2 {
		t.Errorf("rates %v of %+v", got, p.Trials)
	}
	if p.Trials[0].MessageSeed != whole.Trials[0].MessageSeed || p.Trials[1].MessageSeed == p.Trials[0].MessageSeed ||
		p.Trials[0].Setup != p.Trials[2].Setup {
		t.Error("a block has not its own messages, or a treatment not its one setup")
	}
	if _, err := Sequence(s, [][]string{{"40"}}); err == nil {
		t.Error("40 is no level")
	}
	// Of the factors before, one level each is left.
	const two = "study: s\nserver: {url: 'http://127.0.0.1'}\nrequests: 5\nfactors: {way: " +
		"[{name: a, request: {path: /a}}, {name: b, request: {path: /b}}], rate: [10, 20]}\n"
	for _, tt := range []struct{ text, want string }{{two + "exclude: [{way: a}]\n", "b"}, {two, ""}} {
		if s, err = Parse("s.yaml", []byte(tt.text), Vocabulary{}); err != nil {
			t.Fatal(err)
		}
		p, err := Sequence(s, [][]string{{"20"}})
		switch {
		case (err == nil) != (tt.want != ""):
			t.Errorf("%s: %v", tt.text, err)
		case err == nil && (p.Trials[0].Treatment[0].Text != tt.want || p.Trials[0].Setup.Rate != 20):
			t.Errorf("%s: got %+v", tt.text, p.Trials[0])
		}
	}
}
