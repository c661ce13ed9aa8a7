package testbed

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/study"
)

// What each trial would fail of is found before the first: messages that cannot be sent, CPUs and sensors that are not
// there.
func TestWhatEachTrialWouldFailOf(t *testing.T) {
	b := bed(t)
	const devices = "devices: 5\nperiod: 1s\nduration: 1s\n"
	for _, tt := range []struct{ settings, want string }{
		{"stack: reference/floor-udp\nsize: 200kB", "do not fit a datagram"},
		{"stack: reference/floor-udp\nsize: 60kB", ""},
		{"stack: reference/floor-tcp\nsize: 200kB", ""},
		{"stack: reference/rest-json\nn: 5\noptions: {letters: x}", "not a whole number"},
		{"stack: reference/rest-json\nn: 5\noptions: {letters: -1}", "letters -1 is negative"},
		{"stack: reference/rest-json\nn: 5\noptions: {letters: 10}", ""},
		{"stack: reference/rest-json\nn: 1000000000", "1000000000 elements is above limits.body, 16MB"},
		{"stack: reference/rest-json\nservice: concat\nn: 5\noptions: {letters: 100000000}",
			"5 strings of 100000000 letters"},
		{"stack: reference/rest-json\nservice: sort\nn: 30000000", "30000000 elements takes about 31"},
		{"stack: reference/rest-json\nservice: sort\nn: 30000000\nlimits: {body: 900MB}", ""},
		{"stack: reference/rest-json\nservice: concat\nn: 3\noptions: {letters: 10000000}", "3 elements takes about "},
		{"stack: reference/floor-udp\nn: 30000000\nlimits: {body: 100MB}", "do not fit a datagram"},
		{"stack: reference/rest-json\nservice: sort\nn: 1000\nlimits: {body: 5kB}", " B in json, above limits.body, 5kB"},
		{"stack: reference/rest-protobuf\nservice: sort\nn: 900\nlimits: {body: 5kB}", ""},
		{"stack: reference/rest-json\nservice: monitor\nlimits: {body: 10B}", "the message takes 133 B in json, above " +
			"limits.body, 10B; raise limits: {body: …}"},
		{"stack: reference/rest-json\nservice: monitor\nlimits: {body: 200B}", ""},
		{"stack: reference/rest-json\nservice: temperature\nlimits: {body: 200B}", ""},
		{"stack: reference/soap\nn: 20\nlimits: {body: 188B}", "the answer to a message of 20 elements takes 204 B in " +
			"soap11, above limits.body, 188B"},
		{"stack: reference/soap\nn: 20\nlimits: {body: 204B}", ""},
		{devices + "stack: reference/mqtt\nencoding: json\nn: 20\nlimits: {body: 30B}", "B in json, above limits.body, 30B"},
		{"stack: reference/floor-tcp\nencoding: soap11\nn: 20\nlimits: {body: 203B}", "takes 204 B in soap11"},
		{"stack: reference/rest-exi\nencoding: exi-schema-compressed\nservice: concat\nn: 50\noptions: {letters: 100}\n" +
			"limits: {body: 4900B}", "exi-schema-compressed, and its texts unpack to one above limits.body, 4900B"},
		{"stack: reference/rest-json\nn: 5\npin: {client: 4000}", "CPU 4000 is not one of those"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'serial:/dev/no-such-tty'", "no-such-tty: no such file"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'w1:28-0'", "w1_slave: no such file"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'hwmon:/proc/self'", "temp1_input: no such file"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'program:no-such-program -x'",
			"there is no such program"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'program:/no/such/program'", "there is no such program"},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'program:sleep 1'", ""},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'program:while true; do echo 20; done'", ""},
		{"stack: reference/rest-json\nservice: temperature\nsensor: 'program:X=1 no-such-program'", ""},
		{"stack: reference/rest-json\nn: 5\ntimeouts: {ready: 1ms}", "timeouts.ready of 1ms is shorter"},
		{"stack: reference/rest-json\nn: 5\ntimeouts: {ready: 100ms}", ""},
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 700\ntimeouts: {request: 30s}",
			"700 requests and their warm-up take 11m40s at least behind this link, whose round trip is 1s or more: too long " +
				"for timeouts.trial, 10m; lower"},
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 700\ntimeouts: {trial: 20m}", ""},
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 700\nconcurrency: 2", ""},
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 500\ndesign: {warmup: 200}", "500 requests and"},
		{"stack: rest-json\nn: 5\nlink: gprs\nrequests: 2000", "take 17m"},
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 700\nrate: 2",
			"700 requests and their warm-up at 2 per second take 11m40s at least"}, // over one connection
		{"stack: rest-json\nn: 5\nlink: {delay: 500ms}\nrequests: 700\nrate: 2\nconcurrency: 2", ""},
		{devices + "stack: reference/coap-xml\nsize: 20kB", "devices send at most 1024"},
		{devices + "stack: reference/coap-xml\nsize: 500B\nsecurity: oscore", ""},
		{devices + "stack: reference/coap-cbor\nsize: 900B\nsecurity: dtls-psk", ""},
		{devices + "stack: reference/coap-cbor\nsize: 9B\nsecurity: dtls-psk\noptions: {connection_id: 'on'}", ""},
		{devices + "stack: reference/coap-cbor\nsize: 9B\nobserve: 1s\noptions: {observe: 'on'}", ""},
		{devices + "stack: reference/coap-cbor\nsize: 9B\nlink: nb-iot", ""},
		{devices + "stack: reference/rest-json\nsize: 20kB\nsecurity: tls", ""},
		{devices + "stack: reference/mqtt\nsize: 900B\nencoding: json", ""},
		{devices + "stack: reference/floor-tcp\nsize: 900B", ""},
	} {
		text := "study: s\n" + tt.settings + "\n"
		if !strings.Contains(text, "service:") {
			text += "service: echo\n"
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		found := b.Obstacles(t.Context(), p)
		if (found == nil) != (tt.want == "") || found != nil && !strings.Contains(found.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.settings, found, tt.want)
		}
	}
}

