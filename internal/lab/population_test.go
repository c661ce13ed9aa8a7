package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// soundDevices is a trial of many devices that passes every gate.
func soundDevices() *evidence {
	setup := &study.Setup{Concurrency: 1, Population: study.Population{Devices: 100, Lateness: 10 * time.Millisecond}}
	r := &population.Account{Devices: 100, Elapsed: 10 * time.Second, CPU: time.Second, LatenessP99: 9 * time.Millisecond}
	r.Requests, r.Answered, r.Failed, r.Retransmissions = 1000, 990, 10, 20
	return &evidence{
		setup:        setup,
		conversation: conversation{asked: stack.Run{Duration: int64(r.Elapsed)}},
		tallies: &tallies{sides: [2]accumulator{
			atClient: {n: 1000, failed: 10, why: "no answer in time"},
			atServer: {n: 995},
		}},
		devices:  &devices{asked: &setup.Population, account: r},
		findings: new(findings),
	}
}

func TestGatesOfDevices(t *testing.T) {
	for _, tt := range []struct {
		what  string
		spoil func(*evidence, *population.Account)
		want  string
	}{
		{"sound", func(*evidence, *population.Account) {}, ""},
		{"all that was sent was served", func(t *evidence, _ *population.Account) { t.sides[atServer].n = 1020 },
			""},
		{"late", func(_ *evidence, r *population.Account) { r.LatenessP99 = 11 * time.Millisecond },
			"the driver was late: 1 % of the requests left later than 11ms"},
		{"dropped", func(_ *evidence, r *population.Account) { r.Dropped = 3 }, "the kernel dropped 3 answers"},
		{"busy", func(_ *evidence, r *population.Account) { r.CPU = 8 * time.Second }, "busy for 80 %"},
		{"busy, and then an answer that did not come", func(_ *evidence, r *population.Account) {
			r.CPU, r.Elapsed = 8*time.Second, 100*time.Second
		}, "busy for 80 %"},
		{"busy on two CPUs", func(_ *evidence, r *population.Account) { r.CPU, r.Shards = 12*time.Second, 2 }, ""},
		{"a lab that was stopped", func(t *evidence, _ *population.Account) { t.stall = 3 * time.Second },
			"this lab did not run for 3s of the trial"},
		{"an outage", func(t *evidence, r *population.Account) {
			t.setup.Population.Outage.For, r.Withheld = time.Second, 1
		}, ""},
		{"an outage that met nobody", func(t *evidence, _ *population.Account) {
			t.setup.Population.Outage.For = time.Second
		}, "the outage met nobody"},
		{"a wrong answer", func(_ *evidence, r *population.Account) { r.Wrong = 1 }, "1 of 991 answers were wrong"},
		{"no answer", func(t *evidence, r *population.Account) {
			r.Answered, r.Failed = 0, 1000
		}, ""},
		{"no answer in the warm-up either", func(t *evidence, r *population.Account) {
			r.Answered, r.Failed = 0, 1000
			t.conversation.warmUp = stack.WarmUp{Client: 9, Failures: stack.Failures{Failed: 9}}
		}, ""},
		{"no registration", func(t *evidence, r *population.Account) {
			r.Registrations, r.RegistrationsFailed = 7, 7
		}, "none of 7 registrations was answered"},
		{"nothing sent", func(_ *evidence, r *population.Account) { *r = population.Account{} }, "no request was sent"},
		{"the server served fewer than were answered", func(t *evidence, _ *population.Account) {
			t.sides[atServer].n = 989
		}, "the server 989"},
		{"the server served more than was sent", func(t *evidence, _ *population.Account) {
			t.sides[atServer].n = 1021
		}, "the server 1021"},
		{"its own sums", func(_ *evidence, r *population.Account) { r.Failed = 9 },
			"990 requests were answered and 9 failed"},
	} {
		r := soundDevices()
		tt.spoil(r, r.devices.account)
		got := r.fault()
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// Counts are of all requests, also where the records are a sample.
func TestCountsOfDevicesAreOfAll(t *testing.T) {
	r := soundDevices()
	sums := &accumulator{n: 250, failed: 3, given: int64(time.Hour), endless: true}
	var told population.Account
	told.Requests, told.Failed, told.Elapsed, told.Sampled = 1000, 10, 10*time.Second, 4
	b, _ := json.Marshal(told)
	if err := r.devices.take(stack.End{Population: string(b)}, sums); err != nil {
		t.Fatal(err)
	}
	if sums.n != 1000 || sums.failed != 10 || sums.last != int64(10*time.Second) || r.devices.account.Sampled != 4 ||
		sums.given != 0 || sums.endless { // the client says how long the run took
		t.Errorf("got %d requests, %d failed, in %d ns", sums.n, sums.failed, sums.last)
	}
	if err := r.devices.take(stack.End{}, sums); err == nil {
		t.Error("a client that says nothing of its devices: got no error")
	}
}

func TestResponsesOfDevices(t *testing.T) {
	r := soundDevices()
	r.conversation.asked.Duration = int64(5 * time.Second)
	p := r.devices.account
	p.BytesOut, p.BytesIn, p.Recovery = 50_000, 30_000, 12*time.Second
	r.findings.results = []store.Result{{Side: measure.Client, Response: "serialization", N: 9},
		{Side: measure.Client, Response: "response_time", N: 9}, {Side: measure.Server, Response: "serialization", N: 9}}
	r.devices.summarize(r.findings, r.stated())
	got := map[string]float64{}
	for _, x := range r.findings.results {
		if x.Side == measure.Client {
			got[x.Response] = x.Mean
		}
	}
	want := map[string]float64{"response_time": 0, "sent_rate": 200, "failed_share": 0.01, "resent": 0.02,
		"datagram_bytes": 80, "driver_lateness": 0.009, "recovery_time": 12}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What the kernel does not say that TCP sent again is not known, which is not 0.
func TestResentThatNobodyTells(t *testing.T) {
	r := soundDevices()
	r.devices.account.ResentUntold = 3
	r.devices.summarize(r.findings, r.stated())
	i := slices.IndexFunc(r.findings.results, func(x store.Result) bool { return x.Response == "resent" })
	if i < 0 || !math.IsNaN(r.findings.results[i].Mean) {
		t.Errorf("got %+v", r.findings.results)
	}
}

// What devices do per second is of the time that the study says: also of those that all report at once, or whose last
// answer came late.
func TestRatesOfDevicesAreOfTheStatedTime(t *testing.T) {
	for _, elapsed := range []time.Duration{20 * time.Millisecond, 5 * time.Second, 9 * time.Second} {
		r := soundDevices()
		r.conversation.asked.Duration = int64(5 * time.Second)
		r.devices.account.Elapsed, r.sides[atClient].last = elapsed, int64(elapsed)
		r.devices.account.Notifications, r.devices.account.HeardLate = 510, 10
		r.setup.Population.Observe = time.Minute
		r.summarize()
		got := map[string]float64{}
		for _, x := range r.findings.results {
			got[x.Response] = x.Mean
		}
		if got["throughput"] != 198 || got["sent_rate"] != 200 || got["notification_rate"] != 100 {
			t.Errorf("a run of %v: got %g answered, %g sent and %g heard per second", elapsed, got["throughput"],
				got["sent_rate"], got["notification_rate"])
		}
	}
}

// Where rows are a sample, the bytes are those of all requests, as the requests are.
func TestBytesOfSampledRequests(t *testing.T) {
	for requests, want := range map[int64][2]int64{1000: {20_000, 10_000}, 100: {2000, 1000}, 0: {2000, 1000}} {
		r := soundDevices()
		sums := accumulator{n: 100, out: 2000, in: 1000}
		told, err := json.Marshal(population.Account{Counts: population.Counts{Requests: requests}})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.devices.take(stack.End{Population: string(told)}, &sums); err != nil {
			t.Fatal(err)
		}
		if got := [2]int64{sums.out, sums.in}; got != want || sums.n != int(requests) {
			t.Errorf("%d requests: got %v B of %d, want %v", requests, got, sums.n, want)
		}
	}
}

// Devices that did not recover have no recovery time, and the trial says so: without its row, nobody would know that
// those that have one are the lucky ones.
func TestNoRecoveryIsARow(t *testing.T) {
	for _, outage := range []time.Duration{0, time.Second} {
		r := soundDevices()
		r.setup.Population.Outage.For, r.devices.account.Recovery = outage, -1
		r.devices.summarize(r.findings, r.stated())
		i := slices.IndexFunc(r.findings.results, func(x store.Result) bool { return x.Response == "recovery_time" })
		if (i >= 0) != (outage > 0) || i >= 0 && !math.IsNaN(r.findings.results[i].Mean) {
			t.Errorf("an outage of %v: got %+v", outage, r.findings.results)
		}
	}
}

// Devices with connections tell of them, and nothing of datagrams.
func TestNotesOfStreams(t *testing.T) {
	r := &population.Account{Streams: true, Counts: population.Counts{Withheld: 3}, Shards: 2}
	got := map[string]int64{}
	for _, x := range notesOfDevices(r) {
		got[x.key] = x.value
	}
	if _, ok := got["datagrams_out"]; ok || got["messages_withheld"] != 3 || got["driver_processes"] != 2 {
		t.Errorf("got %v", got)
	}
	if r.Streams = false; len(notesOfDevices(r)) != 18 {
		t.Errorf("datagrams: got %v", notesOfDevices(r))
	}
}

// A server hears how many connections devices keep, and what it says of its processes is noted.
func TestServersHearOfConnections(t *testing.T) {
	for _, tt := range []struct {
		setup study.Setup
		want  int
	}{
		{study.Setup{Transport: "mqtt5", Connection: "keep-alive", Population: study.Population{Devices: 9}}, 9},
		{study.Setup{Transport: "http", Connection: "keep-alive", Population: study.Population{Devices: 9}}, 9},
		{study.Setup{Transport: "http", Connection: "per-request", Population: study.Population{Devices: 9}}, 0},
		{study.Setup{Transport: "coap", Connection: "keep-alive", Population: study.Population{Devices: 9}}, 0},
		{study.Setup{Transport: "http", Connection: "keep-alive", Concurrency: 9}, 0},
	} {
		l := &Lab{}
		if got := (&task{lab: l, setup: &tt.setup}).serve("", stack.Message{}, nil, "", "").Connections; got != tt.want {
			t.Errorf("%+v: told of %d connections, want %d", tt.setup, got, tt.want)
		}
	}
	for _, processes := range []int{0, 6} {
		r := soundDevices()
		r.servers = processes
		r.summarize()
		i := slices.IndexFunc(r.findings.quality, func(x store.Quality) bool { return x.Key == "server_processes" })
		if (i >= 0) != (processes > 0) || i >= 0 && r.findings.quality[i].Value != float64(processes) {
			t.Errorf("%d processes: got %+v", processes, r.findings.quality)
		}
	}
}

// Each setting of devices changes what the client is told, or the bound of its lateness.
func TestEverySettingOfDevicesIsTold(t *testing.T) {
	const text = "study: s\nservice: monitor\nstack: reference/coap-json\ndevices: 10\nperiod: 1s\nduration: 10s\n" +
		"design: {replications: 1}\n"
	values := map[string][2]string{
		"devices": {"10", "20"}, "period": {"1s", "2s"}, "jitter": {"0", "10%"}, "phase": {"random", "aligned"},
		"ramp": {"5/s", "6/s"}, "keepalive": {"3s", "4s"}, "observe": {"2m", "3m"},
		"nat": {"1m", "2m"}, "sleep": {"psm", "edrx"}, "reconnect": {"none", "full"},
		"outage": {"{at: 1s, for: 2s}", "{at: 1s, for: 3s}"}, "lateness": {"1ms", "2ms"},
		"mix": {"{a: {share: 100%, period: 1s}}", "{a: {share: 100%, period: 3s}}"},
	}
	for _, name := range study.PopulationSettings() {
		var told [2]string
		for i, value := range values[name] {
			file := text
			if name == "mix" {
				file = strings.Replace(file, "period: 1s\n", "", 1)
			}
			s, err := study.Parse("s.yaml", []byte(file), study.Vocabulary{}, name+"="+value)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			plan, err := study.Expand(s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p := plan.Trials[0].Setup.Population
			told[i] = fmt.Sprintf("%+v %v", populationSpec(&p, 1), p.Lateness)
		}
		if told[0] == told[1] {
			t.Errorf("%s: %v make no difference: %s", name, values[name], told[0])
		}
	}
}

func TestSpecOfDevices(t *testing.T) {
	p := study.Population{Devices: 10, Period: time.Minute, Jitter: 0.1, Phase: "aligned", Ramp: 5, KeepAlive: time.Second,
		Reconnect: study.Reconnect{First: 1, Most: 3, Factor: 2, Jitter: "equal"},
		Outage:    study.Outage{At: 4, For: 5, Share: 0.5}}
	want := population.Spec{Devices: 10, Phase: population.Aligned, Ramp: 5, Seed: 9,
		Classes: []population.Class{{Share: 1, Period: time.Minute, Jitter: 0.1, KeepAlive: time.Second}},
		Retry:   population.Backoff{First: 1, Most: 3, Factor: 2, Jitter: population.Equal},
		Outage:  population.Outage{At: 4, For: 5, Share: 0.5}}
	if got := populationSpec(&p, 9); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p.Mix = []study.Class{{Name: "a", Share: 1, Period: 7, KeepAlive: 8, Jitter: 0.3}}
	want.Classes = []population.Class{{Name: "a", Share: 1, Period: 7, KeepAlive: 8, Jitter: 0.3}}
	if got := populationSpec(&p, 9); !reflect.DeepEqual(got, want) {
		t.Errorf("mix: got %+v, want %+v", got, want)
	}
}
