package testbed

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// seeLength finds links by which no answer arrives in time or no client becomes ready, and trials that cannot be over
// within timeouts.trial. All of it is by lower bounds: what might run is not refused.
func (x *assembly) seeLength() {
	patience := x.plan.Study.Timeouts.Request
	for t := range x.treatments() {
		l, ok := x.lab.Links[t.Setup.Link.Text]
		switch {
		case !ok:
			x.lasts(t, need{})
			continue
		case l.Up.Loss == 1 || l.Down.Loss == 1:
			lost := "request"
			if l.Up.Loss < 1 {
				lost = "answer"
			}
			x.fault(t, fmt.Sprintf("link %s loses every packet, so no %s gets through", t.Setup.Link.Text, lost),
				"write loss: 1% for one in a hundred", "link")
			continue
		case roundTrip(l) >= patience:
			x.fault(t, fmt.Sprintf("link %s has a round trip of %s or more, so no answer arrives within "+
				"timeouts.request, %s", t.Setup.Link.Text, study.DurationText(roundTrip(l)), study.DurationText(patience)),
				"raise timeouts: {request: …}", "link")
			continue
		case t.Setup.Population.Devices > 0:
			continue
		}
		n := x.needOf(t, l)
		x.lasts(t, n)
		_ = x.lateAnswers(t, n) || x.lateConnections(t, n) || x.sharedRate(t, n) || x.longTrial(t, n)
	}
}

// A need is what a link takes for a treatment's requests, at least.
type need struct {
	roundTrip time.Duration
	opening   int           // round trips of the handshakes of a connection
	hello     time.Duration // for which their bytes keep the link busy
	rounds    int           // round trips of a request
	up, down  time.Duration // for which the bytes of a request and of its answer do
	streams   bool          // the answer may be on its way while the request still is
	own       bool          // the client is of this program, whose timeout is of the whole request
	body      int64         // B of the message; 0: not known
}

// Bytes of handshakes, at least, without IP's and TCP's or UDP's headers: a server's flight of TLS has its certificate.
const (
	clientOfTLS, serverOfTLS   = 150, 500
	clientOfDTLS, serverOfDTLS = 150, 100
	initialOfQUIC              = 1200 // RFC 9000, section 14.1
)

// largestBlock is the most that CoAP over UDP sends before it waits for an answer, in B (RFC 7959).
const largestBlock = 1024

// needOf is the need of a treatment. Of a service that is already running nobody knows more than the round trip.
func (x *assembly) needOf(t study.Trial, l link.Link) need {
	s := t.Setup
	n := need{roundTrip: roundTrip(l), rounds: 1}
	if s.URL != "" {
		return n
	}
	ours := func(stack string) bool { return strings.HasPrefix(stack, reference.Prefix) }
	n.own, n.streams = ours(s.Client.Stack), !ours(s.Server.Stack)
	var request, answer float64
	// By a coding both are smaller on the link, and who observes asks with an empty message.
	if s.Options["coding"] == "" && s.Options["observe"] == "" {
		const surely = 0.9 // of the bytes that this program makes of it: another may write it a little shorter
		n.body = x.madeOf(t).bytes
		request, answer = surely*float64(n.body), surely*float64(x.answerOf(t))
	}
	n.carry(s, l, request, answer)
	return n
}

// carry fills in what a message and its answer of so many bytes take. Only our own programs surely split them into
// blocks.
func (n *need) carry(s *study.Setup, l link.Link, request, answer float64) {
	n.opening, n.hello = openingOf(s, l)
	if s.Transport == "coap" {
		if n.own {
			n.rounds += max(0, int(math.Ceil(request/largestBlock))-1)
		}
		if !n.streams {
			n.rounds += max(0, int(math.Ceil(answer/largestBlock))-1)
		}
	}
	n.up = occupied(l, l.Up, s, n.rounds, request)
	n.down = occupied(l, l.Down, s, n.rounds, answer)
}

// overUDP are the transports without TCP.
var overUDP = []string{"coap", "udp", "http3"}

