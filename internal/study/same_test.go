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

// Treatments of which no setting differs are one, measured twice under two names.
func TestTreatmentsThatAreTheSame(t *testing.T) {
	const head = "service: monitor\nstack: soap\n"
	refuses(t, vocabulary(),
		refusal{"service: monitor\nfactors:\n  pair:\n    - {name: one, stack: soap}\n" +
			"    - {name: two, client.stack: soap, server.stack: soap}\n",
			"a.yaml:6:7: one and two are the same treatment: no setting of theirs differs; remove one, or exclude: [{pair: " +
				"two}]"},
		refusal{"service: monitor\nfactors: {pair: [{name: one, stack: soap}, {name: two, stack: soap, encoding: xml}]}\n",
			"one and two are the same treatment"},
		refusal{head + "factors: {way: [{name: one, connection: keep-alive}, {name: two, ip: ipv4}], requests: [5, 6]}\n",
			"exclude: [{way: two}]"},
		refusal{head + "rate: 100\nrequests: 1000\nfactors: {min_duration: [1s, 2s]}\n", "1s and 2s are the same treatment"},
		refusal{head + "rate: 100\nfactors: {min_duration: [1s, 2s], requests: [10, 1000]}\n", "1s and 2s are the same " +
			"treatment: no setting of theirs differs; remove one, or exclude: [{min_duration: 2s, requests: 1000}]"},
		refusal{head + "factors: {way: [{name: one, at_once: 1}, {name: two, link: none}]}\n", "the same treatment"},
		refusal{head + "rate: 100\nrequests: 1000\nfactors: {min_duration: [1s, 20s]}\n", ""},
		refusal{head + "factors: {way: [{name: one, link: none}, {name: two, ip: ipv4}, {name: three, ip: ipv6}]}\n" +
			"exclude: [{way: two}]\n", ""})
	v := vocabulary()
	v.Stacks = streaming
	refuses(t, v, refusal{"service: monitor\nstack: rest\ndevices: 10\nperiod: 5s\nfactors: {reconnect: [full, {jitter: " +
		"full}]}\n", "full and full 1s×2≤2m are the same treatment"})
}

// Levels whose value is a mapping may be compound, and bear names: so classes of devices may differ in what their text
// does not say.
func TestLevelsThatAreMappings(t *testing.T) {
	const head = "study: a\nservice: monitor\nstack: rest\ndevices: 10\nduration: 60s\n"
	for _, x := range []refusal{
		{"factors: {mix: [{a: {share: 1, period: 1s}}, {a: {share: 1, period: 1s, jitter: 10%}}]}", "a name of its own"},
		{"factors: {mix: [{name: calm, mix: {a: {share: 1, period: 1s}}}, {name: shaky, mix: {a: {share: 1, period: 1s, " +
			"jitter: 10%}}}]}", ""},
		{"factors: {load: [{name: calm, mix: {a: {share: 1, period: 1s}}}, {name: alive, mix: {a: {share: 1, period: 1s, " +
			"keepalive: 5s}}}]}", ""},
		{"factors: {load: [{name: one, mix: {a: {share: 1, period: 1s}}}, {name: two, mix: {a: {share: 100%, period: " +
			"1000ms}}}]}", "levels one and two of factor \"load\" are the same"},
		{"factors: {mix: [{mix: {share: 1, period: 1s}}, {mix: {share: 1, period: 2s}}]}", ""},
		{"period: 1s\nfactors: {sleep: [off, psm, {mode: edrx, cycle: 5.12s}]}", ""},
		{"period: 1s\nfactors: {sleep: [{name: awake, sleep: off}, {name: asleep, sleep: psm, nat: 30s}]}", ""},
		{"period: 1s\nfactors: {sleep: [psm, {name: behind, nat: 30s}]}", ""},
		{"period: 1s\nfactors: {sleep: [psm, {mode: edrx, cicle: 5s}]}", "did you mean cycle?"},
		{"period: 1s\nfactors: {reconnect: [off, {name: slow, reconnect: {first: 9s}}, {jitter: none}]}", ""},
		{"period: 1s\nfactors: {outage: [{for: 5s}, {name: long, outage: {for: 9s}, reconnect: off}]}", ""},
		{"period: 1s\nfactors: {link: [none, {delay: 5ms}, {name: far, link: {delay: 9ms}, reconnect: none}]}", ""},
	} {
		text, want := x.text, x.want
		s, err := Parse("a.yaml", []byte(head+text+"\n"), Vocabulary{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if want == "" && err == nil {
			if one, two := s.treatments[0].setup, s.treatments[1].setup; one.key() == two.key() {
				t.Errorf("%s: its treatments do not differ: %+v", text, one)
			}
			if err := schema(t).Validate(asJSON(t, []byte(head+text))); err != nil {
				t.Errorf("%s: schema: %v", text, err)
			}
		}
	}
}

// Names that results have for something else are refused.
func TestNamesThatAreTaken(t *testing.T) {
	v := vocabulary()
	const rest = "service: monitor\nstack: soap\n"
	for text, want := range map[string]string{
		"study: latest\n" + rest: "a.yaml:1:8: no study can be called \"latest\"",
		"study: later\n" + rest:  "",
		"study: a\n" + rest + "factors: {benches: [{name: one, requests: 5}, {name: two, requests: 6}]}\n": "\"benches\" " +
			"cannot name a factor",
		"study: a\n" + rest + "factors: {confidence: [{name: x, requests: 5}, {name: y, requests: 6}]}\n": "\"confidence\" " +
			"cannot name a factor",
	} {
		if _, err := Parse("a.yaml", []byte(text), v); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if _, err := Parse("a.yaml", []byte(text), Vocabulary{}); err != nil {
			t.Errorf("%s, of results: got %v", text, err)
		}
	}
}

// A message whose size a study may give need not have one given.
func TestServicesWhoseMessagesMayHaveASize(t *testing.T) {
	v := vocabulary()
	v.Services["monitor"] = ServiceFacts{Sizeable: true}
	v.Stacks = nil
	refuses(t, v,
		refusal{"service: monitor\nstack: soap\n", ""},
		refusal{"service: monitor\nstack: soap\nn: 100\n", ""},
		refusal{"service: monitor\nstack: soap\nfactors: {size: [1kB, 2kB]}\n", ""},
		refusal{"stack: soap\nn: 10\nfactors: {service: [monitor, sort]}\n", ""})
}
