package testbed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// seeParted finds messages so large that they go in parts which captured packets do not show as one request. Those of
// each block are others: the first few are looked at.
func (x *assembly) seeParted(of study.Trial, asked []string) {
	const few = 20
	asked = slices.DeleteFunc(slices.Clone(asked), func(r string) bool {
		return of.Setup.LeavesOut(string(measure.Client), r)
	})
	most, _ := x.largestWhole(of.Setup)
	if len(asked) == 0 || most == 0 {
		return
	}
	looked := 0
	for _, t := range x.plan.Trials {
		if t.Cell != of.Cell {
			continue
		}
		if looked++; looked > few {
			return
		}
		if why := x.parted(t); why != "" {
			x.fault(of, fmt.Sprintf("packets cannot give %s for %s: %s", strings.Join(asked, ", "), t.Setup.Server.Stack, why),
				"send less, or drop these responses and read what packets: keep keeps with edgegauge packets", "size", "n",
				"options.letters", "stack", "server.stack", "transport")
			return
		}
	}
}

// parted says why a message of a trial, or its answer, is no request of its own in captured packets; empty: it is, or
// its size is not known.
func (x *assembly) parted(t study.Trial) string {
	encoding, err := codec.Parse(t.Setup.Encoding)
	call, err2 := x.lab.CallOf(t)
	if err != nil || err2 != nil {
		return ""
	}
	out, in, err := reference.Sizes(t.Setup.Service, encoding, call.Message)
	if err != nil {
		return ""
	}
	most, why := x.largestWhole(t.Setup)
	if t.Setup.Transport == coapOverTCP { // whoever answers has heard what the other one takes
		in = 0
	}
	switch {
	case out > most:
		return fmt.Sprintf("its messages of %d B %s", out, why)
	case in > most:
		return fmt.Sprintf("its answers of %d B %s", in, why)
	}
	return ""
}

const coapOverTCP = "coap-tcp"

// largestWhole is the largest message of a treatment, in B, that is one request in captured packets, and what becomes
// of larger ones; 0: all are.
func (x *assembly) largestWhole(s *study.Setup) (most int, why string) {
	if s.URL != "" || s.Population.Devices > 0 {
		return 0, ""
	}
	switch s.Transport {
	case "coap", "coap-draft":
		const block = 1024 // RFC 7959, section 2.2
		return block, fmt.Sprintf("go in blocks of at most %d B, and each block is an exchange", block)
	case coapOverTCP:
		return coap.BaseWhole, fmt.Sprintf("are above the %d B that go whole before the server has said what it takes, and "+
			"what both say of themselves looks like a request", coap.BaseWhole)
	case "udp":
		l, linked := x.lab.Links[s.Link.Text]
		if !linked {
			return 0, ""
		}
		headers := 20 + 8
		if s.IP == "ipv6" {
			headers = 40 + 8
		}
		most = cmp.Or(l.MTU, 1500) - headers
		return most, fmt.Sprintf("go in fragments, since link %s has packets of at most %d B", s.Link.Text,
			most+headers)
	}
	return 0, ""
}
