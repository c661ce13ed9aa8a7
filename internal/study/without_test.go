package study

import (
	"slices"
	"testing"
)

// What is left out stays out when the overrides are read again, and what the file
// excludes, too.
func TestWithout(t *testing.T) {
	const text = "study: a\nservice: monitor\nfactors:\n  stack: [rest-json, soap, coap-cbor]\n  link: [none, nb-iot]\n" +
		"exclude: [{stack: soap, link: nb-iot}]\nresponses: [rtt, wire_bytes]\n"
	read := func(sets ...string) Plan {
		t.Helper()
		s, err := Parse("a.yaml", []byte(text), Vocabulary{}, sets...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := read()
	var linked, one []Trial
	for _, x := range p.Trials[:p.Study.Treatments()] {
		if x.Treatment[1].Text == "nb-iot" {
			linked = append(linked, x)
		}
		if x.Treatment[0].Text == "coap-cbor" && x.Treatment[1].Text == "none" {
			one = append(one, x)
		}
	}
	for _, tt := range []struct {
		missing    []Trial
		responses  []string
		treatments int
		left       []string
	}{
		{linked, []string{"wire_bytes"}, 3, []string{"rtt"}},
		{one, nil, 4, []string{"rtt", "wire_bytes"}},
		{nil, []string{"wire_bytes"}, 5, []string{"rtt"}},
	} {
		sets := p.Without(tt.missing, tt.responses)
		q := read(sets...)
		var left []string
		for _, w := range q.Study.Responses {
			left = append(left, w.Text)
		}
		if q.Study.Treatments() != tt.treatments || !slices.Equal(left, tt.left) {
			t.Errorf("%v: got %d treatments and %v, want %d and %v", sets, q.Study.Treatments(), left, tt.treatments, tt.left)
		}
	}
	if sets := p.Without(p.Trials[:5], nil); sets != nil {
		t.Errorf("got %v, want nothing where nothing would be left", sets)
	}
}