// occupied is how long bytes keep one direction of a link busy, in so many packets or more.
func occupied(l link.Link, s link.Shape, of *study.Setup, packets int, bytes float64) time.Duration {
	head := 40.0 // of IPv4 and TCP
	if slices.Contains(overUDP, of.Transport) {
		head = 28
	}
	n := max(float64(packets), math.Ceil(bytes/(float64(l.LargestPacket())-head)))
	return s.Occupied(n, bytes+n*head)
}

// openingOf is what opening a connection takes (conform.opening checks it of all stacks that offer per-request).
func openingOf(s *study.Setup, l link.Link) (rounds int, bytes time.Duration) {
	add := func(trips, up, down int) {
		rounds += trips
		bytes += occupied(l, l.Up, s, trips, float64(up)) + occupied(l, l.Down, s, trips, float64(down))
	}
	if !slices.Contains(overUDP, s.Transport) {
		add(1, 0, 0)
	}
	switch {
	case s.Transport == "http3":
		add(1, initialOfQUIC, initialOfQUIC)
	case s.Security == "tls12":
		add(2, clientOfTLS, serverOfTLS)
	case s.Security == "tls":
		add(1, clientOfTLS, serverOfTLS)
	case strings.HasPrefix(s.Security, "dtls"):
		add(2, clientOfDTLS, serverOfDTLS)
	}
	if strings.HasPrefix(s.Transport, "mqtt") {
		add(1, 0, 0) // CONNECT
	}
	return rounds, bytes
}

// opens is how long a connection takes to open.
func (n need) opens() time.Duration { return times(float64(n.opening), n.roundTrip) + n.hello }

// sent is how long the bytes of a request and its answer take.
func (n need) sent() time.Duration {
	if n.streams {
		return max(n.up, n.down)
	}
	return n.up + n.down
}

// request is how long one takes, from before it opens a connection if it does.
func (n need) request(s *study.Setup) time.Duration {
	d := times(float64(n.rounds), n.roundTrip) + n.sent()
	if s.Connection == "per-request" {
		d += n.opens()
	}
	return d
}

// times saturates at what no timeout is.
func times(n float64, d time.Duration) time.Duration { return time.Duration(min(n*float64(d), 1<<60)) }

// lateAnswers refuses a link over which no request is answered within timeouts.request. Other clients' timeouts may
// begin when the connection is open, and end with the first byte of the answer.
func (x *assembly) lateAnswers(t study.Trial, n need) bool {
	patience, s := x.plan.Study.Timeouts.Request, t.Setup
	takes, sent, keys, advice := n.request(s), n.sent(), []string{"link"}, "raise timeouts: {request: …}"
	fresh := s.Connection == "per-request"
	if !n.own {
		takes, sent, fresh = n.roundTrip+n.up, n.up, false
	}
	if takes < patience {
		return false
	}
	var parts []string
	if n.rounds > 1 {
		parts = append(parts, fmt.Sprintf("%d round trips of %s or more, as CoAP sends a block of %d B and waits for "+
			"its answer", n.rounds, study.DurationText(n.roundTrip), largestBlock))
	}
	if fresh {
		parts = append(parts, fmt.Sprintf("%s for opening its connection", rounded(n.opens())))
		keys, advice = append(keys, "connection"), advice+", or write connection: keep-alive"
	}
	what := "a request and its answer"
	if n.body > 0 {
		what = fmt.Sprintf("a message of %d B and its answer", n.body)
		if sent >= time.Millisecond {
			parts = append(parts, fmt.Sprintf("%s for their bytes", rounded(sent)))
		}
		keys, advice = append(keys, "options.letters", "size", "n"), advice+", or send less"
	}
	why := ""
	if len(parts) > 0 {
		why = " (" + strings.Join(parts, ", ") + ")"
	}
	x.fault(t, fmt.Sprintf("%s take %s at least over link %s%s, so none arrives within timeouts.request, %s",
		what, rounded(takes), s.Link.Text, why, study.DurationText(patience)), advice, keys...)
	return true
}

