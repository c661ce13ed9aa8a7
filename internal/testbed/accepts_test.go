package testbed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A way is one way to ask a server: a combination that stacks offer, or do not.
type way struct {
	client, server                            string // stacks
	encoding, security, transport, connection string
	options                                   string // of the study's options, such as "{parser: dom}"
	service                                   string // empty: monitor
}

func (w way) String() string {
	// a name of a level has none of these
	options := strings.NewReplacer("{", "", "}", "", `"`, "", ": ", ":").Replace(w.options)
	words := []string{w.client, w.server, w.encoding, w.security, w.transport, w.connection, options, w.service}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// settings are the way in words of a study.
func (w way) settings() []string {
	all := []string{"client: {stack: " + w.client + "}", "server: {stack: " + w.server + "}", "encoding: " + w.encoding,
		"security: " + w.security, "transport: " + w.transport, "connection: " + w.connection, "service: " +
			cmp.Or(w.service, "monitor")}
	if w.options != "" {
		all = append(all, "options: "+w.options)
	}
	if w.service != "" {
		all = append(all, "n: 3")
	}
	return all
}

// studyOf asks a service once in each way, which are levels of the factor "way" if there are several.
func studyOf(all []way) []byte {
	text := `study: s
requests: 1
retries: 0
design: {replications: 1}
timeouts: {ready: 60s, request: 10s, trial: 2m}
`
	if len(all) == 1 {
		return []byte(text + strings.Join(all[0].settings(), "\n") + "\n")
	}
	text += "factors:\n  way:\n"
	for _, w := range all {
		text += fmt.Sprintf("    - {name: %q, %s}\n", w, strings.Join(w.settings(), ", "))
	}
	return []byte(text)
}

// waysOf are all ways in which a stack offers the service monitor, to its own client.
func waysOf(d stack.Description) []way {
	var out []way
	for _, o := range d.Serves {
		if !slices.Contains(o.Services, "monitor") || len(o.Sides) < 2 {
			continue
		}
		for _, e := range o.Encodings {
			for _, s := range o.Security {
				for _, t := range o.Transports {
					for _, c := range o.Connections {
						out = append(out, way{d.Name, d.Name, e, s, t, c, optionsOf(o), ""})
					}
				}
			}
		}
	}
	return out
}

// optionsOf are those that an offer is for.
func optionsOf(o stack.Offer) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Options)) {
		if v := o.Options[name]; v != "" {
			all = append(all, fmt.Sprintf("%s: %q", name, v))
		}
	}
	if all == nil {
		return ""
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// accepts says whether check accepts a study of that one way.
func accepts(t *testing.T, b *Testbed, w way) error {
	text := "study: s\n" + strings.Join(w.settings(), "\n") + "\n"
	_, err := b.Read(t.Context(), "s.yaml", []byte(text))
	return err
}

// seeded is another source of chance each time a test runs, so that the gate does not try the same for ever. A test
// that fails says how to have it again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("EDGEGAUGE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the same again: EDGEGAUGE_SEED=%d go test ./internal/testbed -run '^%s$'", seed, t.Name())
	return rand.New(rand.NewPCG(seed, 0))
}

// What check accepts runs a request, and what it refuses would not have: ways that
// the reference stacks offer, also where one stack's client asks another's server, and
// ways that differ from one of them in one respect. How a connection is used is tried with every stack and security.
func TestCheckAcceptsWhatRuns(t *testing.T) {
	b := bed(t)
	offered, values := offeredHere(t, b)
	random := seeded(t)
	tried := map[way]bool{}
	for _, w := range offered {
		if err := accepts(t, b, w); err != nil {
			t.Errorf("%s: refused though offered: %v", w, err)
		}
		tried[w] = true
	}
	for _, w := range offered {
		for _, other := range offered {
			pair := w // one stack's client, the other's server, in a way of both
			pair.server, other.client, other.server = other.server, w.client, w.server
			tried[pair] = tried[pair] || other == w
		}
	}
	maps.DeleteFunc(tried, func(_ way, offered bool) bool { return !offered })
	seen := map[way]bool{}
	for _, w := range offered {
		if first := (way{client: w.client, security: w.security}); !seen[first] {
			seen[first] = true
			for _, w.connection = range values[3] {
				tried[w] = true
			}
		}
	}
	for range 100 {
		w := offered[random.IntN(len(offered))]
		i := random.IntN(3)
		*[]*string{&w.encoding, &w.security, &w.transport}[i] = values[i][random.IntN(len(values[i]))]
		tried[w] = true
	}
	var accepted, refused []way
	for _, w := range slices.SortedFunc(maps.Keys(tried),
		func(a, b way) int { return strings.Compare(a.String(), b.String()) }) {
		if accepts(t, b, w) == nil {
			accepted = append(accepted, w)
		} else {
			refused = append(refused, w)
		}
	}
	if len(accepted) < 100 || len(refused) < 100 {
		t.Fatalf("%d accepted, %d refused", len(accepted), len(refused))
	}
	accepted, refused = sample(random, accepted), sample(random, refused)
	t.Logf("of %d ways, run: %d that check accepts, and %d that it refuses", len(tried), len(accepted), len(refused))
	outcome := ran(t, b, accepted)
	for _, w := range accepted {
		why := outcome[w.String()]
		if why != "" { // as that its programs had no CPU for seconds: it may run the second time
			why = ran(t, b, []way{w})[w.String()]
		}
		if why != "" {
			t.Errorf("%s: check accepts it, and it does not run: %s", w, why)
		}
	}
	for w, why := range ran(t, b, refused) {
		if why == "" {
			t.Errorf("%s: check refuses it, and it runs", w)
		}
	}
}

