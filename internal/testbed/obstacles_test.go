package testbed

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// anySetting are values of settings and keys, of which studies are drawn: some that go together, some that do not, and
// some that this machine may lack. Several benches and boards are left out: check says with how many benches a study
// runs, and does not connect to boards.
var anySetting = [][]string{
	{"service=monitor", "service=temperature", "service=echo n=3", "service=sort n=5", "service=io n=100"},
	{"stack=rest-json", "stack=coap-json", "stack=mqtt", "stack=http2", "stack=soap", "stack=reference/floor-udp",
		"client.stack=rest-xml server.stack=phantom"},
	{"security=none", "security=tls", "security=dtls-psk", "security=oscore"},
	{"connection=keep-alive", "connection=per-request", "connection=multiplexed"},
	{"ip=ipv4", "ip=ipv6"},
	{"link=none", "link={delay: 5ms}", "link={delay: 5ms, loss: 1}", "link={delay: 5ms, shaper: netem}"},
	{"client.device=constrained-10", "client.device=cortex-a53", "client.device=nonsense"},
	{"server.device=constrained-10", "server.device=cortex-a53", "server.device=instructions-arm64"},
	{"client.meter=model:raspberry-pi-1", "server.meter=model:nrf9160-lte-m", "server.meter=avr:/dev/no-such-meter"},
	{"concurrency=4", "concurrency=10000 requests=20000", "rate=100", "rate=100 arrival=poisson"},
	{"requests=5", "duration=1s", "min_duration=1s", "devices=5 period=1s duration=2s"},
	{"placement=together", "placement=apart", "placement=free", "pin={server: 0}", "pin={client: 4000}"},
	{"at_once=2", "capture=off", "capture=on", "leave_out=[rtt]", "heap=64MiB", "packets=keep", "time=instructions"},
	{"sensor=fixed:20", "sensor=fixed:warm", "sensor=w1:28-0", "sensor=simulated:go"},
	{"io_dir=/tmp", "io_dir=/no/such/folder", "io_dir=tmp"},
	{"options.letters=5", "options.letters=x", "options.confirmable=off", "options.confirmable=maybe"},
	{"responses=[rtt]", "responses=[rtt, wire_bytes]", "responses=[energy]", "responses=[instructions]",
		"responses=[jitter]", "responses=[sensor_time]"},
	{"timeouts.ready=1ms", "timeouts.request=1ms", "limits.body=5kB", "unavailable=skip"},
	{"server.url=http://127.0.0.1:1/", "server.url=coap://127.0.0.1:1/ request={path: /a}"},
	{"factors={ip: [ipv4, ipv6]}", "factors={security: [none, tls]}", "factors={heap: [64MiB, 128MiB]}",
		"factors={server.device: [local, cortex-a53]}"},
}

// Run finds what check finds, and nothing else: a study that check calls ready is opened, and another is refused in
// the same words. It opens meters later than check does, and may not come to that.
func TestOpenFindsTheObstaclesOfCheck(t *testing.T) {
	b, random := bed(t), seeded(t)
	most := 60
	if testing.Short() {
		most = 4
	}
	ready, refused := 0, 0
	for range 100 * most {
		if ready >= most && refused >= most {
			break
		}
		sets := []string{"requests=5"}
		for range 1 + random.IntN(4) {
			values := anySetting[random.IntN(len(anySetting))]
			sets = append(sets, splitSets(values[random.IntN(len(values))])...)
		}
		if slices.ContainsFunc(sets, func(s string) bool { return strings.HasPrefix(s, "duration") }) {
			sets = sets[1:]
		}
		text := []byte("study: s\nservice: monitor\nstack: rest-json\ndesign: {replications: 1}\n")
		if slices.ContainsFunc(sets, func(s string) bool { return strings.HasPrefix(s, "server.url") }) {
			text = []byte("study: s\ndesign: {replications: 1}\n")
		}
		p, left, err := b.ReadAvailable(t.Context(), "s.yaml", text, nil, sets...)
		if err != nil {
			continue
		}
		found := b.Obstacles(t.Context(), p)
		if found == nil && ready >= most || found != nil && refused >= most {
			continue
		}
		e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Out: filepath.Join(t.TempDir(), "out"), LeftOut: left,
			Trust: true})
		if err == nil {
			err = e.Close()
		}
		var opened study.Errors
		_ = errors.As(err, &opened) // else it is of another kind
		switch {
		case found == nil && err != nil:
			t.Errorf("%q: check calls it ready, and run says: %v", sets, err)
		case found != nil && (opened == nil || slices.ContainsFunc(opened, func(x *study.Error) bool {
			return !slices.ContainsFunc(found, func(y *study.Error) bool { return *x == *y })
		})):
			t.Errorf("%q: check says:\n%v\nand run:\n%v", sets, found, err)
		case found == nil:
			ready++
		default:
			refused++
		}
	}
	if ready < most/2 || refused < most/2 {
		t.Errorf("%d studies are ready, %d are not: too few to show anything", ready, refused)
	}
}

// splitSets parts overrides at the blanks before a key.
func splitSets(text string) (sets []string) {
	for _, word := range strings.Fields(text) {
		if key, _, ok := strings.Cut(word, "="); ok && !strings.ContainsAny(key, "{[") {
			sets = append(sets, word)
			continue
		}
		sets[len(sets)-1] += " " + word
	}
	return sets
}