// rounded is a time in words, down to what matters beside a round trip.
func rounded(d time.Duration) string {
	if d > time.Minute {
		return study.DurationText(d.Truncate(time.Second))
	}
	return study.DurationText(d.Truncate(time.Millisecond))
}

// lateConnections refuses a link behind which the client does not become ready: ours opens its connections before, one
// after the other, each within timeouts.request.
func (x *assembly) lateConnections(t study.Trial, n need) bool {
	s, limits := t.Setup, x.plan.Study.Timeouts
	if !n.own || s.Connection == "per-request" || x.plan.Study.Time == study.Instructions {
		return false
	}
	lanes := max(s.Concurrency, 1)
	if onOne(s) {
		lanes = 1
	}
	opens := n.opens()
	if opens >= limits.Request {
		x.fault(t, fmt.Sprintf("a connection takes %s at least to open over link %s, with %s and the bytes of its "+
			"handshakes, so none is open within timeouts.request, %s", rounded(opens), s.Link.Text,
			plural.Count(n.opening, "round trip"), study.DurationText(limits.Request)), "raise timeouts: {request: …}",
			"link", "security", "transport")
		return true
	}
	ready, what, advice := times(float64(lanes), opens), "opens a connection", "raise timeouts: {ready: …}"
	if lanes > 1 {
		advice += ", or lower concurrency"
		what = fmt.Sprintf("opens %d connections, one after the other", lanes)
	}
	if s.Transport == "dpws" { // a search and its answer, and a description by a connection of its own
		ready, what = ready+times(3, n.roundTrip), "finds its device, reads its description and connects"
	}
	if ready < limits.Ready {
		return false
	}
	x.fault(t, fmt.Sprintf("the client %s, which takes %s at least over link %s: it is not ready within "+
		"timeouts.ready, %s", what, rounded(ready), s.Link.Text, study.DurationText(limits.Ready)),
		advice, "link", "concurrency", "security", "transport")
	return true
}

// onOne says whether all requests share a connection, which may take only so many at once.
func onOne(s *study.Setup) bool { return s.Connection == "pipelined" || s.Connection == "multiplexed" }

// sharedRate refuses a closed loop whose connections send their first requests at once over a link that carries so
// few of them within timeouts.request that more fail than a trial bears.
func (x *assembly) sharedRate(t study.Trial, n need) bool {
	const together = time.Second // within which they surely begin
	s, patience := t.Setup, x.plan.Study.Timeouts.Request
	busy := n.up
	if n.own {
		busy = max(n.up, n.down)
	}
	if s.Rate > 0 || s.Joint() || s.Requests == 0 || s.MinDuration > 0 || x.plan.Study.Failures != nil || busy == 0 ||
		s.Options["observe"] != "" || onOne(s) {
		return false
	}
	first := min(s.Concurrency, s.Requests)
	answered := int(min(float64(patience+together)/float64(busy), math.MaxInt32))
	if failed := first - answered; failed <= 0 || lab.Bears(s, x.lab.Links[s.Link.Text], failed, s.Requests) {
		return false
	}
	x.fault(t, fmt.Sprintf("link %s carries a message or its answer for %s at least, so of the first %d, which share it, "+
		"%d or fewer are answered within timeouts.request, %s", s.Link.Text, rounded(busy), first, answered,
		study.DurationText(patience)), "raise timeouts: {request: …}, lower concurrency, or send less", "link",
		"concurrency", "options.letters", "size", "n")
	return true
}