// The same of stacks in other languages, as far as they are built here: all that they offer is
// accepted, and of a few stacks a way that check accepts is run, and of a few others one that it refuses.
func TestCheckAcceptsWhatForeignStacksRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs stacks in other languages")
	}
	b := foreignBed(t)
	offered, values := offeredHere(t, b)
	offered = slices.DeleteFunc(offered, func(w way) bool { return strings.HasPrefix(w.client, "reference/") })
	check, facts := checker(t, b)
	for _, w := range offered {
		if err := check(w); err != nil {
			t.Errorf("%s: refused though offered: %v", w, err)
		}
	}
	const each = 2
	random := seeded(t)
	random.Shuffle(len(offered), func(i, j int) { offered[i], offered[j] = offered[j], offered[i] })
	var accepted, refused []way
	taken := map[string]bool{}
	for _, w := range offered {
		if len(accepted) < each && !taken[w.client] {
			taken[w.client] = true
			accepted = append(accepted, w)
		}
	}
	taken = map[string]bool{}
	for _, w := range offered {
		if len(refused) == each || taken[w.client] {
			continue
		}
		i := random.IntN(4)
		*[]*string{&w.encoding, &w.security, &w.transport, &w.connection}[i] = values[i][random.IntN(len(values[i]))]
		if check(w) != nil {
			taken[w.client] = true
			refused = append(refused, w)
		}
	}
	if len(accepted) != min(each, len(facts)) || len(refused) != min(each, len(facts)) {
		t.Errorf("of %d stacks: %v accepted, %v refused", len(facts), accepted, refused)
	}
	t.Logf("of %d ways, run: %v, which check accepts, and %v, which it refuses", len(offered), accepted, refused)
	for w, why := range ran(t, b, append(accepted, refused...)) {
		named := func(x way) bool { return x.String() == w }
		if why != "" && slices.ContainsFunc(accepted, named) {
			t.Errorf("%s: check accepts it, and it does not run: %s", w, why)
		}
		if why == "" && slices.ContainsFunc(refused, named) {
			t.Errorf("%s: check refuses it, and it runs", w)
		}
	}
}

// A program is not measured as what it is not: asked for a transport that it lacks, it says so.
func TestForeignStacksRefuseAnotherTransport(t *testing.T) {
	if testing.Short() {
		t.Skip("runs stacks in other languages")
	}
	b := foreignBed(t)
	for _, name := range b.StackNames() {
		d, _ := b.FindStack(name)
		if d.Dir == "" || b.StackState(t.Context(), d) != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for verb, p := range map[string]stack.Program{"serve": d.Serve, "call": d.Call} {
				if len(p.Command) == 0 {
					continue
				}
				o := d.Serves[0]
				line, err := json.Marshal(map[string]any{"type": verb, "protocol": 1, "service": o.Services[0],
					"encoding": o.Encodings[0], "security": o.Security[0], "transport": "carrier-pigeon",
					"connection": o.Connections[0], "host": "127.0.0.1", "url": "http://127.0.0.1:9/"})
				if err != nil {
					t.Fatal(err)
				}
				said := saidOnce(t, d, p, line)
				if !strings.Contains(said, `"type":"error"`) || !strings.Contains(said, "carrier-pigeon") {
					t.Errorf("%s: it said %q", verb, said)
				}
			}
		})
	}
}

// foreignBed is a testbed with the stacks in other languages, of which some are built.
func foreignBed(t *testing.T) *Testbed {
	t.Helper()
	folder, err := filepath.Abs("../../stacks")
	if err != nil {
		t.Fatal(err)
	}
	b := bed(t, folder)
	all, err := b.Stacks()
	if err != nil {
		t.Fatal(err)
	}
	built := false
	for name, d := range all {
		if d.Dir == "" {
			continue
		}
		built = built || b.StackState(t.Context(), d) == ""
		for _, p := range []*stack.Program{&d.Serve, &d.Call} {
			p.Env = append(slices.Clone(p.Env), stacktest.Quickly)
		}
		all[name] = d
	}
	if built {
		return b
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no stack in another language is built")
	}
	t.Skip("no stack in another language is built")
	return nil
}

