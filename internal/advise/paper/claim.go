package paper

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/published"
)

// A Claim is what a paper concludes, as published/claims.yaml states it.
// Exactly one of the forms is set.
type Claim struct {
	ID       string            `yaml:"id"`       // unique in its paper
	Says     string            `yaml:"says"`     // the claim in the paper's words
	Plain    string            `yaml:"-"`        // the claim in a plain sentence of ours (published/plain.yaml)
	Response string            `yaml:"response"` // our name of what it is about
	Side     string            `yaml:"side"`     // client or server; empty: as the response or the paper says
	At       map[string]string `yaml:"at"`       // level of each dimension at which it holds
	// Everywhere: it holds in each treatment by itself, not on average.
	Everywhere bool `yaml:"everywhere"`
	// OnBoard is what of it only a board like the paper's can tell: claim, all of it; size; empty: nothing.
	OnBoard string `yaml:"on_board"`
	// ByDesign is likewise what of it the messages of our study were made to be, where Paper.Designed are set.
	ByDesign string `yaml:"by_design"`
	Decide   string `yaml:"decide"` // what a board must have besides to decide it, in words

	Less          []string `yaml:"less"`           // levels, the lowest first
	Greatest      string   `yaml:"greatest"`       // the level above all others
	RatioOf       []string `yaml:"ratio_of"`       // first level over second
	ResponseLess  []string `yaml:"response_less"`  // responses, the lower first
	ResponseRatio []string `yaml:"response_ratio"` // first response over second
	SpreadLess    []string `yaml:"spread_less"`    // levels, the steadier first
	ShareOf       string   `yaml:"share_of"`       // a response that is part of Response
	ShareAbove    float64  `yaml:"share_above"`    // 0 to 1; 0: no bound
	ShareBelow    float64  `yaml:"share_below"`    // likewise
	GrowthIn      string   `yaml:"growth_in"`      // a column of numbers: response ∝ column^exponent
	SlopePer      string   `yaml:"slope_per"`      // a column of numbers: response = a + slope·column
	Interaction   []string `yaml:"interaction"`    // which level of the first is lower depends on the second
	Equivalent    []string `yaml:"equivalent"`     // two levels
	Within        share    `yaml:"within"`         // share by which Equivalent may differ, such as 0.1

	// Ratio is the lowest and highest that the paper found; nil: it names none; empty: the table gives it.
	Ratio      span     `yaml:"published_ratio"`
	Share      span     `yaml:"published_share"`      // likewise, of ShareOf
	Exponent   span     `yaml:"published_exponent"`   // likewise, of GrowthIn
	Slope      *float64 `yaml:"published_slope"`      // of SlopePer, in Unit; nil: likewise
	Difference *float64 `yaml:"published_difference"` // in Unit; nil: likewise
	Unit       string   `yaml:"unit"`                 // of Slope and Difference

	// Pairs are the published ratios of each level of Less over the next, where there are more than two.
	Pairs   []span `yaml:"-"`
	ofCalls bool   // spreads are of calls, not of trials
}

// A span is one figure or the range of several; empty, not nil: the table gives it.
type span []float64

func (s *span) UnmarshalYAML(n *yaml.Node) error {
	var one float64
	if n.Value == "table" {
		*s = span{}
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		if err := n.Load(&one); err != nil {
			return err
		}
		*s = span{one, one}
		return nil
	}
	var both []float64
	if err := n.Load(&both); err != nil {
		return err
	}
	if len(both) != 2 || both[0] > both[1] {
		return fmt.Errorf("line %d: %v is not a range", n.Line, both)
	}
	*s = both
	return nil
}

// A share is written 5%.
type share float64

func (s *share) UnmarshalYAML(n *yaml.Node) error {
	text, ok := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || v <= 0 || v >= 100 {
		return fmt.Errorf("line %d: %q is not a share; write 5%%", n.Line, n.Value)
	}
	*s = share(v / 100)
	return nil
}

// Form names what is claimed.
func (c Claim) Form() string {
	for _, f := range forms {
		if f.is(c) {
			return f.name
		}
	}
	return ""
}

func loadClaims(name string) ([]Claim, error) {
	text, err := fs.ReadFile(published.Files, "claims.yaml")
	if err != nil {
		return nil, err
	}
	all, err := ParseClaims(text)
	if err != nil {
		return nil, err
	}
	plain, err := plainWords()
	for i, c := range all[name] {
		all[name][i].Plain = plain[name][c.ID]
	}
	return all[name], err
}

// ParseClaims reads claims.yaml: claims by paper. A key it does not know, and
// a claim without a form it can judge, are errors.
func ParseClaims(text []byte) (map[string][]Claim, error) {
	var all map[string][]Claim
	if err := yaml.Load(text, &all, yaml.WithKnownFields()); err != nil {
		return nil, err
	}
	for paper, claims := range all {
		for i, c := range claims {
			n := 0
			for _, f := range forms {
				if f.is(c) {
					n++
				}
			}
			if c.ID == "" || n != 1 {
				return nil, fmt.Errorf("%s: claim %d %q has %d forms; write one of less, ratio_of, …", paper, i+1, c.ID, n)
			}
			_, _, size := c.SizeBounds()
			size = size || c.Ratio != nil && len(c.Ratio) == 0
			for key, value := range map[string]string{"on_board": c.OnBoard, "by_design": c.ByDesign} {
				if value != "" && value != "claim" && (value != "size" || !size) {
					return nil, fmt.Errorf("%s: claim %q: invalid %s %q; write claim, or size if it states one", paper, c.ID, key,
						value)
				}
			}
			if c.Exponent != nil && len(c.Exponent) == 0 {
				return nil, fmt.Errorf("%s: claim %q: write the published_exponent, a table gives none", paper, c.ID)
			}
		}
	}
	return all, nil
}