// longTrial refuses a trial that is not over within timeouts.trial.
func (x *assembly) longTrial(t study.Trial, n need) bool {
	s, limits, warmUp := t.Setup, x.plan.Study.Timeouts, x.plan.Study.Design.WarmUp
	limit, least := limits.Trial, n.trial(s, warmUp, limits.Request)
	if least < limit {
		return false
	}
	what, keys := plural.Count(s.Requests, "request")+" and their warm-up", []string{"requests", "link", "rate"}
	advice := "lower requests or design: {warmup: …}, or raise timeouts: {trial: …}"
	if s.Duration > 0 {
		keys[0], what = "duration", "a duration of "+study.DurationText(s.Duration)+" and its warm-up"
		if warmUp.Requests > 0 {
			what = fmt.Sprintf("a duration of %s and a warm-up of %d requests", study.DurationText(s.Duration),
				warmUp.Requests)
		}
	}
	if s.Rate > 0 {
		what += fmt.Sprintf(" at %g per second", s.Rate)
		advice = "lower rate, raise concurrency, " + advice
	}
	trip := fmt.Sprintf("whose round trip is %s or more", study.DurationText(n.roundTrip))
	if n.sent() > n.roundTrip || n.rounds > 1 || s.Connection == "per-request" {
		trip = fmt.Sprintf("over which a request takes %s", rounded(n.request(s)))
	}
	x.fault(t, fmt.Sprintf("%s take %s at least behind this link, %s: too long for timeouts.trial, %s", what,
		study.DurationText(least.Truncate(time.Second)), trip, study.DurationText(limit)), advice, keys...)
	return true
}

// lasts tells the lab how long a trial of a treatment lasts at least, for its estimates.
func (x *assembly) lasts(t study.Trial, n need) {
	if x.lab.Least == nil {
		x.lab.Least = map[int]time.Duration{}
	}
	x.lab.Least[t.Cell] = n.trial(t.Setup, x.plan.Study.Design.WarmUp, x.plan.Study.Timeouts.Request)
}

// trial is how long a trial lasts: each connection has one request under way, which is answered or given up, and all
// share the link. At a rate, what is due is sent, if need be after it.
func (n need) trial(s *study.Setup, warmUp study.Span, patience time.Duration) time.Duration {
	if s.Options["observe"] != "" {
		return 0
	}
	lanes := float64(max(s.Concurrency, 1) * max(s.DrivenFrom, 1))
	one, busy := min(n.request(s), patience), min(max(n.up, n.down), patience)
	turns := func(requests float64) time.Duration {
		return times(requests, max(time.Duration(float64(one)/lanes), time.Duration(float64(busy)/lanes)))
	}
	during := func(d time.Duration) time.Duration { // with all that is due within it
		due := s.Rate * d.Seconds()
		if s.Arrival == "poisson" {
			const surely = 6 // standard deviations
			due = max(0, due-surely*math.Sqrt(due))
		}
		return max(d, turns(math.Floor(due)))
	}
	lasts := max(turns(float64(s.Requests)), during(s.Duration))
	if s.Rate > 0 && s.Arrival != "poisson" {
		lasts = max(lasts, times(float64(s.Requests-1)/s.Rate, time.Second))
	}
	if s.MinDuration > 0 { // a quarter longer than the warm-up's pace says
		lasts = max(times(1.25, lasts), s.MinDuration)
	}
	return turns(float64(warmUp.Requests)) + during(warmUp.Time) + lasts
}

// madeOf is a treatment's message, made once for all treatments that have it.
func (x *assembly) madeOf(t study.Trial) made {
	of := sizeOf(t.Setup)
	m, known := x.sizes[of]
	if !known {
		if x.sizes == nil {
			x.sizes = map[sized]made{}
		}
		m = x.makes(t, of)
		x.sizes[of] = m
	}
	return m
}

// answerOf is the size of the answer to a treatment's message in B; 0: not known, or of a message whose size is not.
func (x *assembly) answerOf(t study.Trial) int64 {
	call, err := x.lab.CallOf(t)
	encoding, err2 := codec.Parse(t.Setup.Encoding)
	name, err3 := service.Parse(t.Setup.Service)
	if err != nil || err2 != nil || err3 != nil || x.madeOf(t).bytes == 0 ||
		call.Message.N*max(call.Message.Letters, 1) > mostAnswered {
		return 0
	}
	m := call.Message
	return int64(len(answered(name, encoding, requested(name, m, m.N, m.Letters))))
}

// roundTrip is that of a link's delays; most requests take longer where they vary.
func roundTrip(l link.Link) time.Duration {
	least := func(s link.Shape) time.Duration { return max(0, s.Delay-s.DelayStdDev) }
	return least(l.Up) + least(l.Down)
}
