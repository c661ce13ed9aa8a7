package study

import (
	"fmt"
	"time"
)

// mostDrivenFrom is how many benches may drive one server.
const mostDrivenFrom = 16

// InstantShare is how much of the shortest interval that a study asks for the instants at which
// benches begin may differ.
const InstantShare = 0.01

// bestBound is the smallest bound of two hosts' clocks that messages over a network can give: half
// a round trip between two programs.
const bestBound = 20 * time.Microsecond

// Joint says whether several benches drive the server.
func (s *Setup) Joint() bool { return s.DrivenFrom > 1 }

// Interval is the shortest that a treatment asks for, as far as the instants at which benches begin
// matter to it. At a constant rate it is the time between two requests of a bench, since requests of
// several benches meet each time or never. Arrivals at random, and a closed loop, are the same load
// wherever they begin: it is the time for which all send.
func (s *Setup) Interval() time.Duration {
	if s.Rate > 0 && s.Arrival == "constant" {
		return min(s.Duration, time.Duration(float64(time.Second)/s.Rate))
	}
	return s.Duration
}

// MostApart is how far apart benches of a treatment may begin.
func (s *Setup) MostApart() time.Duration { return time.Duration(InstantShare * float64(s.Interval())) }

// driven refuses to have several benches do what only one can.
func (t *candidate) driven() {
	s := t.setup
	refuse := func(why, advice string, keys ...string) {
		t.complain(fmt.Sprintf("driven_from %d %s", s.DrivenFrom, why), advice, append(keys, "driven_from")...)
	}
	switch {
	case !s.Joint():
	case s.Duration == 0:
		refuse("takes a duration: after a number of requests the benches would end one by one", "write duration: 5s",
			"requests", "min_duration")
	case s.Population.Devices > 0:
		refuse("does not go with devices", "remove one of both", "devices")
	case t.study.Time == Instructions:
		refuse("does not go with counted instructions", "remove driven_from")
	case t.study.Design.Incomplete:
		refuse("does not go with benches: incomplete: all benches of a trial need its client", "remove benches: incomplete")
	case s.Capture != "off" && t.study.Packets:
		refuse("does not go with packets: they are captured at one client", "remove packets: keep, or write capture: off "+
			"for such treatments", "capture")
	case s.AtOnce > 1:
		refuse("does not go with at_once", "remove one of both", "at_once")
	case s.Link.Profile != "" || s.Link.Up != (Shape{}) || s.Link.Down != (Shape{}):
		refuse("does not go with a link: the network between benches is real", "remove link", "link")
	case s.URL == "" && s.Client.Device != thisMachine:
		refuse("takes each bench's own machine as the client", "write client: {device: local}", "client.device")
	case s.Client.Meter != "":
		refuse("does not go with a meter of the client: it would read one bench of several", "remove client.meter",
			"client.meter")
	case s.MostApart() < bestBound:
		refuse(fmt.Sprintf("at a constant rate of %g requests per second of each: the benches would have to begin within "+
			"%v, 1 %% of the time between two requests, and no network tells their clocks so well", s.Rate, s.MostApart()),
			fmt.Sprintf("write arrival: poisson, or a rate of at most %.0f", InstantShare/bestBound.Seconds()), "rate",
			"arrival")
	}
}
