// Package paper holds what papers published, sets it beside ours and judges
// their claims. It decides by intervals and tests of stat, never by estimates,
// and knows no store: it is handed series.
package paper

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/published"
)

// A Paper is one published study: its table, its claims, and what must be
// known of both.
type Paper struct {
	Name       string            `yaml:"-"`
	Title      string            `yaml:"title"`      // as printed
	Year       int               `yaml:"year"`       // 0: not known
	Setup      string            `yaml:"setup"`      // machines and programs, in words
	Trials     int               `yaml:"trials"`     // behind each mean; 0: not said
	Confidence float64           `yaml:"confidence"` // of its intervals, 0 to 1
	Statistic  string            `yaml:"statistic"`  // of a table with several, the one that is a mean
	Responses  map[string]string `yaml:"responses"`  // published name → ours
	Spread     string            `yaml:"spread"`     // deviations are of requests ("within" a trial) or of trials (empty)
	Side       string            `yaml:"side"`       // of a table without a column side
	Aside      string            `yaml:"aside"`      // what a reader has to know besides
	Boards     string            `yaml:"boards"`     // of today, that stand for the paper's, in words
	On         []string          `yaml:"on"`         // what --set makes the study run on them
	// Outside are responses of ours, by stack, that hold less than the paper's of that name: they are not compared.
	Outside map[string][]string `yaml:"outside"`
	// OwnStack is the paper's stack behind a published level: another one decides nothing of that level. OwnSet is what
	// --set runs them.
	OwnStack map[string]string `yaml:"own_stack"`
	OwnSet   []string          `yaml:"own_set"`
	// BoardSide is the side of the paper's board, if claims do not name it: client or server.
	BoardSide string `yaml:"board_side"`
	// Designed are options of stacks that make messages after the published sizes (Claim.ByDesign).
	Designed  []string `yaml:"designed"`
	Differs   []string `yaml:"differs"`   // in what every run of our study differs, besides what the study says
	Modelled  string   `yaml:"modelled"`  // what a modelled figure of the study is; empty: nothing special
	Nearest   string   `yaml:"nearest"`   // the device of ours that is nearest to the paper's; empty: none
	Deviation string   `yaml:"deviation"` // of a table with several statistics, the one that is a deviation
	Columns   []string `yaml:"-"`         // that tell treatments apart
	Rows      []Row    `yaml:"-"`
	Claims    []Claim  `yaml:"-"`

	deviations []Row
}

// A Row is one published figure. HalfWidth is NaN where none is printed.
type Row struct {
	At              map[string]string // column → value
	Side            measure.Side
	Response, Unit  string
	Mean, HalfWidth float64
}

