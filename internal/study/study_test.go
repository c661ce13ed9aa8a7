package study

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the messages beside testdata/bad/*.yaml anew; read the difference")

// vocabulary is a small world to check studies against.
func vocabulary() Vocabulary {
	messages := []string{"echo", "monitor", "sort"}
	both := func(e ...string) []Cell {
		return []Cell{{Services: messages, Encodings: e, Securities: []string{"none", "tls"}, Client: true, Server: true}}
	}
	stacks := map[string]StackFacts{
		"reference/rest-json":     {Serves: both("json")},
		"reference/rest-protobuf": {Serves: both("protobuf")},
		"reference/soap":          {Serves: both("xml")},
		"reference/coap-cbor":     {Serves: both("cbor")},
		"reference/coap-protobuf": {Serves: both("protobuf")},
		"floor-tcp":               {Serves: []Cell{{Client: true, Server: true}}},
		"axis2": {Options: []string{"chunk", "phantom.delay", "verbose"}, Serves: []Cell{
			{Services: messages, Encodings: []string{"xml"}, Securities: []string{"none"}, Client: true, Server: true},
			{Services: messages, Encodings: []string{"json"}, Securities: []string{"tls"}, Client: true}}},
		"many": {Options: []string{"chunk", "phantom.delay", "verbose"}, Serves: []Cell{
			{Services: []string{"sort", "echo"}, Encodings: []string{"xml", "json"}, Transports: []string{"tcp"}, Client: true,
				Server: true},
			{Services: []string{"monitor"}, Encodings: []string{"xml"}, Transports: []string{"tcp", "udp"}, Client: true,
				Server: true}}},
		"hosts": {Options: []string{"war"}, Serves: []Cell{
			{Services: messages, Encodings: []string{"json"}, Client: true, Server: true, Options: map[string]string{"war": ""}},
			{Services: messages, Encodings: []string{"xml"}, Client: true, Server: true,
				Options: map[string]string{"war": "axis2"}}}},
		"server-only": {Serves: []Cell{{Services: messages, Encodings: []string{"json"}, Server: true}}},
		"shortly":     {Serves: []Cell{{Connections: []string{"per-request"}, Client: true, Server: true}}},
		"broken":      {Missing: "install it: apt-get install libbroken"},
	}
	return Vocabulary{
		MostConnections: 10_000, MostRate: 1e7,
		Services:  map[string]ServiceFacts{"sort": {Sized: true}, "echo": {Sized: true}, "monitor": {}},
		Responses: []string{"serialization", "rtt", "deserialization", "wire_bytes", "cpu", "energy"},
		Links:     []string{"ethernet", "nb-iot", "gsm-9600"},
		Devices:   []string{"local", "pi", "qemu-pi"},
		Published: map[string][]string{"cloud-of-things": {"stack"}},
		Stacks: func(name string) (StackFacts, bool) {
			if f, ok := stacks["reference/"+name]; ok {
				f.Name = "reference/" + name
				return f, true
			}
			f, ok := stacks[name]
			return f, ok
		},
		StackNames: []string{"axis2", "broken", "floor-tcp", "hosts", "many", "reference/coap-cbor",
			"reference/coap-protobuf",
			"reference/rest-json", "reference/rest-protobuf", "reference/soap", "server-only", "shortly"},
	}
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, text string, sets ...string) Study {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text), vocabulary(), sets...)
	if err != nil {
		t.Fatalf("got %v, want no error for\n%s", err, text)
	}
	return s
}

func TestGoodFilesPass(t *testing.T) {
	for _, file := range glob(t, "testdata/good/*.yaml") {
		if _, err := Parse(file, read(t, file), vocabulary()); err != nil {
			t.Errorf("got %v, want no error", err)
		}
		if _, err := Parse(file, read(t, file), Vocabulary{}); err != nil {
			t.Errorf("zero Vocabulary: got %v, want no error", err)
		}
	}
}

// The messages for each file of testdata/bad stand beside it. A first line
// "# --set A=B" is given as such.
func TestBadFilesSaySo(t *testing.T) {
	for _, file := range glob(t, "testdata/bad/*.yaml") {
		data := read(t, file)
		var sets []string
		for line := range strings.Lines(string(data)) {
			if set, ok := strings.CutPrefix(line, "# --set "); ok {
				sets = append(sets, strings.TrimSpace(set))
			}
		}
		_, err := Parse(filepath.Base(file), data, vocabulary(), sets...)
		if err == nil {
			t.Errorf("%s: got no error", file)
			continue
		}
		want := strings.TrimSuffix(file, ".yaml") + ".want"
		got := []byte(err.Error() + "\n")
		if *update {
			if err := os.WriteFile(want, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if w := read(t, want); !bytes.Equal(got, w) {
			t.Errorf("%s: got\n%swant\n%s", file, got, w)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %d files, %v", pattern, len(files), err)
	}
	return files
}

func TestEveryKey(t *testing.T) {
	file := "testdata/good/every-key.yaml"
	s := parse(t, string(read(t, file)))
	p, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	want := Setup{
		Service: "sort", Size: 100_000, Stack: "many", Encoding: "json", Security: "tls", Transport: "tcp",
		Connection: "per-request", IP: "ipv6",
		Client: Side{Device: "pi", Stack: "axis2", Meter: "rapl"},
		Server: Side{Device: "qemu-pi", Stack: "many", Meter: "avr:/dev/ttyUSB0"},
		Link: Link{Text: "bad-day",
			Up:   Shape{40 * time.Millisecond, 5 * time.Millisecond, 0.001, 3, 64_000, 50, true},
			Down: Shape{40 * time.Millisecond, 5 * time.Millisecond, 0.5, 3, 1_000_000, 50, true}, Shaper: "netem"},
		Duration: 90 * time.Second, Concurrency: 4, Rate: 2.5, Arrival: "poisson",
		Capture: "off", LeaveOut: []string{"cpu", "serialization"}, // placement: apart means nothing here, since pins say it
		Heap: 128 << 20, Sensor: "serial:/dev/ttyUSB0", IODir: "/var/tmp",
		Options: map[string]string{"chunk": "16", "phantom.delay": "20ms", "verbose": "true"},
	}
	if got := *p.Trials[0].Setup; !reflect.DeepEqual(got, want) {
		t.Errorf("Setup: got\n%+v, want\n%+v", got, want)
	}
	design := Design{Replications: 5, Seed: 42, WarmUp: Span{Time: 3 * time.Second}, warmth: true,
		CoolDown: 500 * time.Millisecond, Spread: 6 * time.Hour, Precision: 0.02, Budget: Budget{Time: time.Hour},
		Confidence: 0.99}
	if s.Design != design {
		t.Errorf("Design: got %+v, want %+v", s.Design, design)
	}
	if want := (Timeouts{20 * time.Second, 2 * time.Second, time.Hour}); s.Timeouts != want {
		t.Errorf("Timeouts: got %v, want %v", s.Timeouts, want)
	}
	if s.Failures == nil || *s.Failures != 0.025 {
		t.Errorf("Failures: got %v, want 2.5 %%", s.Failures)
	}
	if s.Retries != 5 || s.Body != 1e6 || !s.Packets || s.Published.Table.Text != "cloud-of-things" ||
		s.Name != "every-key" || s.Question == "" || s.Notes == "" {
		t.Errorf("got %+v, want the values of %s", s, file)
	}
	if want := (Pin{[]int{0}, []int{1, 2}}); !reflect.DeepEqual(s.Pin, want) {
		t.Errorf("Pin: got %v, want %v", s.Pin, want)
	}
	// Every setting differs from its default here, or this test would not see
	// that one is lost. What is asked of a service that is already running has TestRequest,
	// what many devices do has TestDevices, and what
	// runs at the same time has TestAtOnce, and several benches TestDrivenFrom.
	for _, k := range settingNames() {
		if k != "devices" && !slices.Contains(populationKeys, k) &&
			!slices.Contains([]string{"n", "requests", "min_duration", "server.url", "request",
				"at_once", "driven_from"}, k) && !setsKey(s.Fixed, k) {
			t.Errorf("%s does not give %q", file, k)
		}
	}
}

func setsKey(sets []Setting, key string) bool {
	for _, s := range sets {
		if s.Key == key {
			return true
		}
	}
	return false
}

func TestDefaults(t *testing.T) {
	s := parse(t, "study: a\nservice: monitor\nstack: rest-json\n")
	p, _ := Expand(s)
	want := Setup{Service: "monitor", Stack: "reference/rest-json", Encoding: "json", Security: "none",
		Connection: "keep-alive", IP: "ipv4", Arrival: "constant", Concurrency: 1, Requests: 1000,
		Client: Side{Device: "local", Stack: "reference/rest-json"},
		Server: Side{Device: "local", Stack: "reference/rest-json"}, Link: Link{Text: "none"},
		MinDuration: 500 * time.Millisecond, Placement: Together, Capture: "on"}
	if got := *p.Trials[0].Setup; !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if len(p.Trials) != 10 || s.Design.Confidence != 0.95 || s.Retries != 2 || s.Failures != nil ||
		s.Timeouts.Request != 5*time.Second {
		t.Errorf("got %d trials, %+v, retries %d, timeouts %v", len(p.Trials), s.Design, s.Retries, s.Timeouts)
	}
	s = parse(t, "study: a\nservice: monitor\nstack: rest-json\ndesign: {precision: 2%}\n")
	if s.Design.Budget.Blocks != defaultBudget {
		t.Errorf("budget: got %v, want %d blocks", s.Design.Budget, defaultBudget)
	}
}

func TestLevelTexts(t *testing.T) {
	s := parse(t, string(read(t, "testdata/good/compound.yaml")))
	want := [][]string{
		{"axis2", "many encoding=json options.chunk=16", "floor-tcp"},
		{"small", "large"},
		{"none", "gsm-9600", "delay=40ms loss=1%", "far"},
		{"pi", "local stack=many"},
	}
	for i, f := range s.Factors {
		var got []string
		for _, l := range f.Levels {
			got = append(got, l.Text)
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("factor %s: got %q, want %q", f.Name, got, want[i])
		}
	}
	for _, tr := range s.treatments {
		far := tr.words[2].Text == "far"
		if got := tr.setup.Link.Up.Rate == 64_000 && tr.setup.Link.Down.Rate == 0; got != far {
			t.Errorf("%v: link %+v", tr.words, tr.setup.Link)
		}
		if large := tr.words[1].Text == "large"; large != (tr.setup.Size == 500_000) || large == (tr.setup.N == 100) {
			t.Errorf("%v: n %d, size %d", tr.words, tr.setup.N, tr.setup.Size)
		}
		if chunk := tr.setup.Options["chunk"] == "16"; chunk != strings.HasPrefix(tr.words[0].Text, "many") {
			t.Errorf("%v: options %v leak between treatments", tr.words, tr.setup.Options)
		}
	}
}

// A word remembers where it stood.
func TestPositions(t *testing.T) {
	s := parse(t, "study: a\nservice: monitor\nfactors:\n  stack: [rest-json, soap]\n")
	if got, want := s.Factors[0].Levels[1].Pos, (Pos{"test.yaml", 4, 22}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.Factors[0].Pos.String(); got != "test.yaml:4:3" {
		t.Errorf("got %s, want test.yaml:4:3", got)
	}
}

// What a study leaves open is chosen among what goes with what it gives.
func TestOpenChoices(t *testing.T) {
	v := Vocabulary{Stacks: func(string) (StackFacts, bool) {
		return StackFacts{Serves: []Cell{
			{Encodings: []string{"xml", "json"}, Securities: []string{"tls", "none"}, Transports: []string{"http"},
				Connections: []string{"per-request", "keep-alive"}, Client: true, Server: true},
			{Encodings: []string{"cbor"}, Securities: []string{"dtls"}, Transports: []string{"coap"},
				Connections: []string{"per-request"}, Client: true, Server: true},
		}}, true
	}}
	for _, c := range []struct {
		words, gives                              string
		encoding, security, transport, connection string
	}{
		{"the first of each, but no security and connections kept", "", "xml", "none", "http", "keep-alive"},
		{"the second encoding", "encoding: json", "json", "none", "http", "keep-alive"},
		{"the only encoding over that transport", "transport: coap", "cbor", "dtls", "coap", "per-request"},
		{"security as asked", "security: tls", "xml", "tls", "http", "keep-alive"},
		{"one connection a request", "connection: per-request", "xml", "none", "http", "per-request"},
	} {
		s, err := Parse("test.yaml", []byte("study: a\nservice: x\nstack: y\n"+c.gives), v)
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		x := s.treatments[0].setup
		got := [...]string{x.Encoding, x.Security, x.Transport, x.Connection}
		if want := [...]string{c.encoding, c.security, c.transport, c.connection}; got != want {
			t.Errorf("%s: got %q, want %q", c.words, got, want)
		}
	}
	if _, err := Parse("test.yaml", []byte("study: a\nservice: x\nstack: y\ntransport: coap\nconnection: keep-alive"),
		v); err == nil {
		t.Error("coap with keep-alive: got no error")
	}
}

// Looking for a stack's runtime takes time, so each is asked for once.
func TestStacksAreAskedForOnce(t *testing.T) {
	v, asked := vocabulary(), map[string]int{}
	find := v.Stacks
	v.Stacks = func(name string) (StackFacts, bool) {
		f, ok := find(name)
		asked[cmp.Or(f.Name, name)]++ // by short or full name
		return f, ok
	}
	if _, err := Parse("test.yaml", []byte(overridden), v); err != nil {
		t.Fatal(err)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("%s: asked for %d times, want once", name, n)
		}
	}
	if len(asked) == 0 {
		t.Error("no stack was asked for")
	}
}
