package testbed

import (
	"fmt"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// A response that no treatment gives is refused where it is asked for; one that some give is not.
func TestResponsesThatNothingGives(t *testing.T) {
	b := bed(t)
	const many = "stack: coap-json\ndevices: 5\nperiod: 1s\nduration: 30s\n"
	for _, x := range []struct{ study, want string }{
		{"responses: [rtt, recovery_time]", "s.yaml:4:18: response recovery_time is measured of many devices (devices: " +
			"1000) only, and no treatment has that; remove it"},
		{"responses: [instructions]", "a server on a device that counts them"},
		{"responses: [sensor_time]", "measured of service temperature only"},
		{"responses: [rtt, recovery_time, sent_rate]\nfactors: {load: [{name: one, requests: 5}, {name: many, devices: 5, " +
			"period: 1s, duration: 30s, outage: {at: 5s, for: 5s}}]}", ""},
		{"responses: [instructions]\nserver: {device: instructions-arm64}", ""},
		{"responses: [instructions]\nfactors: {server.device: [local, instructions-arm64]}", ""},
		{"responses: [rtt, failed_share, discovery]", "s.yaml:4:32: response discovery is measured of stacks that search for " +
			"their server (transport dpws) only, and no treatment has that; remove it"},
		{"responses: [rtt, failed_share]", ""},

		{"responses: [rtt, first_invoke, connection]", ""},
		{"concurrency: 2\nresponses: [rtt, first_invoke]", "s.yaml:5:18: response first_invoke is measured of clients whose " +
			"first request is over before the second begins (concurrency: 1) only, and no treatment has that; remove it"},
		{"concurrency: 2\ndesign: {warmup: 1}\nresponses: [rtt, first_invoke]", ""}, // which is alone
		{"concurrency: 2\nrate: 10\nresponses: [rtt, first_invoke]", ""},
		{"factors: {concurrency: [1, 2]}\nresponses: [rtt, first_invoke]", ""},
		{"concurrency: 2\nleave_out: [first_invoke]\nresponses: [rtt, first_invoke]", ""},
		{many + "responses: [rtt, first_invoke]", "no devices"},
		{"stack: floor-tcp\nresponses: [rtt, first_invoke]", "no floor"},
		{"stack: floor-tcp\nresponses: [rtt, processing]", "response processing is measured of servers that read messages"},
		{"stack: floor-tcp\nresponses: [rtt, serialization, message_size]", ""}, // of the client
		{"concurrency: 2\nresponses: [rtt, connection]", "response connection is measured of clients that open"},
		{"concurrency: 2\nconnection: per-request\nresponses: [rtt, connection]", ""},
		{"concurrency: 2\nsecurity: tls\nresponses: [rtt, connection]", ""},
		{"concurrency: 2\nlink: {delay: 1ms, loss: 1%}\nresponses: [rtt, connection]", ""},
		{"concurrency: 2\nfailures: 1%\nresponses: [rtt, connection]", ""},
		{"stack: coap-json\nresponses: [rtt, connection]", "response connection is measured of clients that open"},
		{"stack: coap-json\nconnection: per-request\nresponses: [rtt, connection]", ""},

		{many + "responses: [rtt, recovery_time]", "s.yaml:7:18: response recovery_time is measured of devices with an " +
			"outage (outage: {at: 30s, for: 30s}) only, and no treatment has that; remove it"},
		{many + "outage: {at: 1s, for: 5s}\nresponses: [rtt, recovery_time]", ""},
		{many + "responses: [notification_rate]", "measured of devices that observe (observe: on) only"},
		{many + "responses: [notifications_missed]", "measured of devices that observe (observe: on) only"},
		{many + "observe: on\noptions: {observe: on}\nresponses: [notification_rate, notifications_missed]", ""},
		{strings.Replace(many, "coap-json", "mqtt", 1) + "observe: on\nresponses: [notification_rate, notifications_missed]",
			"response notifications_missed is measured of devices that observe over CoAP only"},
		{many + "responses: [sent_rate, resent, datagram_bytes, driver_lateness]", ""},
		{strings.Replace(many, "coap-json", "mqtt", 1) + "leave_out: [datagram_bytes]\nresponses: [rtt, datagram_bytes]",
			""},
		{"devices: 5\nperiod: 1s\nduration: 30s\nresponses: [rtt, datagram_bytes]\nfactors: {stack: [coap-json, {name: " +
			"mqtt, stack: mqtt, leave_out: [datagram_bytes]}]}", ""},
		{"stack: coap-json\nresponses: [rtt, sent_rate]\nfactors: {load: [{name: one, requests: 5}, {name: many, devices: 5, " +
			"period: 1s, leave_out: [sent_rate]}]}", "response sent_rate is measured of many devices (devices: 1000) only, " +
			"and all treatments that have that leave it out; remove it"},

		{"capture: off\nresponses: [rtt, wire_bytes]", "s.yaml:5:18: response wire_bytes is measured of captured packets " +
			"(capture: on, one client, which is not many devices) only, and no treatment has that; remove it"},
		{"driven_from: 2\nduration: 5s\nresponses: [rtt, wire_bytes]", "response wire_bytes is measured of captured packets"},
		{"factors: {load: [{name: one, requests: 5}, {name: two, requests: 6, capture: off}]}\nresponses: [rtt, " +
			"wire_bytes]", ""},
		{"factors: {path: [{name: near, capture: off}, {name: far, requests: 6}]}\nexclude: [{path: far}]\n" +
			"responses: [rtt, wire_bytes]", ""},
		{many + "capture: off\nresponses: [rtt, packets]", "response packets is measured of captured packets"},

		{"capture: off\npackets: keep", "s.yaml:4:10: packets: keep keeps none, since no treatment has its packets " +
			"captured; write capture: on, or remove packets: keep"},
		{"driven_from: 2\nduration: 5s\ncapture: off\npackets: keep", "packets: keep keeps none"},
		{"factors: {driven_from: [1, 2]}\nduration: 5s\ncapture: off\npackets: keep", "packets: keep keeps none"},
		{"capture: off\npackets: drop", ""},
		{"capture: on\npackets: keep", ""},
		{many + "packets: keep", ""},
		{"factors: {capture: [on, off]}\npackets: keep", ""},
		{"factors: {path: [{name: near, capture: off}, {name: far, requests: 6}]}\nexclude: [{path: far}]\npackets: keep",
			""},
		{"responses: [rtt, wire_bytes]\nfactors: {load: [{name: one, stack: coap-json, requests: 100}, {name: many, stack: " +
			"coap-json, devices: 100, period: 1s, duration: 10s, capture: off}]}", ""},
	} {
		given(t, b, x.study, x.want)
	}
}

// given reads a study, of rest-json where it names no stack, and expects what stands in the way of its responses;
// empty: nothing does.
func given(t *testing.T, b *Testbed, text, want string) {
	t.Helper()
	stack := "stack: rest-json\n"
	if strings.Contains(text, "stack:") {
		stack = ""
	}
	p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\n"+stack+text+"\n"))
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	a := b.assemble(p, b.Exe, b.Temp)
	a.openLinks()
	a.seeGiven()
	if got := fmt.Sprint(a.err()); (a.err() == nil) != (want == "") || !strings.Contains(got, want) {
		t.Errorf("%s: got %s, want %s", text, got, want)
	}
}

// A study of which no response will have a figure is refused before it runs for nothing.
func TestStudiesThatMeasureNothing(t *testing.T) {
	b := bed(t)
	const failed = "response failed_share is measured of devices, links that lose packets, and studies with failures " +
		"(failures: 1%) only"
	for _, x := range []struct{ study, want string }{
		{"responses: [failed_share]", "s.yaml:4:13: the study would measure nothing: " + failed + "; name a response"},
		{"responses: [rtt, failed_share]", ""},
		{"responses: [failed_share]\nfailures: 1%", ""},
		{"concurrency: 2\nresponses: [first_invoke]", "the study would measure nothing: response first_invoke is measured of"},
		{"stack: floor-tcp\nresponses: [processing]", "the study would measure nothing: response processing is"},
		{"stack: coap-json\nresponses: [connection]", "the study would measure nothing: response connection is"},
		{"responses: [failed_share]\nlink: {delay: 1ms, loss: 1%}", ""},
		{"responses: [failed_share]\nfactors: {link: [none, {delay: 1ms, up: {loss: 1%}}]}", ""},
		{"responses: [discovery, metadata]", "response discovery is measured of stacks that search for their server " +
			"(transport dpws) only; response metadata is"},
		{"stack: dpws\nresponses: [discovery]", ""},
		{"factors: {stack: [dpws, rest-json]}\nresponses: [discovery]", ""},
		{"responses: [rtt]\nleave_out: [rtt]", "would measure nothing: all treatments leave out rtt; name"},
		{"responses: [rtt, failed_share]\nleave_out: [rtt]", "all treatments leave out rtt; " + failed},
		{"responses: [cpu]\nleave_out: [server.cpu]", ""},
		{"responses: [rtt]\nfactors: {load: [{name: one, requests: 5, leave_out: [rtt]}, {name: two, requests: 6}]}", ""},
		{"leave_out: [rtt]", ""},
	} {
		given(t, b, x.study, x.want)
	}
}

// A bench asks what it can run of a plan treatment by treatment: a response that others give is none of its faults.
func TestWhatOtherTreatmentsGiveIsNoFault(t *testing.T) {
	b := bed(t)
	p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: coap-json\nresponses: [rtt, "+
		"recovery_time, wire_bytes]\nfactors: {load: [{name: one, requests: 5}, {name: many, devices: 5, period: 1s, "+
		"duration: 30s, outage: {at: 5s, for: 5s}, capture: off}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range p.Trials {
		one := p
		one.Trials = []study.Trial{trial}
		a := b.assemble(one, b.Exe, b.Temp)
		if a.seeGiven(); a.err() != nil {
			t.Errorf("%v: %v", trial.Treatment, a.err())
		}
	}
}
