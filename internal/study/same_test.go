package study

import (
	"strings"
	"testing"
)

// A refusal is a study's text after its name, and what is said of it; empty: it is accepted.
type refusal struct{ text, want string }

// refuses parses each study, with the vocabulary of a machine and, as a report does, with none: results that earlier
// versions measured are still read.
func refuses(t *testing.T, v Vocabulary, all ...refusal) {
	t.Helper()
	for _, x := range all {
		text := []byte("study: a\n" + x.text)
		if _, err := Parse("a.yaml", text, v); x.want == "" && err != nil ||
			x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: got %v, want %q", x.text, err, x.want)
		}
		if _, err := Parse("a.yaml", text, Vocabulary{}); err != nil {
			t.Errorf("%s, of results: got %v", x.text, err)
		}
	}
}

// The lab finds a link by its name: two of one name would both be measured over the first.
func TestLinksOfOneName(t *testing.T) {
	const head = "service: monitor\nstack: soap\n"
	refuses(t, vocabulary(),
		refusal{head + "factors:\n  path:\n    - {name: a, link: {name: x, delay: 1ms}}\n" +
			"    - {name: b, link: {name: x, delay: 100ms}}\n",
			"link x is delay=100ms here, and delay=1ms at line 6; give each a name of its own, or exclude: [{path: b}]"},
		refusal{head + "factors: {path: [{name: a, link: ethernet}, {name: b, link: {name: ethernet, delay: 9ms}}]}\n",
			"link ethernet is delay=9ms here, and ethernet at line 4"},
		refusal{head + "factors: {path: [{name: a, link: {name: none, delay: 9ms}}, {name: b, ip: ipv6}]}\n",
			"link none is delay=9ms here, and no link elsewhere"},
		refusal{head + "link: {name: none, delay: 9ms}\n", "link none is delay=9ms here"},
		refusal{head + "factors: {path: [{name: a, link: {name: x, delay: 1ms}}, {name: b, ip: ipv6, link: {name: x, " +
			"delay: 1ms}}]}\n", ""},
		refusal{head + "factors: {path: [{name: a, link: none}, {name: b, link: {delay: 1ms}}]}\n", ""})
}
