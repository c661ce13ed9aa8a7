package paper

import (
	"fmt"
	"slices"
	"strings"
)

// Words is the claim as a sentence: "total_time at the server: axis2 below cxf (message_kb 100)".
func (c Claim) Words() string {
	text := c.stated()
	if c.Response != "" && !strings.HasPrefix(text, c.Response) {
		text = c.Response + c.atSide() + ": " + text
	}
	if c.Everywhere {
		text += ", everywhere"
	}
	if len(c.At) > 0 {
		text += " (" + inWords(c.At) + ")"
	}
	return text
}

func (c Claim) atSide() string {
	if c.Side == "" {
		return ""
	}
	return " at the " + c.Side
}

func (c Claim) stated() string {
	switch c.Form() {
	case "less":
		return strings.Join(c.Less, " below ")
	case "greatest":
		return c.Greatest + " above all others"
	case "ratio_of":
		return c.RatioOf[0] + " " + c.side() + " " + c.RatioOf[1]
	case "response_less":
		return c.ResponseLess[0] + " below " + c.ResponseLess[1] + ", everywhere"
	case "response_ratio":
		return c.ResponseRatio[0] + " " + c.side() + " " + c.ResponseRatio[1]
	case "spread_less":
		of := "trials"
		if c.ofCalls {
			of = "calls"
		}
		return of + " of " + c.SpreadLess[0] + " vary less than those of " + c.SpreadLess[1]
	case "share":
		return c.shareWords()
	case "growth_in":
		return fmt.Sprintf("grows as %s to the power of %g to %g", c.GrowthIn, c.Exponent[0], c.Exponent[1])
	case "slope_per":
		return "grows with " + c.SlopePer
	case "interaction":
		return fmt.Sprintf("which %s is lower depends on %s", c.Interaction[0], c.Interaction[1])
	case "equivalent":
		return fmt.Sprintf("%s and %s alike: neither over %g %% below the other", c.Equivalent[0], c.Equivalent[1],
			100*float64(c.Within))
	}
	return c.ID
}

// side of 1 on which the published ratio lies.
func (c Claim) side() string {
	if lo, hi, ok := c.Published(); ok && lo+hi < 2 {
		return "below"
	}
	return "above"
}

func (c Claim) shareWords() string {
	what := c.ShareOf + "'s share"
	if c.ShareOf == "" {
		what = "serialization and deserialization's share of total_time"
	}
	if c.ShareAbove > 0 {
		return fmt.Sprintf("%s above %g %%", what, 100*c.ShareAbove)
	}
	return fmt.Sprintf("%s below %g %%", what, 100*c.ShareBelow)
}

// Kind is what the published figure is.
func (c Claim) Kind() string {
	switch {
	case len(c.Ratio) > 0 && c.SpreadLess != nil:
		return "spread ratio"
	case len(c.Ratio) > 0 || c.Pairs != nil:
		return "ratio"
	case len(c.Share) > 0:
		return "share"
	case c.Exponent != nil:
		return "exponent"
	case c.Slope != nil:
		return "slope"
	case c.Difference != nil:
		return "difference"
	}
	return ""
}

// Count is how many claims have a verdict.
func (s Scorecard) Count(v string) int {
	n := 0
	for _, c := range s.Claims {
		if string(c.Verdict) == v {
			n++
		}
	}
	return n
}

// Reference is the paper in a line.
func (p Paper) Reference() string {
	if p.Year == 0 {
		return fmt.Sprintf("%q", p.Title)
	}
	return fmt.Sprintf("%q (%d)", p.Title, p.Year)
}

// Range is the parts' least and greatest figure of one kind; false where
// there are none.
func (j Judged) Range() (kind, unit string, lo, hi float64, ok bool) {
	for _, p := range j.Parts {
		if p.Ours.None() || kind != "" && p.Ours.Kind != kind {
			return "", "", 0, 0, false
		}
		if kind == "" {
			kind, unit, lo, hi = p.Ours.Kind, p.Ours.Unit, p.Ours.Estimate, p.Ours.Estimate
		}
		lo, hi = min(lo, p.Ours.Estimate), max(hi, p.Ours.Estimate)
	}
	return kind, unit, lo, hi, kind != ""
}

// Untested are the parts that could not be tested.
func (j Judged) Untested() []Part {
	return slices.DeleteFunc(slices.Clone(j.Parts), func(p Part) bool { return p.Why == "" })
}
