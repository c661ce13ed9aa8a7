package paper

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// compared is one side of a ratio in the table: the sum of responses, at levels.
type compared struct {
	responses []string
	at        map[string]string
}

// complete fills in what a claim leaves to the paper: the figures that its table gives, and what its spreads are of.
func (p Paper) complete(c *Claim) error {
	c.ofCalls = p.Spread == "within"
	if c.Share != nil && len(c.Share) == 0 {
		return p.shares(c)
	}
	if c.Ratio == nil || len(c.Ratio) > 0 {
		return nil
	}
	if n := len(c.Less); n > 2 {
		c.Ratio = nil
		for i := range n - 1 {
			pair, err := p.levels(*c, c.Less[i], c.Less[i+1])
			if err != nil {
				return err
			}
			c.Pairs = append(c.Pairs, pair)
		}
		return nil
	}
	var err error
	c.Ratio, err = p.ratio(*c)
	return err
}

// ratio is the published range of what a claim compares.
func (p Paper) ratio(c Claim) (span, error) {
	switch c.Form() {
	case "less":
		return p.levels(c, c.Less[0], c.Less[1])
	case "ratio_of":
		return p.levels(c, c.RatioOf[0], c.RatioOf[1])
	case "equivalent":
		return p.levels(c, c.Equivalent[0], c.Equivalent[1])
	case "spread_less":
		return p.levels(c, c.SpreadLess[0], c.SpreadLess[1])
	case "response_less":
		return rangeOf(ratios(c, p.Rows, compared{responses: c.ResponseLess[:1]}, compared{responses: c.ResponseLess[1:]}))
	case "response_ratio":
		return rangeOf(ratios(c, p.Rows, compared{responses: c.ResponseRatio[:1]}, compared{responses: c.ResponseRatio[1:]}))
	case "greatest":
		column, ok := p.column(c.Greatest)
		if !ok {
			return nil, errNotGiven
		}
		var all []float64
		for _, l := range p.values(column) {
			if l != c.Greatest {
				all = append(all, ratios(c, p.Rows, p.level(c, column, c.Greatest), p.level(c, column, l))...)
			}
		}
		return rangeOf(all)
	}
	return nil, fmt.Errorf("no ratio is published of %s", c.Form())
}

// levels is the published range of one level over another.
func (p Paper) levels(c Claim, a, b string) (span, error) {
	column, ok := p.column(a, b)
	if !ok {
		return nil, errNotGiven
	}
	rows := p.Rows
	if c.SpreadLess != nil {
		rows = p.deviations
	}
	return rangeOf(ratios(c, rows, p.level(c, column, a), p.level(c, column, b)))
}

func (p Paper) level(c Claim, column, level string) compared {
	return compared{[]string{c.Response}, map[string]string{column: level}}
}

// shares fills in the published range of a share.
func (p Paper) shares(c *Claim) (err error) {
	whole, parts := wholeAndParts(*c)
	c.Share, err = rangeOf(ratios(*c, p.Rows, compared{responses: parts}, compared{responses: []string{whole}}))
	return err
}

// ratios are those of two sides in each place of the table that has both.
func ratios(c Claim, rows []Row, a, b compared) []float64 {
	var out []float64
	for _, place := range rows {
		if place.Response != a.responses[0] || !within(place.At, a.at) || c.Side != "" && string(place.Side) != c.Side ||
			slices.ContainsFunc(slices.Sorted(maps.Keys(c.At)), func(k string) bool {
				v, ok := place.At[k]
				return ok && v != c.At[k]
			}) {
			continue
		}
		x, ok := a.sum(rows, place)
		y, ok2 := b.sum(rows, place)
		if ok && ok2 && y > 0 {
			out = append(out, x/y)
		}
	}
	return out
}

// sum is what a side has in the place of a row, but for its levels.
func (x compared) sum(rows []Row, place Row) (float64, bool) {
	at := maps.Clone(place.At)
	maps.Copy(at, x.at)
	total := 0.0
	for _, response := range x.responses {
		i := slices.IndexFunc(rows, func(r Row) bool {
			return r.Response == response && r.Side == place.Side && maps.Equal(r.At, at)
		})
		if i < 0 {
			return 0, false
		}
		total += rows[i].Mean
	}
	return total, true
}

var errNotGiven = errors.New("the table gives no figure of it")

func rangeOf(all []float64) (span, error) {
	if len(all) == 0 {
		return nil, errNotGiven
	}
	return span{slices.Min(all), slices.Max(all)}, nil
}
