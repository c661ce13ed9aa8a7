package study

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const overridden = `study: a
service: sort
n: 10
requests: 50
client: pi
options: {chunk: 1}
limits: {body: 1MB}
factors:
  stack: [soap, rest-json, {name: axis, stack: axis2, encoding: xml}]
  link: [none, ethernet, {delay: 40ms}]
exclude:
  - {stack: soap, link: ethernet}
  - {link: {delay: 40ms}, stack: [axis, rest-json]}
design: {replications: 3, seed: 5}
`

func TestOverrides(t *testing.T) {
	plain := parse(t, overridden)
	if got := plain.Treatments(); got != 6 {
		t.Fatalf("got %d treatments, want 9 less 3", got)
	}
	for _, c := range []struct {
		words string
		sets  []string
		check func(Study, *Setup) bool
	}{
		{"a nested key", []string{"design.replications=2"},
			func(s Study, _ *Setup) bool { return s.Design.Replications == 2 && s.Design.Seed == 5 }},
		{"a mapping that is not there", []string{"timeouts.ready=3s"},
			func(s Study, _ *Setup) bool { return s.Timeouts.Ready == 3e9 }},
		{"a fixed setting", []string{"requests=100"},
			func(s Study, x *Setup) bool { return x.Requests == 100 && s.Treatments() == 6 }},
		{"duration takes the place of a least duration", []string{"min_duration=2s", "duration=3s"},
			func(_ Study, x *Setup) bool { return x.Duration == 3e9 && x.MinDuration == 0 }},
		{"a least duration takes the place of duration, and not of requests",
			[]string{"duration=3s", "requests=70", "min_duration=2s"},
			func(_ Study, x *Setup) bool { return x.Duration == 0 && x.MinDuration == 2e9 && x.Requests == 70 }},
		{"duration takes the place of requests", []string{"duration=3s"},
			func(_ Study, x *Setup) bool { return x.Requests == 0 && x.Duration == 3e9 }},
		{"size takes the place of n", []string{"size=1kB"},
			func(_ Study, x *Setup) bool { return x.N == 0 && x.Size == 1000 }},
		{"a new setting", []string{"ip=ipv6"}, func(_ Study, x *Setup) bool { return x.IP == "ipv6" }},
		{"the last one counts", []string{"ip=ipv6", "ip=ipv4"},
			func(s Study, x *Setup) bool { return x.IP == "ipv4" && len(s.Overrides) == 2 }},
		{"a part of a group that was a name", []string{"client.device=local"},
			func(_ Study, x *Setup) bool { return x.Client.Device == "local" }},
		{"a group", []string{"client={device: qemu-pi}"},
			func(_ Study, x *Setup) bool { return x.Client.Device == "qemu-pi" }},
		{"an option", []string{"options.chunk=2"}, func(_ Study, x *Setup) bool { return x.Options["chunk"] == "2" }},
		{"a value with = in it", []string{"options.chunk=a=b"},
			func(_ Study, x *Setup) bool { return x.Options["chunk"] == "a=b" }},
		{"a list", []string{"responses=[rtt]"},
			func(s Study, _ *Setup) bool { return len(s.Responses) == 1 && s.Responses[0].Pos.String() == "--set 1" }},

		{"a factor fixed to a level that was excluded with ethernet", []string{"stack=soap"},
			func(s Study, x *Setup) bool {
				return len(s.Factors) == 1 && s.Treatments() == 2 && x.Stack == "reference/soap"
			}},
		{"a factor fixed to one that no exclusion names", []string{"link=none"},
			func(s Study, x *Setup) bool { return s.Treatments() == 3 && x.Link.Text == "none" }},
		{"a factor fixed to a level nobody had", []string{"link=nb-iot"},
			func(s Study, x *Setup) bool { return s.Treatments() == 3 && x.Link.Profile == "nb-iot" }},
		{"a shape", []string{"link={delay: 40ms}"},
			func(s Study, x *Setup) bool { return s.Treatments() == 1 && x.Link.Up.Delay == 40e6 }},
		{"a factor with fewer levels", []string{"factors.stack=[soap, rest-json]"},
			func(s Study, _ *Setup) bool { return s.Treatments() == 4 && s.Factors[0].Name == "stack" }},
		{"a factor with none that an exclusion names", []string{"factors.link=[gsm-9600, nb-iot]"},
			func(s Study, _ *Setup) bool { return s.Treatments() == 6 && len(s.Exclude) == 0 }},
		{"a fixed setting varied", []string{"factors.n=[1, 2]"},
			func(s Study, x *Setup) bool { return len(s.Factors) == 3 && s.Treatments() == 12 && x.N == 1 }},
		{"a fixed n varied as size", []string{"factors.size=[1kB, 2kB]"},
			func(s Study, x *Setup) bool { return s.Treatments() == 12 && x.N == 0 && x.Size == 1000 }},
		{"a fixed part of a group varied", []string{"factors.client.device=[pi, local]"},
			func(s Study, _ *Setup) bool { return s.Treatments() == 12 }},
		{"an option varied", []string{"factors.options.chunk=[1, 2]"},
			func(s Study, _ *Setup) bool { return s.Treatments() == 12 }},
		{"varied, then fixed", []string{"factors.n=[1, 2]", "n=7"},
			func(s Study, x *Setup) bool { return s.Treatments() == 6 && x.N == 7 }},
		{"how long, where levels of another factor say so too",
			[]string{"factors.link=[nb-iot, none]",
				"factors.path=[{name: a, ip: ipv4, min_duration: 1s}, {name: b, ip: ipv6, requests: 9}]",
				"exclude=[]", "design.warmup=3", "min_duration=2s", "requests=70"},
			func(s Study, x *Setup) bool {
				last := s.treatments[len(s.treatments)-1].setup
				return s.Treatments() == 12 && x.MinDuration == 2e9 && last.MinDuration == 2e9 &&
					x.Requests == 70 && last.Requests == 70 && last.IP == "ipv6"
			}},
		{"a key in a mapping in a mapping", []string{"factors.link=[none, ethernet]", "exclude=[]", "link={name: slow, up: " +
			"{delay: 1ms}}", "link.up.delay=7ms"}, func(_ Study, x *Setup) bool { return x.Link.Up.Delay == 7e6 }},
		{"no factors, and no exclusions of theirs", []string{"factors={}", "stack=soap"},
			func(s Study, x *Setup) bool {
				return s.Treatments() == 1 && len(s.Exclude) == 0 && x.Stack == "reference/soap"
			}},
		{"all factors, and of the exclusions what still applies", []string{"factors={stack: [soap, rest-json]}",
			"link=ethernet"}, func(s Study, x *Setup) bool { return s.Treatments() == 1 && x.Stack == "reference/rest-json" }},
		{"no exclusions", []string{"exclude=[]"}, func(s Study, _ *Setup) bool { return s.Treatments() == 9 }},
	} {
		s, err := Parse("test.yaml", []byte(overridden), vocabulary(), c.sets...)
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		if !c.check(s, s.treatments[0].setup) {
			t.Errorf("%s: %v gave %d treatments, the first %+v", c.words, c.sets, s.Treatments(), *s.treatments[0].setup)
		}
		var got []string
		for _, o := range s.Overrides {
			got = append(got, o.String())
		}
		if !reflect.DeepEqual(got, c.sets) {
			t.Errorf("%s: recorded %q, want %q", c.words, got, c.sets)
		}
	}
}

