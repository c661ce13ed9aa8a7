package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// A keyRow has two values of a key, and what else a study says.
type keyRow struct {
	with       []string // further overrides
	one, other string   // overrides
}

// keysRead are keys whose two values have a lab do something else.
func keysRead(t *testing.T) map[string]keyRow {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Setenv("EG_KEY", "00")
	t.Setenv("EG_OTHER", "01")
	link := func(one, other string) keyRow {
		return keyRow{nil, "link={name: x, " + one + "}", "link={name: x, " + other + "}"}
	}
	request := func(url, one, other string) keyRow {
		return keyRow{[]string{"server.url=" + url}, "request={" + one + "}", "request={" + other + "}"}
	}
	const http, https, coap, coaps, mqtt = "http://127.0.0.1:1/", "https://127.0.0.1:1/", "coap://127.0.0.1:1/",
		"coaps://127.0.0.1:1/", "mqtt://127.0.0.1:1"
	cpu := fmt.Sprint(kernel.AllowedCPUs()[0])
	counted := []string{"client=cortex-a53", "server=cortex-a53", "time=instructions"}
	return map[string]keyRow{
		"factors": {nil, "factors={concurrency: [1, 2]}", "factors={concurrency: [1, 3]}"},
		"exclude": {[]string{"factors={concurrency: [1, 2, 3]}"}, "exclude=[{concurrency: 1}]",
			"exclude=[{concurrency: 2}]"},
		"design":      {nil, "design={replications: 1}", "design={replications: 2}"},
		"responses":   {nil, "responses=[rtt]", "responses=[rtt, energy]"},
		"timeouts":    {nil, "timeouts={request: 1s}", "timeouts={request: 2s}"},
		"retries":     {nil, "retries=0", "retries=1"},
		"limits":      {nil, "limits={body: 1MB}", "limits={body: 2MB}"},
		"packets":     {counted, "packets=keep", "packets=drop"},
		"unavailable": {[]string{"responses=[rtt, energy]"}, "unavailable=skip", "unavailable=stop"},
		"pin":         {nil, "pin={client: " + cpu + "}", "pin={server: " + cpu + "}"},
		"time":        {nil, "time=clock", "time=instructions"},

		"design.replications": {nil, "design.replications=1", "design.replications=2"},
		"design.seed":         {[]string{"service=sort", "n=3"}, "design.seed=1", "design.seed=2"},
		"design.warmup":       {nil, "design.warmup=0", "design.warmup=5"},
		"timeouts.ready":      {nil, "timeouts.ready=50ms", "timeouts.ready=5s"},
		"timeouts.request":    {nil, "timeouts.request=1s", "timeouts.request=2s"},
		"timeouts.trial":      {nil, "timeouts.trial=50ms", "timeouts.trial=5s"},
		"limits.body":         {nil, "limits.body=1MB", "limits.body=2MB"},
		"pin.client":          {nil, "pin.client=0", "pin.client=1"},
		"pin.server":          {nil, "pin.server=0", "pin.server=1"},

		"link.delay":        link("delay: 1ms", "delay: 2ms"),
		"link.delay_stddev": link("delay: 9ms, delay_stddev: 1ms", "delay: 9ms, delay_stddev: 2ms"),
		"link.loss":         link("loss: 1%", "loss: 2%"),
		"link.loss_burst":   link("loss: 1%, loss_burst: 2", "loss: 1%, loss_burst: 3"),
		"link.rate":         link("rate: 64kbit", "rate: 128kbit"),
		"link.queue":        link("rate: 64kbit, queue: 10", "rate: 64kbit, queue: 20"),
		"link.order":        link("delay: 9ms, delay_stddev: 1ms, order: kept", "delay: 9ms, delay_stddev: 1ms, order: free"),
		"link.up":           link("up: {delay: 1ms}", "up: {delay: 2ms}"),
		"link.down":         link("down: {delay: 1ms}", "down: {delay: 2ms}"),
		"link.name":         {nil, "link={name: x, delay: 1ms}", "link={name: y, delay: 1ms}"},
		"link.profile":      link("profile: nb-iot, loss: 5%", "profile: lte-m, loss: 5%"),
		"link.shaper":       link("delay: 9ms", "delay: 9ms, shaper: netem"),

		"request.method":         request(http, "method: POST", "method: PUT"),
		"request.path":           request(http, "path: /a", "path: /b"),
		"request.headers":        request(http, "headers: {A: b}", "headers: {A: c}"),
		"request.body":           request(http, "body: x", "body: y"),
		"request.body_file":      request(http, "body_file: "+file("x"), "body_file: "+file("y")),
		"request.content_type":   request(http, "body: x, content_type: text/plain", "body: x, content_type: text/html"),
		"request.accept":         request(http, "accept: text/plain", "accept: text/html"),
		"request.status":         request(http, "status: 200", "status: 201"),
		"request.match":          request(http, "match: a", "match: b"),
		"request.topic":          request(mqtt, "topic: a, response_topic: r", "topic: b, response_topic: r"),
		"request.response_topic": request(mqtt, "topic: a, response_topic: r", "topic: a, response_topic: s"),
		"request.qos":            request(mqtt, "topic: a, response_topic: r, qos: 0", "topic: a, response_topic: r, qos: 1"),
		"request.confirmable":    request(coap, "confirmable: on", "confirmable: off"),
		"request.ca":             request(https, "ca: "+file("one"), "ca: "+file("other")),
		"request.insecure":       request(https, "insecure: true", "insecure: false"),
		"request.psk_identity":   request(coaps, "psk_identity: a, psk: env:EG_KEY", "psk_identity: b, psk: env:EG_KEY"),
		"request.psk":            request(coaps, "psk_identity: a, psk: env:EG_KEY", "psk_identity: a, psk: env:EG_OTHER"),
	}
}