// checker says whether check accepts a way, and holds the facts of the stacks that it was asked about.
func checker(t *testing.T, b *Testbed) (check func(way) error, facts map[string]study.StackFacts) {
	t.Helper()
	v := b.Vocabulary(t.Context())
	read := v.Stacks
	facts = map[string]study.StackFacts{} // else each reading asks for each program's version
	v.Stacks = func(name string) (study.StackFacts, bool) {
		if _, ok := facts[name]; !ok {
			facts[name], _ = read(name)
		}
		return facts[name], true
	}
	return func(w way) error {
		_, err := study.Parse("s.yaml", studyOf([]way{w}), v)
		return err
	}, facts
}

// What check accepts of responses, a run gives: for each transport, security and use of a connection.
func TestCheckAcceptsResponsesThatRunGives(t *testing.T) {
	if testing.Short() {
		t.Skip("captures packets")
	}
	b := bed(t)
	offered, _ := offeredHere(t, b)
	var responses []string
	for _, r := range measure.Responses() {
		responses = append(responses, r.Name)
	}
	plan := func(asked []string, requests string, all ...way) study.Plan {
		text := strings.Replace(string(studyOf(all)), "requests: 1", "requests: "+requests, 1)
		p, err := b.Read(t.Context(), "s.yaml", []byte(text), "responses=["+strings.Join(asked, ", ")+"]")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	giving := map[string][]way{} // ways by the responses that check accepts
	seen := map[[3]string]bool{}
	for _, w := range offered {
		if kind := [3]string{w.transport, w.security, w.connection}; seen[kind] {
			continue
		} else {
			seen[kind] = true
		}
		var accepted []string
		for _, r := range responses {
			if b.Obstacles(t.Context(), plan([]string{r}, "3", w)) == nil {
				accepted = append(accepted, r)
			}
		}
		if accepted != nil {
			giving[strings.Join(accepted, " ")] = append(giving[strings.Join(accepted, " ")], w)
		}
	}
	if err := tryLoopback(); (len(giving) < 2 && err == nil) || len(seen) < 15 {
		t.Fatalf("%d kinds of %d ways", len(giving), len(seen))
	} else if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	for asked, ways := range giving {
		p := plan(strings.Fields(asked), "3", ways...)
		for w, why := range outcomes(t, b, p) {
			if why != "" {
				t.Errorf("%s: check accepts %s, and it does not run: %s", w, asked, why)
			}
		}
	}
	http := offered[slices.IndexFunc(offered, func(w way) bool { return w.transport == "http" })]
	if found := b.Obstacles(t.Context(), plan([]string{"jitter"}, "1", http)); !strings.Contains(fmt.Sprint(found),
		"two requests") {
		t.Errorf("the jitter of one request: %v", found)
	}
}

// offeredHere are the ways that stacks of the bed offer, and all encodings,
// securities, transports and connections.
func offeredHere(t *testing.T, b *Testbed) (offered []way, values [4][]string) {
	t.Helper()
	values[3] = []string{"keep-alive", "per-request", "pipelined", "multiplexed"}
	for _, name := range b.StackNames() {
		d, _ := b.FindStack(name)
		if b.StackState(t.Context(), d) != "" {
			continue
		}
		for _, w := range waysOf(d) {
			offered = append(offered, w)
			values[0], values[1], values[2] = append(values[0], w.encoding), append(values[1], w.security),
				append(values[2], w.transport)
		}
	}
	for i := range 3 {
		slices.Sort(values[i])
		values[i] = slices.Compact(values[i])
	}
	return offered, values
}

// sample are so many of all as a test has time for.
func sample(random *rand.Rand, all []way) []way {
	most := 24
	if testing.Short() {
		most = 8
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(most, len(all))]
}

// ran runs one request each, whatever check says, and tells why it failed; empty: it
// did not.
func ran(t *testing.T, b *Testbed, all []way) map[string]string {
	t.Helper()
	text := studyOf(all)
	v := b.Vocabulary(t.Context())
	known := v.Stacks
	v.Stacks = func(name string) (study.StackFacts, bool) {
		f, ok := known(name)
		f.Serves = nil // not known: everything is accepted
		return f, ok
	}
	s, err := study.Parse("s.yaml", text, v)
	if err != nil {
		t.Fatal(err)
	}
	p, err := study.Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	out := outcomes(t, b, p)
	if why, unnamed := out[""]; unnamed && len(all) == 1 { // no factor has it as a level
		out = map[string]string{all[0].String(): why}
	}
	if len(out) != len(all) {
		t.Fatalf("%d ways ran, want %d", len(out), len(all))
	}
	return out
}

// outcomes runs a plan of one replication and tells why treatments failed; empty: they did not.
func outcomes(t *testing.T, b *Testbed, p study.Plan) map[string]string {
	t.Helper()
	e, err := b.Open(t.Context(), Request{Plan: p, Text: []byte("study: s\n"), Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Lab.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	trials, err := e.Lab.Store.Trials()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, x := range trials {
		why := ""
		if x.State != store.Valid {
			why = string(x.State) + ": " + x.Reason
		}
		name := ""
		for _, level := range x.Treatment {
			name = level.Text
		}
		out[name] = why
	}
	return out
}
