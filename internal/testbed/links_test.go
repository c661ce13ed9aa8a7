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
		{"link: nb-iot\nrequests: 900", "900 requests and their warm-up take 10m48s at least behind this link"},
		{"link: nb-iot\nrequests: 800\nconcurrency: 2\ndesign: {warmup: 900}", "800 requests and their warm-up " +
			"take 10m12s"},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 800}", ""},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 900}", "a duration of 5s and a warm-up of 900 requests take 10m53s"},
		{"link: nb-iot\nduration: 5s\ndesign: {warmup: 900}\nrate: 100", ""},
		{"link: nb-iot\nrequests: 600\nmin_duration: 1s\ndesign: {warmup: 100}", "600 requests and their warm-up " +
			"take 10m12s"}, // the run lasts a quarter longer than the warm-up's pace says
		{"link: nb-iot\nrequests: 560\nmin_duration: 1s\ndesign: {warmup: 100}", ""},

		{"link: nb-iot\nservice: echo\nn: 20000\nrequests: 5", ""},
		{"link: nb-iot\nservice: echo\nn: 40000\nrequests: 5", "a message of 40011 B and its answer take about 5.883s " +
			"over link nb-iot, so none arrives within timeouts.request, 5s"},
		{"link: nb-iot\nservice: echo\nn: 40000\nrequests: 5\ntimeouts: {request: 6s}", ""},
		{"link: nb-iot\nservice: echo\nfactors: {n: [10, 40000]}\nrequests: 5", "exclude: [{n: 40000}]"},
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