// Names lists the papers there are.
func Names() []string {
	var out []string
	for name := range mustCatalogue() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Tables lists the columns that distinguish each table's treatments. It reads no claims, since every reading of a study
// asks for it.
func Tables() map[string][]string {
	out := map[string][]string{}
	for name, p := range mustCatalogue() {
		if p.readFile(name) == nil {
			out[name] = p.Columns
		}
	}
	return out
}

func mustCatalogue() map[string]Paper {
	all, err := catalogue()
	if err != nil {
		panic(err) // embedded, and read by a test
	}
	return all
}

func catalogue() (map[string]Paper, error) {
	text, err := fs.ReadFile(published.Files, "papers.yaml")
	if err != nil {
		return nil, err
	}
	var all map[string]Paper
	if err := yaml.Load(text, &all, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("published/papers.yaml: %w", err)
	}
	return all, nil
}

// Load reads one paper.
func Load(name string) (Paper, error) {
	all, err := catalogue()
	if err != nil {
		return Paper{}, err
	}
	p, ok := all[name]
	if !ok {
		return Paper{}, fmt.Errorf("unknown published table %q; available: %s", name, strings.Join(Names(), ", "))
	}
	p.Name = name
	if err := p.readFile(name); err != nil {
		return Paper{}, fmt.Errorf("published/%s.csv: %w", name, err)
	}
	if p.Claims, err = loadClaims(name); err != nil {
		return Paper{}, fmt.Errorf("published/claims.yaml: %w", err)
	}
	for i := range p.Claims {
		if err := p.complete(&p.Claims[i]); err != nil {
			return Paper{}, fmt.Errorf("published/claims.yaml: %s: claim %q: %w", name, p.Claims[i].ID, err)
		}
	}
	return p, nil
}

// figures are the columns that hold no treatment.
var figures = []string{"side", "response", "statistic", "unit", "mean", "value", "ci95_half_width"}

// readFile reads the table of a paper.
func (p *Paper) readFile(name string) error {
	text, err := fs.ReadFile(published.Files, name+".csv")
	if err != nil {
		return err
	}
	return p.readTable(string(text))
}

func (p *Paper) readTable(text string) error {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	head := lines[0]
	for _, c := range head {
		if !slices.Contains(figures, c) {
			p.Columns = append(p.Columns, c)
		}
	}
	for i, line := range lines[1:] {
		at := map[string]string{}
		for j, c := range head {
			at[c] = line[j]
		}
		s, several := at["statistic"]
		if several && s != p.Statistic && (s == "" || s != p.Deviation) {
			continue
		}
		r, err := rowOf(at, p)
		if err != nil {
			return fmt.Errorf("line %d: %w", i+2, err)
		}
		if several && s != p.Statistic {
			p.deviations = append(p.deviations, r)
			continue
		}
		p.Rows = append(p.Rows, r)
	}
	return nil
}

// scales bring published units to SI.
var scales = map[string]struct {
	unit   string
	factor float64
}{"s": {"s", 1}, "ms": {"s", 1e-3}, "ns": {"s", 1e-9}, "J": {"J", 1}, "B": {"B", 1}}

func rowOf(at map[string]string, p *Paper) (Row, error) {
	scale, ok := scales[at["unit"]]
	if !ok {
		return Row{}, fmt.Errorf("unknown unit %q", at["unit"])
	}
	text := at["mean"]
	if text == "" {
		text = at["value"]
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Row{}, err
	}
	r := Row{At: map[string]string{}, Side: measure.Side(at["side"]), Response: at["response"], Unit: scale.unit,
		Mean: v * scale.factor, HalfWidth: math.NaN()}
	if r.Side == "" {
		r.Side = measure.Side(p.Side)
	}
	if h := at["ci95_half_width"]; h != "" {
		if v, err = strconv.ParseFloat(h, 64); err != nil {
			return Row{}, err
		}
		r.HalfWidth = v * scale.factor
	}
	for _, c := range p.Columns {
		r.At[c] = at[c]
	}
	return r, nil
}

// against is ours over theirs: Welch on logarithms where theirs has an
// interval; else theirs is taken as exact, and Method says so.
func (p Paper) against(ours []float64, r Row, confidence float64) (stat.Comparison, error) {
	s, err := stat.Mean(ours, confidence)
	if err != nil {
		return stat.Comparison{}, err
	}
	if len(ours) > 1 && p.Trials > 1 && r.HalfWidth > 0 {
		theirs, err := stat.FromHalfWidth(p.Trials, r.Mean, r.HalfWidth, p.Confidence)
		if err != nil {
			return stat.Comparison{}, err
		}
		return stat.RatioOfMoments(stat.Moments{N: len(ours), Mean: s.Center, SD: stat.SD(ours)}, theirs, confidence)
	}
	if !(r.Mean > 0) || !(s.Center > 0) {
		return stat.Comparison{}, fmt.Errorf("%w: a mean of %v against %v has no ratio", stat.ErrSign, s.Center, r.Mean)
	}
	return stat.Comparison{N: [2]int{len(ours), 1}, Estimate: s.Center / r.Mean, Lo: s.Lo / r.Mean, Hi: s.Hi / r.Mean,
		Confidence: confidence,
		P:          math.NaN(), DF: math.NaN(),
		Method: "our mean and its interval divided by the published value, which has no interval"}, nil
}