// A path leads into mappings in mappings: classes of devices, and headers.
func TestOverridesOfWhatLiesDeeper(t *testing.T) {
	const classes = "study: a\nservice: monitor\nstack: s\ndevices: 10\nmix: {a: {share: 1, period: 1s}}\n"
	s, err := Parse("a.yaml", []byte(classes), Vocabulary{}, "mix.a.period=7s", "mix.a.jitter=10%")
	if err != nil || s.treatments[0].setup.Population.Mix[0].Period != 7e9 ||
		s.treatments[0].setup.Population.Mix[0].Jitter != 0.1 {
		t.Errorf("classes: %v", err)
	}
	const asked = "study: a\nserver: {url: 'http://h/'}\nrequest: {headers: {Accept: a/b, X.y: z}}\n"
	s, err = Parse("a.yaml", []byte(asked), Vocabulary{}, "request.headers.Accept=c/d", "request.headers.X.y=w")
	if err != nil || !slices.Equal(s.treatments[0].setup.Request.Headers, []string{"Accept: c/d", "X.y: w"}) {
		t.Errorf("headers: %v", err)
	}
}

func TestOverrideThatExcludesAll(t *testing.T) {
	file := strings.Replace(overridden, "  - {stack: soap, link: ethernet}", "  - {stack: soap}", 1)
	_, err := Parse("test.yaml", []byte(file), vocabulary(), "stack=soap")
	if err == nil || !strings.Contains(err.Error(), "every treatment is excluded") {
		t.Errorf("got %v, want every treatment excluded", err)
	}
}

// A --set counts from the first one of the command line, whatever overrides were kept before.
func TestKeptOverridesAreNoSets(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [soap, rest-json]}\n"
	sets := []string{"requests=50", "concurency=2", "requests=60", "conection=kept", "ip=ipv6"}
	_, err := Parse("f", []byte(file), Vocabulary{Kept: 2}, sets...)
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 2 {
		t.Fatalf("got %v", err)
	}
	if a, b := errs[0].Pos.String(), errs[1].Pos.String(); a != "--set 2" && b != "--set 2" ||
		a != "override 2" && b != "override 2" {
		t.Errorf("got %v, want an error of override 2 and one of --set 2", err)
	}
	sets = slices.DeleteFunc(sets, func(s string) bool { return strings.HasPrefix(s, "con") })
	s, err := Parse("f", []byte(file), Vocabulary{Kept: 1}, sets...)
	if err != nil {
		t.Fatal(err)
	}
	if o, n := s.OverrideAt(Pos{File: "--set 2"}); n != 3 || o.Path != "ip" {
		t.Errorf("the second --set is override %d, %+v", n, o)
	}
	if o, n := s.OverrideAt(Pos{File: "override 1"}); n != 1 || o.Value != "50" {
		t.Errorf("the kept one is override %d, %+v", n, o)
	}
}
