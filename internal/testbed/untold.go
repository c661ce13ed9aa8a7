package testbed

import (
	"slices"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// untold says of what alone programs tell a response, where those of a treatment surely do not; empty: they may. Of
// stacks in folders only their own authors know what they tell.
func (x *assembly) untold(s *study.Setup, response string) string {
	switch response {
	case "failed_share":
		if !x.mayFail(s) {
			return "devices, links that lose packets, and studies with failures (failures: 1%)"
		}
	case "discovery", "metadata":
		if s.Transport != "dpws" {
			return "stacks that search for their server (transport dpws)"
		}
	case "first_invoke":
		return x.noFirst(s)
	case "connection":
		return x.noConnection(s)
	case "processing", "sensor_time":
		return x.noWork(s)
	}
	return ""
}

// mayFail says whether requests of a valid trial may fail.
func (x *assembly) mayFail(s *study.Setup) bool {
	if s.Population.Devices > 0 || x.plan.Study.Failures != nil {
		return true
	}
	if !lab.IsLinked(s) {
		return false
	}
	l, ok := lab.LinkOf(s, x.profiles)
	return !ok || l.Up.Loss > 0 || l.Down.Loss > 0 // what is wrong with one that is not known is said elsewhere
}

// own says whether a stack is one of this program's.
func (x *assembly) own(name string) (d stack.Description, ok bool) {
	d, ok = x.lab.Stacks[name]
	return d, ok && d.Dir == ""
}

// noFirst: a client notes its first request if that is over before the next begins. Requests that a study describes,
// and the bytes of a floor, are no messages of a service, which the first one makes the slow way.
func (x *assembly) noFirst(s *study.Setup) string {
	client, own := x.own(s.Client.Stack)
	warmUp := x.plan.Study.Design.WarmUp
	first := warmUp.Requests // of the first run
	if warmUp == (study.Span{}) {
		first = s.Requests
	}
	switch {
	case s.Population.Devices > 0 || s.URL != "" || own && client.Floor:
		return "one client that makes a service's messages (no devices, no floor, no server.url)"
	case own && s.Concurrency > 1 && s.Rate == 0 && first != 1 && s.DrivenFrom <= 1:
		return "clients whose first request is over before the second begins (concurrency: 1)"
	}
	return ""
}

// noConnection: a kept connection takes a request time only if the client looks whether it is still open, which clients
// of this program do with one request at a time, over TCP. One that was lost is opened anew.
func (x *assembly) noConnection(s *study.Setup) string {
	_, own := x.own(s.Client.Stack)
	_, ownServer := x.own(s.Server.Stack)
	if !own || s.URL != "" || s.Connection == "per-request" || s.Connection == "multiplexed" || x.mayFail(s) {
		return ""
	}
	datagrams := slices.Contains([]string{"coap", "udp"}, s.Transport) || s.Transport == "http3" && s.Rate == 0
	many := s.Concurrency > 1 && (s.Security == "" || s.Security == "none") && s.Transport != "http3"
	if datagrams || ownServer && many {
		return "clients that open a connection for each request (connection: per-request), or look whether a kept one " +
			"is still open (TCP with concurrency: 1, TLS)"
	}
	return ""
}

// noWork: a floor's server sees bytes only, and one without hooks nothing.
func (x *assembly) noWork(s *study.Setup) string {
	server := x.lab.Stacks[s.Server.Stack]
	switch {
	case s.URL != "":
		return "servers that the lab starts (no server.url)"
	case server.Floor:
		return "servers that read messages (no floor)"
	case s.Options["hooks"] == "off" && slices.Contains(server.Options, "hooks"):
		return "servers with hooks (options: {hooks: on})"
	}
	return ""
}
