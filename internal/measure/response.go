package measure

import (
	"slices"
	"strings"
	"sync"
)

// A Response is a response variable: a Quantity that a study can ask for, seen
// at one or both sides.
type Response struct {
	Quantity
	Sides []Side
	Says  string // in words, for tables and manuals
	// Packets says that it comes from captured packets: it is measured only
	// where a study asks for it, and needs the right to capture.
	Packets bool
}

// Waits reports whether it changes where programs wait for a CPU: times, rates, shares of
// requests in time, and energy, of which idle power and other programs have a part. Bytes,
// packets, instructions and CPU time do not wait.
func (r Response) Waits() bool {
	return r.Unit != "B" && !slices.Contains([]string{"cpu", "instructions", "packets", "retransmissions"}, r.Name)
}

// Counted reports whether equal values are equal: bytes on the wire, packets, shares. What a clock or a meter shows has
// steps, and so has memory.
func (r Response) Counted() bool { return r.Unit == "1" || r.Unit == "B" && r.Name != "peak_rss" }

// AtMostOne reports whether it is a part of a whole.
func (r Response) AtMostOne() bool {
	return r.Name == "failed_share" || r.Name == "notifications_missed"
}

// Exact reports whether values that are all equal are the truth itself, as sizes are. What happens now and then, such
// as a failure, is counted, too, and may happen more often than any trial has seen; and packets of which each may be
// sent again, as those of a handshake.
func (r Response) Exact() bool {
	return r.Counted() && !r.Share() && r.Name != "handshake_bytes" && r.Name != "datagram_bytes"
}

// Share reports whether it counts what happens to some requests, as a failure: each request counts alike, so its figure
// is the mean. A median of trials hides what happens in a few of them.
func (r Response) Share() bool {
	return slices.Contains([]string{"failed_share", "resent", "notifications_missed", "retransmissions"}, r.Name)
}

// OnWire reports whether a response is of the packets of exchanges: what is lost and sent again adds to it.
func (r Response) OnWire() bool { return r.Name == "wire_bytes" || r.Name == "packets" }

// A Direction is the way in which a response is better.
type Direction string

// The directions.
const (
	Less    Direction = "less"
	More    Direction = "more"
	Neither Direction = "neither" // it says how the trial was, and of no program that it is good
)

// Better is the response's direction.
func (r Response) Better() Direction {
	switch r.Name {
	case "throughput", "notification_rate":
		return More
	case "sent_rate", "driver_lateness": // what the study asked for, and how punctually the lab's driver did it
		return Neither
	}
	return Less
}

// OfAnswered reports whether only requests that were answered have it, and the later the answer the more of it: a time
// of single requests in which the client waits for the server. What the stack does by itself waits for nobody.
func (r Response) OfAnswered() bool {
	return r.OfRequests() && r.Unit == "s" && slices.Contains(r.Sides, Client) && r.Name != "serialization" &&
		r.Name != "deserialization"
}

// OfRequests reports whether single requests have it, and not the trial.
func (r Response) OfRequests() bool {
	return r.Packets || slices.ContainsFunc(ofExchanges(), func(x Response) bool { return x.Name == r.Name })
}

// Censored reports whether a trial has no value where it would have had to go on for one: those that have one are the
// better trials.
func (r Response) Censored() bool { return r.Name == "recovery_time" }

var (
	atClient = []Side{Client}
	atServer = []Side{Server}
	atBoth   = []Side{Client, Server}
)

// Responses lists the response variables in the order of a report: those of
// each exchange (Fields), then those of a trial. All callers share the list; none may change it.
func Responses() []Response { return responses() }

