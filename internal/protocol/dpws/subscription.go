package dpws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// Subscriptions are an event source's subscribers (WS-Eventing 2004, with the
// action filter of DPWS 1.1, section 6). Everything about them is bounded: their number,
// their time, and the notifications that wait for a slow one.
type Subscriptions struct {
	At      string        // address of the subscription managers; each has a path of its own below it
	Most    int           // 64
	Longest time.Duration // granted; an hour
	Client  *http.Client
	Counts  EventCounts

	mu      sync.Mutex
	all     map[string]*subscription
	closed  bool
	senders sync.WaitGroup
	now     func() time.Time // nil: the clock
}

// EventCounts say what became of notifications and of their subscribers.
type EventCounts struct {
	Sent, Failed atomic.Int64 // notifications; a failure ends the subscription
	Dropped      atomic.Int64 // notifications for a subscriber that is too slow
	Expired      atomic.Int64 // subscriptions whose time ran out
	Refused      atomic.Int64 // requests answered by a fault
}

type subscription struct {
	id, to    string
	reference []byte    // wse:Identifier of NotifyTo
	endTo     *endpoint // nil: none
	all       bool      // events; else those with one of the actions
	actions   []string
	until     time.Time
	waiting   chan []byte
	over      bool // what waits is not sent any more
}

// An endpoint is where a subscriber wants to hear of the end: EndTo.
type endpoint struct {
	address   string
	reference []byte // its wse:Identifier
}

// How an event source ends a subscription by itself (WS-Eventing 2004, section 3.5).
const (
	deliveryFailure = eventingSpace + "/DeliveryFailure"
	shuttingDown    = eventingSpace + "/SourceShuttingDown"
)

const (
	waitingEvents = 64
	pushMode      = eventingSpace + "/DeliveryModes/Push"
	actionFilter  = dpwsSpace + "/Action"
	eventSpaces   = ` xmlns:wse="` + eventingSpace + `"`
)

// Answer appends the answer to a request of WS-Eventing that came to path, and says with
// which HTTP status it goes; 0: the request is something else.
func (s *Subscriptions) Answer(dst []byte, n *Namer, envelope []byte, path string) (answer []byte, status int) {
	var h Header
	var want request
	if err := open(envelope, &h, func(r *reader, name xmlstream.Name) { want.read(r, name) }); err != nil ||
		!strings.HasPrefix(string(h.Action), eventingSpace+"/") {
		return dst, 0
	}
	fault := want.fault
	var body string
	if fault == nil {
		body, fault = s.do(&h, &want, path[strings.LastIndexByte(path, '/')+1:])
	}
	if fault != nil {
		s.Counts.Refused.Add(1)
		return fault.Append(dst, n, &h), fault.Status()
	}
	reply := Header{Action: append(bytes.Clone(h.Action), "Response"...), MessageID: n.Append(nil), RelatesTo: h.MessageID,
		To: []byte(Anonymous)}
	return append(append(reply.appendStart(dst, eventSpaces, ""), body...), End...), http.StatusOK
}

func (s *Subscriptions) do(h *Header, want *request, id string) (body string, fault *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if string(h.Action) == actionSubscribe {
		return s.subscribe(want)
	}
	sub := s.all[id]
	if sub == nil {
		return "", &Fault{"Sender", "wse:InvalidMessage", "no such subscription"}
	}
	switch string(h.Action) {
	case actionRenew:
		sub.until = s.clock().Add(s.grant(want.expires))
		return "<wse:RenewResponse>" + s.remaining(sub) + "</wse:RenewResponse>", nil
	case actionGetStatus:
		return "<wse:GetStatusResponse>" + s.remaining(sub) + "</wse:GetStatusResponse>", nil
	case actionUnsubscribe:
		s.end(sub)
		return "", nil
	}
	return "", &Fault{"Sender", "ActionNotSupported", "the action cannot be processed here"}
}

func (s *Subscriptions) subscribe(want *request) (body string, fault *Fault) {
	most := s.Most
	if most == 0 {
		most = 64
	}
	switch {
	case want.mode != "" && want.mode != pushMode:
		return "", &Fault{"Sender", "wse:DeliveryModeRequestedUnavailable", "only push delivery is supported"}
	case want.filtered && want.dialect != actionFilter:
		return "", &Fault{"Sender", "wse:FilteringRequestedUnavailable", "only filters by action are supported"}
	case !isHTTP(want.to):
		return "", &Fault{"Sender", "wse:InvalidMessage", "NotifyTo is not an HTTP address"}
	case want.endTo != nil && !isHTTP(want.endTo.address):
		return "", &Fault{"Sender", "wse:InvalidMessage", "EndTo is not an HTTP address"}
	case len(s.all) >= most || s.closed:
		return "", &Fault{"Receiver", "wse:UnableToProcess", "too many subscriptions"}
	}
	id := strings.TrimPrefix(NewUUID(), "urn:uuid:")
	sub := &subscription{id: id, to: want.to, reference: want.reference, endTo: want.endTo, all: !want.filtered,
		actions: want.actions, until: s.clock().Add(s.grant(want.expires)), waiting: make(chan []byte, waitingEvents)}
	if s.all == nil {
		s.all = map[string]*subscription{}
	}
	s.all[id] = sub
	s.senders.Go(func() { s.deliver(sub) })
	return "<wse:SubscribeResponse>" + s.manager(sub) + s.remaining(sub) + "</wse:SubscribeResponse>", nil
}

func (s *Subscriptions) manager(sub *subscription) string {
	return "<wse:SubscriptionManager><wsa:Address>" + s.At + "/" + sub.id + "</wsa:Address></wse:SubscriptionManager>"
}

