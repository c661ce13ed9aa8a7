package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/study"
)

// setupDigest is of a treatment's settings; base versions have that of the stack they are of.
func setupDigest(s *study.Setup) string {
	var x study.Setup
	if s != nil {
		x = *s
	}
	for _, name := range []*string{&x.Stack, &x.Client.Stack, &x.Server.Stack} {
		*name, _ = study.IsBase(*name)
	}
	text, err := json.Marshal(x)
	if err != nil { // it is plain data
		text = fmt.Append(nil, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// asked is what was asked, but for what makes figures surer and not different: number of
// trials, seed, precision, confidence, question and notes, and the responses looked at.
func (p *Past) asked(r *Report) {
	y := r.Study
	p.Asked = r.besideSettings()
	for _, x := range y.Fixed {
		p.Asked[x.Key] = x.Value.Text
	}
	for _, f := range y.Factors {
		var levels []string
		for _, l := range f.Levels {
			levels = append(levels, l.Text)
		}
		slices.Sort(levels) // their order in the file changes the order of trials only, which is random
		p.Asked["factor "+f.Name] = strings.Join(levels, ", ")
	}
	var all []string
	for _, t := range r.Treatments {
		all = append(all, setupDigest(t.setup))
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	p.Treated = hex.EncodeToString(sum[:])
}

// differs says in what a result asked something else than another; empty: in nothing.
func (p Past) differs(from Past) string {
	var out []string
	keys := map[string]bool{}
	for _, m := range []map[string]string{p.Asked, from.Asked} {
		for k := range m {
			keys[k] = true
		}
	}
	for _, k := range sortedKeys(keys) {
		if a, b := p.Asked[k], from.Asked[k]; a != b {
			out = append(out, fmt.Sprintf("%s: %s, there %s", k, orNone(shorten(a, 60)), orNone(shorten(b, 60))))
		}
	}
	if len(out) == 0 && p.Treated != from.Treated {
		out = append(out, "the settings of its treatments, or their defaults, differ")
	}
	return strings.Join(out, "; ")
}