var responses = sync.OnceValue(func() []Response {
	return slices.Concat(ofExchanges(), []Response{
		{Quantity{"throughput", "1/s"}, atClient, "requests answered per second", false},
		{Quantity{"sent_rate", "1/s"}, atClient, "devices: requests sent per second of the run", false},
		{Quantity{"failed_share", "1"}, atClient,
			"devices, links that lose packets, and studies with `failures`: share of the requests without a right answer in " +
				"time", false},
		{Quantity{"resent", "1"}, atClient, "devices: messages or segments that CoAP, DTLS or TCP sent again, per request",
			false},
		{Quantity{"datagram_bytes", "B"}, atClient, "devices: UDP payload per request, both directions, all messages counted",
			false},
		{Quantity{"notification_rate", "1/s"}, atClient, "devices that observe: notifications received per second", false},
		{Quantity{"notifications_missed", "1"}, atClient,
			"devices that observe over CoAP: share of the notifications that did not arrive, by their sequence numbers",
			false},
		{Quantity{"driver_lateness", "s"}, atClient,
			"devices: p99 of how much later than due the driver sent requests; it says nothing about the server", false},
		{Quantity{"recovery_time", "s"}, atClient,
			"devices: from the end of the outage until, for 10 s, at most 1 % of the devices were down and 1 % of the " +
				"requests failed, in addition to those before the outage; down: their last request failed", false},
		{Quantity{"cpu", "s"}, atBoth, "CPU time of the side's processes per request", false},
		{Quantity{"instructions", "1"}, []Side{Server},
			"user instructions of the server's program per request, on a device that counts them", false},
		{Quantity{"delay", "s"}, atClient, "on the wire: first SYN or datagram to the client's last ACK or last datagram",
			true},
		{Quantity{"delay_to_data", "s"}, atClient,
			"on the wire: first SYN or datagram to the last data of the response", true},
		{Quantity{"jitter", "s"}, atClient, "difference of successive delays, absolute", true},
		{Quantity{"jitter_rfc3550", "s"}, atClient, "the estimator of RFC 3550, section 6.4.1", true},
		{Quantity{"wire_bytes", "B"}, atClient, "whole frames of a request and its response, both directions", true},
		{Quantity{"packets", "1"}, atClient, "frames of a request and its response, both directions", true},
		{Quantity{"retransmissions", "1"}, atClient, "packets that carried data seen before", true},
		{Quantity{"handshake_bytes", "B"}, atClient, "frames of the connection's and the security's handshake", true},
		{Quantity{"handshake_time", "s"}, atClient, "first SYN, or ClientHello of DTLS, to the end of the handshakes", true},
		{Quantity{"discovery", "s"}, atClient,
			"once: from the search for the server until its address is known (DPWS: Probe to match)", false},
		{Quantity{"metadata", "s"}, atClient, "once: description of the server and its service fetched and read", false},
		{Quantity{"first_invoke", "s"}, atClient, "total_time of the client's very first request, warm-up included", false},
		{Quantity{"energy", "J"}, atBoth, "energy per request, net of the idle energy of the same trial", false},
		{Quantity{"energy_gross", "J"}, atBoth, "energy per request, idle included", false},
		{Quantity{"trial_energy", "J"}, atBoth, "energy of the recorded run, idle included", false},
		{Quantity{"power", "W"}, atBoth, "mean power of the recorded run", false},
		{Quantity{"peak_rss", "B"}, atBoth, "largest resident memory of the side's processes", false},
	})
})

// FindResponse finds a response variable by name.
func FindResponse(name string) (Response, bool) {
	for _, r := range Responses() {
		if r.Name == name {
			return r, true
		}
	}
	return Response{}, false
}

// Synonyms are what other tools and papers call response variables, in lower case, and which
// they may mean.
func Synonyms() map[string][]string {
	all := map[string][]string{}
	for _, row := range []struct{ means, words string }{
		{"rtt response_time", "latency latencies"},
		{"rtt", "round_trip_time round_trip roundtrip ping"},
		{"rtt total_time", "time times duration elapsed"},
		{"processing", "server_time service_time"},
		{"serialization", "serialisation marshalling marshaling encoding encode encoding_time"},
		{"deserialization", "deserialisation unmarshalling unmarshaling decoding decode parsing"},
		{"message_size response_size wire_bytes", "size bytes payload body message_bytes"},
		{"wire_bytes", "bandwidth traffic network wire data_volume wire_size"},
		{"throughput", "rps qps tps requests_per_second rate"},
		{"cpu", "cpu_time cpu_usage cpu_load load"},
		{"peak_rss", "memory mem ram rss memory_usage"},
		{"energy", "joules battery consumption energy_consumption"},
		{"power", "watts wattage power_consumption"},
		{"handshake_time handshake_bytes", "handshake tls_handshake"},
		{"connection", "connect connect_time connection_time"},
		{"retransmissions", "loss retries resends"},
		{"jitter", "ipdv pdv"},
	} {
		for _, w := range strings.Fields(row.words) {
			all[w] = strings.Fields(row.means)
		}
	}
	return all
}
