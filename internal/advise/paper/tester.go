package paper

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// A tester makes the parts of one claim.
type tester struct {
	view
	claim      Claim
	confidence float64
	judged     *Judged
	instead    bool // a stack stood for the paper's own in the part being made
}

// boardSides are those at which a claim about a board needs one.
func (t *tester) boardSides() []measure.Side {
	c := t.claim
	if t.paper.BoardSide != "" {
		return []measure.Side{measure.Side(t.paper.BoardSide)}
	}
	of := c.Response
	for _, names := range [][]string{c.ResponseLess, c.ResponseRatio} {
		if of == "" && len(names) > 0 {
			of = names[0]
		}
	}
	if of == "" && c.Side == "" {
		return bothSides
	}
	return t.sides(of)
}

// stood notes that a series was measured with another stack than the paper's. One that is named as the paper's level is
// taken for its own.
func (t *tester) stood(s advise.Series) {
	at := t.mapping.place(t.paper, s)
	for _, column := range t.paper.Columns {
		own, ok := t.paper.OwnStack[at[column]]
		if !ok || s.Stack == "" || s.Stack == own || s.Stack == at[column] {
			continue
		}
		t.instead = true
		if text := s.Stack + ", not " + own; !slices.Contains(t.judged.standing, text) {
			t.judged.standing = append(t.judged.standing, text)
		}
		if !slices.Contains(t.judged.foreign, own) {
			t.judged.foreign = append(t.judged.foreign, own)
		}
		beyond := s.Response + " of " + own
		if slices.Contains(t.paper.Outside[own], s.Response) && !slices.Contains(t.judged.Beyond, beyond) {
			t.judged.Beyond = append(t.judged.Beyond, beyond)
		}
	}
}

const standIn = "ours is another stack than the paper's own"

// stands says that a stack stood for the paper's own in the part being made, and forgets it; empty: none did.
func (t *tester) stands() string {
	was := t.instead
	if t.instead = false; was {
		return standIn
	}
	return ""
}

// A scope is where a claim is tested at once: one side, and the strata (places
// without what is compared) over which ratios are averaged.
type scope struct {
	t      *tester
	side   measure.Side
	strata []map[string]string
	name   string // of the scope among others
}

// A selection is what stands on one side of a comparison: the sum of some
// responses, at some levels.
type selection struct {
	scope     scope
	want      map[string]string
	responses []string
	within    bool // standard deviations within trials, not their means
	atLimit   bool // requests that failed count as answered when nobody waited for them any longer
}

func (s scope) where(what string) string {
	if s.name != "" {
		return what + ", " + s.name
	}
	return what
}

func (s scope) level(dim, level string) selection {
	return selection{scope: s, want: map[string]string{dim: level}, responses: []string{s.t.claim.Response}}
}

func (s selection) level(dim, level string) selection {
	want := maps.Clone(s.want)
	want[dim] = level
	return selection{scope: s.scope, want: want, responses: s.responses}
}

func (s scope) response(name string) selection { return selection{scope: s, responses: []string{name}} }

func (s scope) sum(names []string) selection { return selection{scope: s, responses: names} }

// eligible reports whether a series is one the paper speaks of: no floor, all
// its columns told and of published levels, and where the claim is.
func (v view) eligible(i int, c Claim) bool {
	if v.series[i].Floor || !within(v.at[i], c.At) {
		return false
	}
	for _, col := range v.paper.Columns {
		level, ok := v.at[i][col]
		if !ok || !slices.ContainsFunc(v.paper.Rows, func(r Row) bool { return r.At[col] == level }) {
			return false
		}
	}
	return true
}

// sides are those a response of the claim is looked at.
func (t *tester) sides(response string) []measure.Side {
	term, err := t.term(response)
	switch {
	case err != nil:
		return nil
	case t.claim.Side != "":
		return []measure.Side{measure.Side(t.claim.Side)}
	case term.Side != "":
		return []measure.Side{term.Side}
	case t.paper.Side != "":
		return []measure.Side{measure.Side(t.paper.Side)}
	}
	return bothSides
}

// find lists the series of a response at a side in a place.
func (t *tester) find(response string, side measure.Side, place ...map[string]string) []advise.Series {
	term, err := t.term(response)
	if err != nil {
		return nil
	}
	if term.Side != "" && t.claim.Side == "" {
		side = term.Side
	}
	var out []advise.Series
	for i, s := range t.series {
		if s.Response != term.Response || s.Side != side || !t.eligible(i, t.claim) {
			continue
		}
		if !slices.ContainsFunc(place, func(p map[string]string) bool { return !within(t.at[i], p) }) {
			out = append(out, s)
		}
	}
	return out
}

// scopes splits a claim by side, and by stratum if it must hold everywhere.
// free are the dimensions compared, separated by zero bytes.
func (t *tester) scopes(free string, everywhere bool, responses ...string) []scope {
	var out []scope
	sides := t.sides(responses[0])
	for _, side := range sides {
		strata := t.strata(side, strings.Split(free, "\x00"), responses)
		if len(strata) == 0 {
			continue
		}
		name := ""
		if len(sides) > 1 {
			name = string(side)
		}
		if !everywhere {
			out = append(out, scope{t, side, strata, name})
			continue
		}
		for _, x := range strata {
			s := scope{t, side, []map[string]string{x}, name}
			if words := inWords(varying(x, strata)); words != "" {
				s.name = strings.TrimPrefix(name+", "+words, ", ")
			}
			out = append(out, s)
		}
	}
	return out
}

