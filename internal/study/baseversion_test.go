package study

import (
	"slices"
	"strings"
	"testing"
)

// Each stack gets its base as one more level; exclusions hold for both; the plan
// measures both in every block.
func TestBeside(t *testing.T) {
	const head = "study: s\nrequests: 5\ndesign: {replications: 2}\n"
	for _, tt := range []struct{ study, want, wrong string }{
		{"service: monitor\nstack: a\n", `factors.stack=["a@base", "a"]`, ""},
		{"service: monitor\nfactors: {stack: [a, b], connection: [keep-alive, per-request]}\nexclude: [{stack: b, " +
			"connection: per-request}]\n",
			`factors.stack=["a@base", "a", "b"]; exclude=[{"stack": ["b"], "connection": ["per-request"]}]`, ""},
		{"service: monitor\nfactors: {stack: [a, b], connection: [keep-alive, per-request]}\nexclude: [{stack: a, " +
			"connection: per-request}]\n",
			`factors.stack=["a@base", "a", "b"]; exclude=[{"stack": ["a@base", "a"], "connection": ["per-request"]}]`, ""},
		{"service: monitor\nfactors: {stack: [{name: mine, stack: a}, b], connection: [keep-alive, per-request]}\nexclude: " +
			"[{stack: mine, connection: per-request}]\n",
			`factors.stack=[{name: "mine@base", "stack": "a@base"}, {name: "mine", "stack": "a"}, "b"]; ` +
				`exclude=[{"stack": ["mine@base", "mine"], "connection": ["per-request"]}]`, ""},
		{"service: monitor\nserver: {stack: a}\nclient: {stack: b}\n", "", "sets both"},
		{"service: monitor\nfactors: {x: [{name: p, stack: a, encoding: json}, {name: q, stack: b, encoding: xml}]}\n", "",
			"together with other"},
		{"server: {url: 'http://h/'}\nrequest: {method: GET}\n", "", "edgegauge compare old new"},
		{"factors: {x: [{name: p, server.url: 'http://h/'}, {name: q, stack: a, service: monitor}]}\n", "",
			"exclude these treatments"},
	} {
		s, err := Parse("s.yaml", []byte(head+tt.study), Vocabulary{})
		if err != nil {
			t.Fatalf("%s: %v", tt.study, err)
		}
		p, err := Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		key, stacks, err := p.Versioned()
		if err != nil || tt.wrong != "" {
			if err == nil || tt.wrong == "" || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: got %v, want %q", tt.study, err, tt.wrong)
			}
			continue
		}
		sets := p.WithBase(key, stacks, func(name string) string {
			if name == "a" {
				return Base(name)
			}
			return ""
		})
		if got := strings.Join(sets, "; "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
		given := []string{"requests=6", "factors.stack=[a, b]"}
		all := append(append(slices.Clone(given), "design.precision=off"), sets...)
		if got := WithoutBase(append(all, "design.replications=9")); !slices.Equal(got, given) {
			t.Errorf("%s: the user gave %q, want %q", tt.study, got, given)
		}
		if got := WithoutBase(given); !slices.Equal(got, given) {
			t.Errorf("of one version the user gave %q, want %q", got, given)
		}
		if s.OfVersions() {
			t.Errorf("%s: it has one version, and two are seen", tt.study)
		}
		s, err = Parse("s.yaml", []byte(head+tt.study), Vocabulary{}, sets...)
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		if !s.OfVersions() {
			t.Errorf("%s: two versions are not seen", tt.study)
		}
		both, err := Expand(s)
		if err != nil {
			t.Fatal(err)
		}
		for block := 1; block <= 2; block++ {
			of := func(name string) int {
				return len(slices.DeleteFunc(slices.Clone(both.Trials), func(x Trial) bool {
					return x.Block != block || x.Setup.Server.Stack != name
				}))
			}
			if of("a") == 0 || of("a") != of("a@base") {
				t.Errorf("%s: block %d has %d trials of a, and %d of its base", tt.study, block, of("a"), of("a@base"))
			}
		}
	}
}