// keysElsewhere are keys of which no lab's doings tell, and which test has them.
var keysElsewhere = map[string]string{
	"format":            "one is known: study has testdata/bad/newer-format.yaml",
	"study":             "the folder of results is called so: TestLatest",
	"question":          "for readers",
	"notes":             "for readers",
	"published":         "report has TestPublishedStandsBesideOurs",
	"failures":          "lab has TestGatesOfFailures",
	"design.cooldown":   "lab has TestAStudyStoppedInItsLastCoolDown",
	"design.spread":     "lab has TestBlocksAreSpread",
	"design.precision":  "lab has TestBlocksOfTreatmentsThatLackThePrecision",
	"design.budget":     "lab has it in ending_test.go",
	"design.confidence": "cmd/edgegauge has TestVerdictsHaveTheConfidenceOfTheStudy",
	"design.benches":    "report has TestFiguresOfSeveralBenches",
	"design.order":      "one is known",
	"request.name":      "names a level: study has TestServicesAndRequestsAreLevels",
}

// Every key of a study that is no setting is read by somebody, as TestEverySettingIsRead has it of settings: two
// studies that differ in nothing else make the lab do something else, or are refused in other words. A key without a
// row fails.
func TestEveryKeyIsRead(t *testing.T) {
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	recorder(t, filepath.Join(dir, "stacks", "recorder"), told)
	b := bed(t, filepath.Join(dir, "stacks"))
	rows := keysRead(t)
	for _, key := range study.Keys() {
		row, ok := rows[key]
		if ok == (keysElsewhere[key] != "") {
			t.Errorf("the key %s has a row: %v; say what makes a difference, or else who tests it", key, ok)
		}
		if !ok || testing.Short() { // each is three studies
			continue
		}
		does := func(set string) string { return keyDoings(t, b, told, append(slices.Clone(row.with), set)) }
		one, other := does(row.one), does(row.other)
		if one == other {
			t.Errorf("%s or %s: the lab does the same:\n%s", row.one, row.other, one)
		}
		if again := does(row.one); again != one {
			t.Errorf("%s twice: the lab does not do the same, so this test shows nothing:\n%s\n%s", row.one, one, again)
		}
	}
	for key := range rows {
		if !slices.Contains(study.Keys(), key) {
			t.Errorf("there is no key %s", key)
		}
	}
}

// keyDoings is what a lab tells a stack's programs for a study with these overrides, or what it opens where there is a
// link between them or a service in their place; or why it cannot be run.
func keyDoings(t *testing.T, b *Testbed, told string, sets []string) string {
	t.Helper()
	if err := os.WriteFile(told, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	text := "study: s\nservice: monitor\nstack: recorder\nrequests: 10\ndesign: {replications: 1}\nretries: 0\ntimeouts: " +
		"{ready: 2s, request: 1s, trial: 20s}\n"
	if strings.HasPrefix(sets[0], "server.url=") {
		text = "study: s\n"
	}
	p, left, err := b.ReadAvailable(t.Context(), "s.yaml", []byte(text), nil, sets...)
	if err != nil {
		return err.Error()
	}
	s := p.Trials[0].Setup
	if s.URL != "" || s.Link.Text != "none" {
		x := b.assemble(p, b.Exe, b.Temp)
		x.openLinks()
		x.openRequests(t.Context())
		return fmt.Sprintf("%+v %+v", x.lab.Links, x.lab.Requests[s])
	}
	out := filepath.Join(t.TempDir(), "out")
	e, err := b.Open(t.Context(), Request{Plan: p, Text: []byte(text), Out: out, LeftOut: left})
	if err != nil {
		return err.Error()
	}
	defer e.Close()
	if _, err := e.Lab.Run(t.Context()); err != nil {
		return err.Error()
	}
	said, _ := os.ReadFile(told)
	lines := strings.Split(string(said), "\n")
	slices.Sort(lines) // two programs write at once
	return harmless(strings.Join(lines, "\n"), e.Lab.Scratch) +
		fmt.Sprint(left, lab.CPUsOf(s, p.Study.Pin, []int{1, 0}))
}