// strata are the places of the responses' series without the free dimensions.
func (t *tester) strata(side measure.Side, free, responses []string) []map[string]string {
	var out []map[string]string
	seen := map[string]bool{}
	for i, s := range t.series {
		if !t.eligible(i, t.claim) || !slices.ContainsFunc(responses, func(r string) bool {
			term, err := t.term(r)
			return err == nil && s.Response == term.Response && (s.Side == side || s.Side == term.Side)
		}) {
			continue
		}
		x := maps.Clone(t.at[i])
		delete(x, sideDimension)
		for _, f := range free {
			delete(x, f)
		}
		if key := inWords(x); !seen[key] {
			seen[key] = true
			out = append(out, x)
		}
	}
	return out
}

// varying keeps what tells a stratum from others.
func varying(x map[string]string, all []map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range x {
		if slices.ContainsFunc(all, func(y map[string]string) bool { return y[k] != v }) {
			out[k] = v
		}
	}
	return out
}

// at is the selection's value in each block of one stratum.
func (s selection) at(stratum map[string]string) map[int]float64 {
	out := map[int]float64{}
	for i, r := range s.responses {
		found := s.scope.t.find(r, s.scope.side, stratum, s.want)
		if len(found) != 1 {
			return nil
		}
		judged := s.scope.t.judged
		judged.Modelled = judged.Modelled || found[0].Modelled
		judged.unsteady = judged.unsteady || found[0].Unsteady
		s.scope.t.stood(found[0])
		judged.endings(found[0])
		if found[0].Starved() {
			judged.waited(found[0].Waiting, found[0].Waiting)
		}
		own := map[int]float64{}
		for block, v := range s.values(found[0]) {
			if before, ok := out[block]; (ok || i == 0) && !math.IsNaN(v) {
				own[block] = before + v
			}
		}
		out = own
	}
	return out
}

// values are those of a series, by block.
func (s selection) values(x advise.Series) map[int]float64 {
	out := map[int]float64{}
	for _, t := range x.Trials {
		out[t.Block] = t.Mean
		if s.within {
			out[t.Block] = t.SD
		}
	}
	if s.atLimit {
		for block, lost := range x.Lost {
			out[block] = (1-lost)*out[block] + lost*x.Limit
		}
	}
	return out
}

// series are those that a selection stands for in some strata.
func (s selection) series(strata []map[string]string) []advise.Series {
	var out []advise.Series
	for _, stratum := range strata {
		for _, r := range s.responses {
			out = append(out, s.scope.t.find(r, s.scope.side, stratum, s.want)...)
		}
	}
	return out
}

// waiting is how long the selection's trials in one stratum waited for a CPU.
func (s selection) waiting(stratum map[string]string) float64 {
	most := 0.0
	for _, r := range s.responses {
		for _, x := range s.scope.t.find(r, s.scope.side, stratum, s.want) {
			most = max(most, x.Waiting)
		}
	}
	return most
}

// waited keeps what waiting so long on either side of a ratio may explain.
func (j *Judged) waited(a, b float64) {
	if wide := advise.Allowance(a, b); wide > 1 {
		j.wide, j.Waiting = max(j.wide, wide), max(j.Waiting, a, b)
	}
}

// pairs are the values of two selections in the blocks that have all of both,
// per stratum.
func pairs(a, b selection) (xs, ys [][]float64) {
	var at [][2]map[int]float64
	for _, stratum := range a.scope.strata {
		va, vb := a.at(stratum), b.at(stratum)
		if len(va) > 0 && len(vb) > 0 {
			at = append(at, [2]map[int]float64{va, vb})
			a.scope.t.judged.waited(a.waiting(stratum), b.waiting(stratum))
		}
	}
	if len(at) == 0 {
		return nil, nil
	}
	for _, block := range slices.Sorted(maps.Keys(at[0][0])) {
		var x, y []float64
		for _, both := range at {
			va, ok := both[0][block]
			vb, ok2 := both[1][block]
			if ok && ok2 {
				x, y = append(x, va), append(y, vb)
			}
		}
		if len(x) == len(at) {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	return xs, ys
}

func (t *tester) above(where string, f Evidence, bound float64) { t.part(where, f, bound, true) }
func (t *tester) below(where string, f Evidence, bound float64) { t.part(where, f, bound, false) }

// part adds the test that f lies above bound, or below it.
func (t *tester) part(where string, f Evidence, bound float64, above bool) {
	if f.Kind == "difference" {
		bound = 0
	}
	p := Part{Where: where, Ours: f, Holds: 1, Fails: 1, Why: cmp.Or(f.why, t.stands()), bounds: []float64{bound}}
	if p.Why == "" {
		if p.Holds, p.Fails = t.beyond(f, bound); !above {
			p.Holds, p.Fails = p.Fails, p.Holds
		}
	}
	t.judged.Parts = append(t.judged.Parts, p)
}

// beyond is Beyond by more than waiting for a CPU can explain.
func (t *tester) beyond(f Evidence, bound float64) (above, below float64) {
	return t.judged.outside(f, bound, bound)
}

// between adds the test that f lies within bounds.
func (t *tester) between(where string, f Evidence, lo, hi float64) {
	p := Part{Where: where, Ours: f, Holds: 1, Fails: 1, Why: cmp.Or(f.why, t.stands()), bounds: []float64{lo, hi}}
	if p.Why == "" {
		var err error
		if p.Holds, p.Fails, err = t.judged.within(f, lo, hi); err != nil {
			p.Why = err.Error()
		}
		if p.Holds == 1 && p.Fails == 1 && f.hidden(p.bounds) {
			p.Why = "the steps of its clock leave open on which side of a bound it lies"
		}
	}
	t.judged.Parts = append(t.judged.Parts, p)
}