// What is judged by two smaller messages takes as much in fact, in each encoding.
func TestSizesBySlope(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, encoding := range codec.Encodings() {
		for _, x := range []struct {
			service    service.Name
			n, letters int
		}{{service.Sort, 700_000, 0}, {service.Sum, 700_000, 0}, {service.Echo, 700_000, 0}, {service.Memory, 700_000, 0},
			{service.Monitor, 700_000, 0}, {service.Concat, 70_000, 10}, {service.Concat, 5, 140_000}} {
			size := func(n, letters int) int64 {
				var m service.Message
				service.Make(x.service, 7, n, service.Width{Letters: letters}, &m)
				return int64(len(codec.Append(encoding, nil, x.service, false, &m)))
			}
			got, want := sizeBySlope(x.n, x.letters, x.service == service.Concat, size), size(x.n, x.letters)
			if off := float64(got)/float64(want) - 1; math.Abs(off) > 0.02 {
				t.Errorf("%s of %d, letters %d, in %s: got %d B, it takes %d", x.service, x.n, x.letters, encoding, got, want)
			}
		}
	}
}

// Connections that do not fit are refused, with the number that does.
func TestConnectionsThatDoNotFit(t *testing.T) {
	setup := func(stack, connection string, n int) *study.Setup {
		return &study.Setup{Client: study.Side{Stack: stack}, Server: study.Side{Stack: stack}, Connection: connection,
			Transport: "http", Population: study.Population{Devices: n}}
	}
	with := func(s *study.Setup, change func(*study.Setup)) *study.Setup {
		change(s)
		return s
	}
	plenty := room{limit: 20_000, files: 1 << 30, tracked: 1 << 30, memory: 1 << 50}
	has := func(change func(*room)) room {
		r := plenty
		change(&r)
		return r
	}
	for _, tt := range []struct {
		name  string
		setup *study.Setup
		room  room
		want  string // in what is said; empty: it fits
	}{
		{"one process", setup("reference/mqtt", "keep-alive", 19_800), plenty, ""},
		{"six", setup("reference/mqtt", "keep-alive", 100_000), plenty, ""},
		{"six of HTTP", setup("reference/rest-cbor", "keep-alive", 100_000), plenty, ""},
		{"more than 64", setup("reference/mqtt", "keep-alive", 2_000_000), plenty,
			"each of the server's processes may open 20000 files here; take at most 1205709 devices"},
		{"Mosquitto's own", setup("reference/mqtt-mosquitto", "keep-alive", 19_800), plenty, ""},
		{"Mosquitto", setup("reference/mqtt-mosquitto", "keep-alive", 19_801), plenty, "Mosquitto, one process, may open " +
			"20000 files here; take at most 19800 devices, or take a server that is as many processes as it needs"},
		{"one in another language", with(setup("reference/rest-json", "keep-alive", 19_801), func(s *study.Setup) {
			s.Server.Stack = "cxf"
		}), plenty, "the server, one process, may open 20000 files here; take at most 19800 devices"},
		{"a sensor with one reader", with(setup("reference/rest-json", "keep-alive", 19_801), func(s *study.Setup) {
			s.Sensor = "serial:/dev/ttyUSB0"
		}), plenty, "the server with this sensor, one process, may open 20000 files here; take at most 19800 devices, or " +
			"take another sensor"},
		{"observers of one process", with(setup("reference/mqtt", "keep-alive", 19_800), func(s *study.Setup) {
			s.Population.Observe = time.Minute
		}), plenty, ""},
		{"observers of six", with(setup("reference/mqtt", "keep-alive", 100_000), func(s *study.Setup) {
			s.Population.Observe = time.Minute
		}), plenty, "need a server of 6 processes here, and over MQTT observers hear only of what their own one is asked; " +
			"take at most 19800 devices, or remove observe"},
		{"the machine's files", setup("reference/floor-tcp", "keep-alive", 10_000), has(func(r *room) { r.files = 10_200 }),
			"take at most 5000 devices, or raise fs.file-max"},
		{"its firewall", setup("reference/floor-tcp", "keep-alive", 10_000), has(func(r *room) { r.tracked = 9_999 }),
			"tracks 9999 more (net.netfilter.nf_conntrack_max); take at most 9999 devices"},
		{"its memory", with(setup("reference/floor-tcp", "keep-alive", 100_000), func(s *study.Setup) {
			s.Transport = "tcp"
		}), has(func(r *room) { r.memory = 650e6 }), "100000 connections take some 1300 MB of memory, and this machine has 650 MB left; take at most 50000 devices"},
		{"few files", setup("reference/mqtt", "keep-alive", 1), has(func(r *room) { r.limit = 200 }),
			"1 devices need a server that has up to 200 open files besides their connections, and a program may open 200 here; " +
				"raise the limit"},
		{"one more", setup("reference/mqtt", "keep-alive", 1), has(func(r *room) { r.limit = 201 }), ""},
		{"one after the other", setup("reference/rest-json", "per-request", 100_000), room{limit: 1000}, ""},
		{"without connections", setup("reference/coap-json", "keep-alive", 1_000_000), room{limit: 1000}, ""},
		{"no devices", setup("reference/mqtt", "keep-alive", 0), room{}, ""},
	} {
		what, advice := tooManyDevices(tt.setup, tt.room)
		if got := what + "; " + advice; (what == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if freeFiles() < 100 || freeMemory() < 1<<20 || freeTracked() < 0 {
		t.Errorf("%d files, %d B and %d tracked connections are left", freeFiles(), freeMemory(), freeTracked())
	}
}

func TestFilesOfTheLabItself(t *testing.T) {
	for _, tt := range []struct {
		atOnce, limit int
		want          string
	}{
		{0, 48, ""}, {1, 48, ""}, {8, 160, ""},
		{1, 47, "a program may open 47 files here, and edgegauge itself opens up to 48 while it measures; raise the limit"},
		{8, 159, "up to 160 while it measures; write at_once: 7 or less, or raise the limit"},
		{8, 48, "write at_once: 1 or less, or raise"}, {8, 47, "up to 160 while it measures; raise the limit"},
	} {
		what, advice := tooFewForTheLab(tt.atOnce, tt.limit)
		if got := what + "; " + advice; (what == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%d at once, %d files: got %q, want %q", tt.atOnce, tt.limit, got, tt.want)
		}
	}
}

// What a refusal advises is accepted, and one more is not.
func TestAdvisedNumbersOfDevicesFit(t *testing.T) {
	advised := regexp.MustCompile(`take at most (\d+) devices`)
	draw := rand.New(rand.NewPCG(7, 7))
	stacks := []string{"reference/mqtt", "reference/mqtt-mosquitto", "reference/rest-json", "reference/floor-tcp"}
	refused := 0
	for range 2000 {
		r := room{limit: 300 + draw.IntN(30_000), files: 2000 + draw.IntN(3_000_000), tracked: 1 + draw.IntN(3_000_000),
			memory: 1e8 + draw.Int64N(3e10)}
		s := &study.Setup{Connection: "keep-alive", Transport: "http"}
		s.Population.Devices = 1 + draw.IntN(2e6)
		s.Client.Stack = stacks[draw.IntN(len(stacks))]
		s.Server.Stack = s.Client.Stack
		var last string
		for what, advice := tooManyDevices(s, r); what != ""; what, advice = tooManyDevices(s, r) {
			m := advised.FindStringSubmatch(advice)
			if m == nil {
				t.Fatalf("%q advises no number", advice)
			}
			n, _ := strconv.Atoi(m[1])
			if n >= s.Population.Devices {
				t.Fatalf("%+v: %d devices were refused (%s), and %d are advised", r, s.Population.Devices, what, n)
			}
			refused++
			s.Population.Devices, last = n, what
		}
		if last == "" {
			continue
		}
		s.Population.Devices++
		if what, _ := tooManyDevices(s, r); what == "" {
			t.Fatalf("%+v, %s: %d devices fit, though at most %d are advised (%s)", r, s.Server.Stack,
				s.Population.Devices, s.Population.Devices-1, last)
		}
	}
	if refused < 500 {
		t.Errorf("%d were refused", refused)
	}
}

// So are those of a client that has many, where both programs are one process each.
func TestConnectionsOfAClientThatDoNotFit(t *testing.T) {
	b := bed(t)
	const head = "study: s\nservice: monitor\nrequests: 100000\ndesign: {replications: 1}\n"
	for _, tt := range []struct {
		study       string
		limit, free int
		want        string
	}{
		{"stack: rest-json\nconcurrency: 2000", 2050, 1 << 20, ""},
		{"stack: rest-json\nconcurrency: 2000", 2049, 1 << 20, "2000 connections are as many open files, and a program may " +
			"open 2049 here; write concurrency: 1999 or less, or raise the limit (ulimit -Hn)"},
		{"stack: rest-json\nconcurrency: 2000\nconnection: per-request", 1024, 1 << 20, "write concurrency: 974 or less"},
		{"stack: rest-json\nconcurrency: 2000\nconnection: pipelined", 1024, 1 << 20, ""},
		{"stack: http2\nconcurrency: 2000\nconnection: multiplexed", 1024, 1 << 20, ""},
		{"stack: rest-json\nconcurrency: 2000", 1 << 20, 4049, "2000 connections are 4000 open files, and this machine has " +
			"4049 left (fs.file-max); write concurrency: 1999 or less"},
		{"stack: coap-json\nconcurrency: 2000", 1024, 1 << 20, "write concurrency: 974 or less"},
		{"stack: coap-json\nconcurrency: 2000", 1 << 20, 2050, ""}, // the server has one socket
		{"client: {stack: coap-json, device: 'ssh://pi@board'}\nserver: {stack: coap-json}\nconcurrency: 2000", 1024,
			1 << 20, ""},
		{"server.url: 'http://127.0.0.1:1/'\nconcurrency: 2000", 1024, 1 << 20, "write concurrency: 974 or less"},
		{"server.url: 'http://127.0.0.1:1/'\nconcurrency: 2000", 1 << 20, 2050, ""},
		{"stack: rest-json\nconcurrency: 500\ndriven_from: 4\nduration: 1s", 1024, 1 << 20, "2000 connections are as many " +
			"open files, and a program may open 1024 here; write concurrency: 243 or less"},
		{"stack: rest-json\nserver: {device: 'ssh://pi@board'}\nconcurrency: 500", 400, 1 << 20, "write concurrency: 350"},
		{"stack: rest-json\nclient: {device: 'ssh://pi@board'}\nserver: {device: 'ssh://pi@board'}\nconcurrency: 500",
			400, 1 << 20, ""},
		{"stack: rest-json\nconcurrency: 8", 40, 40, ""},
		{"stack: coap-json\ndevices: 5\nperiod: 1s\nduration: 30s", 40, 40, ""},
	} {
		text := head
		if strings.Contains(tt.study, "server.url") {
			text = strings.Replace(text, "service: monitor\n", "", 1)
		}
		if strings.Contains(tt.study, "duration:") {
			text = strings.Replace(text, "requests: 100000\n", "", 1)
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text+tt.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		s := p.Trials[0].Setup
		client, server := b.assemble(p, b.Exe, b.Temp).filesOf(s)
		what, advice := tooManyAtOnce(s.Concurrency, client, server, tt.limit, tt.free)
		if got := what + "; " + advice; (what == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.study, got, tt.want)
		}
	}
}
