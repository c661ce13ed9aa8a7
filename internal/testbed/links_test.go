package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// Behind a link over which no answer comes in time, and in a trial that cannot be over in time, nothing is measured:
// so a study says that is refused before the first trial. The figures are of the profile nb-iot: 420 ms each way with a
// deviation of 60 ms, and 62 kbit/s up.
func TestLinksByWhichNothingComesInTime(t *testing.T) {
	b := bed(t)
	for _, x := range []struct{ study, want string }{
		{"link: nb-iot\nrequests: 5", ""},
		{"link: nb-iot\nrequests: 5\ntimeouts: {request: 700ms}", "4:7: link nb-iot has a round trip of 720ms or more, " +
			"so no answer arrives within timeouts.request, 700ms; raise timeouts"},
		{"link: nb-iot\nrequests: 5\ntimeouts: {request: 800ms}", ""},
		{"link: nb-iot\nstack: coap-json\ndevices: 5\nperiod: 9s\ntimeouts: {request: 700ms}", "round trip of 720ms"},
		{"factors: {link: [none, {delay: 10ms, loss: 1}]}\nrequests: 5", "link delay=10ms loss=100% loses every packet, so " +
			"no request gets through; write loss: 1% for one in a hundred, or exclude: [{link: delay=10ms loss=100%}]"},
		{"link: {delay: 10ms, down: {loss: 100%}}\nrequests: 5", "loses every packet, so no answer gets through"},
		{"link: {delay: 10s, loss: 100%}\nrequests: 5", "link delay=10s loss=100% loses every packet, so no request"},
		{"link: {delay: 10s, down: {loss: 100%}}\nrequests: 5", "loses every packet, so no answer"},
		{"link: {profile: nb-iot, loss: 100%}\ntimeouts: {request: 700ms}\nrequests: 5", "loses every packet, so no request"},
		{"link: {delay: 10ms, loss: 99%}\nrequests: 5", ""},
		{"link: {rate: 1bit}\nservice: echo\nn: 100\nrequests: 5", "is sent for 3h20m0s; write a higher rate"},

		{"link: nb-iot\nrequests: 800", ""}, // 576 s
		{"link: nb-iot\nrequests: 900", "900 requests and their warm-up take 11m3s at least behind this link"},
		{"link: nb-iot\nrequests: 800\nconcurrency: 2\ndesign: {warmup: 900}", "800 requests and their warm-up " +
			"take 10m26s"},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 800}", ""},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 900}", "a duration of 5s and a warm-up of 900 requests take 11m8s"},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 900}\nrate: 100", "at 100 per second take 17m"},
		{"link: nb-iot\nrequests: 600\nmin_duration: 1s\ndesign: {warmup: 100}", "600 requests and their warm-up " +
			"take 10m26s"}, // the run lasts a quarter longer than the warm-up's pace says
		{"link: nb-iot\nrequests: 560\nmin_duration: 1s\ndesign: {warmup: 100}", ""},

		{"link: nb-iot\nservice: echo\nn: 9000\nrequests: 5", ""},
		{"link: nb-iot\nservice: echo\nn: 40000\nrequests: 5", "a message of 40011 B and its answer take 16.9"},
		{"link: nb-iot\nservice: echo\nn: 40000\nrequests: 5\ntimeouts: {request: 20s}", ""},
		{"link: nb-iot\nservice: echo\nfactors: {n: [10, 40000]}\nrequests: 5", "exclude: [{n: 40000}]"},

		// What a client that blocks, opens connections or shares the link adds to that.
		{"link: nb-iot\nservice: echo\nsize: 10kB\nstack: coap-json\nrequests: 2", "round trips of 720ms or more, as CoAP " +
			"sends a block of 1024 B and waits for its answer"},
		{"link: nb-iot\nservice: echo\nsize: 10kB\nstack: coap-json\nrequests: 2\ntimeouts: {request: 30s}", ""},
		{"link: {delay: 200ms}\nservice: echo\nsize: 100kB\nstack: coap-json\nrequests: 2", "so none arrives within " +
			"timeouts.request, 5s; raise timeouts: {request: …}, or send less"},
		{"link: {delay: 2s}\nconnection: per-request\nrequests: 2", "8s at least over link delay=2s (4s for opening its " +
			"connection), so none arrives within timeouts.request, 5s"},
		{"link: {delay: 1s}\nconnection: per-request\nsecurity: tls\nrequests: 2", "6s at least over link delay=1s (4s for"},
		{"link: {delay: 1s}\nconnection: per-request\nrequests: 2", ""},
		{"link: {delay: 2s}\nstack: mqtt\nrequests: 2", "a connection takes 8s at least to open over link " +
			"delay=2s, with 2 round trips"},
		{"link: {delay: 2s}\nstack: coap-json\nsecurity: dtls-psk\nrequests: 2", "a connection takes 8s at least to open"},
		{"link: {delay: 2s}\nstack: coap-json\nrequests: 2", ""},
		{"link: {rate: 1kbit}\nsecurity: tls\nrequests: 2", "so none is open within timeouts.request, 5s"},
		{"link: {delay: 2s}\nstack: dpws\nrequests: 2", "takes 16s at least over link delay=2s: it is not ready within " +
			"timeouts.ready, 10s; raise timeouts: {ready: …}"},
		{"link: {delay: 2s}\nstack: dpws\nrequests: 2\ntimeouts: {ready: 30s}", ""},
		{"link: {delay: 30s}\nrequests: 2\ntimeouts: {request: 2m}", "the client opens a connection, " +
			"which takes 1m at least over link delay=30s: it is not ready"},
		{"link: {delay: 30s}\nrequests: 2\ntimeouts: {request: 2m, ready: 2m}", ""},
		{"link: nb-iot\nrequests: 40\nconcurrency: 20", "opens 20 connections, one after the other"},
		{"link: nb-iot\nrequests: 40\nconcurrency: 10", ""},
		{"link: {rate: 9600bit}\nservice: echo\nsize: 1kB\nrequests: 40\ntimeouts: {trial: 20s}",
			"too long for timeouts.trial"},
		{"link: {rate: 9600bit}\nservice: echo\nsize: 1kB\nrequests: 40", ""},
		{"link: {rate: 9600bit}\nservice: echo\nsize: 1kB\nrequests: 10000", "too long for timeouts.trial, 10m"},
		{"link: {rate: 60kbit}\nservice: echo\nsize: 10kB\nconcurrency: 16\nrequests: 20",
			"of the first 16, which share it, "},
		{"link: {rate: 60kbit}\nservice: echo\nsize: 10kB\nconcurrency: 2\nrequests: 20", ""},
		{"link: {rate: 60kbit}\nservice: echo\nsize: 10kB\nconcurrency: 16\nrequests: 20\nfailures: 100%", ""},
		{"link: nb-iot\nrate: 100\nduration: 1s\ntimeouts: {trial: 15s}", "a duration of 1s and its warm-up at 100 per " +
			"second take 1m13s"},
		{"link: nb-iot\nrate: 100\nduration: 1m", "too long for timeouts.trial, 10m; lower rate"},
		{"link: nb-iot\nrate: 1\nduration: 1m", ""},
	} {
		text := "study: s\n"
		for _, def := range []string{"service: monitor\n", "stack: rest-json\n"} {
			if key, _, _ := strings.Cut(def, ":"); !strings.Contains(x.study, key+":") {
				text += def
			}
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.openLinks()
		a.seeLength()
		a.seeMessages()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) ||
			len(a.faults) > 1 {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