// wants says whether an event of an action is for a subscriber. A URI of its filter also stands for what is below it:
// they are compared as scopes are (DPWS 1.1, section 6.1.1; WS-Discovery 1.1, section 5.1).
func (sub *subscription) wants(action string) bool {
	return sub.all || slices.ContainsFunc(sub.actions, func(uri string) bool {
		return uri == action || prefixMatches(uri, action)
	})
}

func (s *Subscriptions) clock() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// grant is the time given to a subscriber that asks for some.
func (s *Subscriptions) grant(asked time.Duration) time.Duration {
	longest := s.Longest
	if longest == 0 {
		longest = time.Hour
	}
	if asked <= 0 {
		return longest
	}
	return min(asked, longest)
}

func (s *Subscriptions) remaining(sub *subscription) string {
	return "<wse:Expires>" + duration(sub.until.Sub(s.clock())) + "</wse:Expires>"
}

// expire ends what is over. It is called with every request and every event.
func (s *Subscriptions) expire() {
	for _, sub := range s.all {
		if !s.clock().Before(sub.until) {
			s.Counts.Expired.Add(1)
			s.end(sub)
		}
	}
}

// end ends a subscription. What still waits when all end is sent; who has unsubscribed, or whose time is over, hears
// nothing more (WS-Eventing 2004, section 3.4).
func (s *Subscriptions) end(sub *subscription) {
	if s.all[sub.id] == sub {
		delete(s.all, sub.id)
		sub.over = !s.closed
		close(sub.waiting)
	}
}

func (s *Subscriptions) isOver(sub *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sub.over
}

// Notify sends an event to all who want its action. It waits for nobody.
func (s *Subscriptions) Notify(n *Namer, action string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for _, sub := range s.all {
		if !sub.wants(action) {
			continue
		}
		h := Header{Action: []byte(action), MessageID: n.Append(nil), To: []byte(sub.to), Reference: sub.reference}
		select {
		case sub.waiting <- append(append(h.appendStart(nil, eventSpaces, ""), body...), End...):
		default:
			s.Counts.Dropped.Add(1)
		}
	}
}

// deliver sends what waits, one after the other, until the subscription ends.
func (s *Subscriptions) deliver(sub *subscription) {
	for b := range sub.waiting {
		if s.isOver(sub) {
			return
		}
		if err := s.post(sub.to, b, 10*time.Second); err != nil {
			s.Counts.Failed.Add(1)
			s.mu.Lock()
			s.end(sub)
			s.mu.Unlock()
			s.tellEnd(sub, deliveryFailure)
			return
		}
		s.Counts.Sent.Add(1)
	}
	if !s.isOver(sub) {
		s.tellEnd(sub, shuttingDown)
	}
}

// tellEnd tells a subscriber that wants to hear of it why its subscription ended too early.
func (s *Subscriptions) tellEnd(sub *subscription, status string) {
	if sub.endTo == nil {
		return
	}
	h := Header{Action: []byte(actionEnd), MessageID: []byte(NewUUID()), To: []byte(sub.endTo.address),
		Reference: sub.endTo.reference}
	b := append(h.appendStart(nil, eventSpaces, ""), "<wse:SubscriptionEnd>"+s.manager(sub)+"<wse:Status>"+status+
		"</wse:Status></wse:SubscriptionEnd>"+End...)
	_ = s.post(sub.endTo.address, b, 2*time.Second) // it may be gone, too
}

func (s *Subscriptions) post(to string, b []byte, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	c := s.Client
	if c == nil {
		c = http.DefaultClient
	}
	_, status, err := do(c, req, MaxEnvelope)
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

// Close ends all subscriptions and waits for what is being sent.
func (s *Subscriptions) Close() {
	s.mu.Lock()
	s.closed = true // else one that begins now would be waited for, or not
	for _, sub := range s.all {
		s.end(sub)
	}
	s.mu.Unlock()
	s.senders.Wait()
}

// duration writes d as xs:duration, to the second above.
func duration(d time.Duration) string {
	return "PT" + strconv.FormatInt(int64((max(d, 0)+time.Second-1)/time.Second), 10) + "S"
}

var errDuration = errors.New("invalid duration; write PT60S")

// The parts of an xs:duration, in seconds, before the T and behind it. How long a month is the standard leaves to its
// date; what is granted is bounded anyway.
var (
	days  = map[byte]float64{'Y': 365 * 86400, 'M': 30 * 86400, 'D': 86400}
	hours = map[byte]float64{'H': 3600, 'M': 60, 'S': 1}
)

// parseDuration reads an xs:duration: PT1H, or P0Y0M0DT1H0M0S as many libraries write it.
func parseDuration(text string) (time.Duration, error) {
	rest, ok := strings.CutPrefix(text, "P")
	if !ok || rest == "" {
		return 0, errDuration
	}
	date, clock, timed := strings.Cut(rest, "T")
	if timed && clock == "" {
		return 0, errDuration
	}
	total := 0.0
	for _, part := range []struct {
		text, letters string
		units         map[byte]float64
	}{{date, "YMD", days}, {clock, "HMS", hours}} {
		for t := part.text; t != ""; {
			i := strings.IndexAny(t, part.letters)
			if i <= 0 {
				return 0, errDuration
			}
			v, err := strconv.ParseFloat(t[:i], 64)
			if err != nil || !(v >= 0) || v > 1e9 {
				return 0, errDuration
			}
			total += v * part.units[t[i]]
			t = t[i+1:]
		}
	}
	return time.Duration(min(total, 1e9) * float64(time.Second)), nil
}
