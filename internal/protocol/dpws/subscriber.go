package dpws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A request is the body of a Subscribe or Renew.
type request struct {
	mode, to, dialect string
	reference         []byte
	endTo             *endpoint // nil: the subscriber does not ask to hear of the end
	filtered          bool      // else all events are wanted (WS-Eventing 2004, section 3.1)
	actions           []string
	expires           time.Duration
	fault             *Fault
}

func (q *request) read(r *reader, n xmlstream.Name) {
	if string(n.Space) != eventingSpace {
		return
	}
	r.each(func(n xmlstream.Name) {
		switch {
		case n.Is(eventingSpace, "Delivery"):
			q.mode = string(r.p.Attr("", "Mode"))
			r.each(func(n xmlstream.Name) {
				if n.Is(eventingSpace, "NotifyTo") {
					q.to, q.reference = r.endpoint()
				}
			})
		case n.Is(eventingSpace, "EndTo"):
			q.endTo = new(endpoint)
			q.endTo.address, q.endTo.reference = r.endpoint()
		case n.Is(eventingSpace, "Expires"):
			var err error
			if q.expires, err = when(r.text()); err != nil {
				q.fault = &Fault{"Sender", "wse:InvalidExpirationTime", err.Error()}
			}
		case n.Is(eventingSpace, "Filter"):
			q.filtered, q.dialect = true, string(r.p.Attr("", "Dialect"))
			q.actions = r.list()
		}
	})
}

// endpoint reads an endpoint reference: its address and its wse:Identifier.
func (r *reader) endpoint() (address string, identifier []byte) {
	r.each(func(n xmlstream.Name) {
		switch {
		case n.Is(wsaSpace, "Address"):
			address = r.text()
		case n.Is(wsaSpace, "ReferenceParameters"):
			r.each(func(n xmlstream.Name) {
				if n.Is(eventingSpace, "Identifier") {
					identifier = []byte(r.text())
				}
			})
		}
	})
	return address, identifier
}

// when reads how long a subscription is to last: an xs:duration or an xs:dateTime.
func when(text string) (time.Duration, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		if d := time.Until(at); d > 0 {
			return d, nil
		}
		return 0, errors.New("the expiry time has passed")
	}
	d, err := parseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("the expiry time has passed")
	}
	return d, err
}

// A Subscription is a subscriber's view.
type Subscription struct {
	Expires time.Duration // granted, from the latest answer on

	client  *http.Client
	manager Header // To and Reference
}

// Subscribe asks the event source at an address to send events with the given
// actions to notifyTo, for some time.
func Subscribe(ctx context.Context, c *http.Client, at, notifyTo string, actions []string,
	expires time.Duration) (*Subscription, error) {
	s := &Subscription{client: c}
	body := `<wse:Subscribe><wse:Delivery Mode="` + pushMode + `"><wse:NotifyTo><wsa:Address>` +
		string(xmlstream.AppendText(nil, []byte(notifyTo))) +
		`</wsa:Address></wse:NotifyTo></wse:Delivery><wse:Expires>` + duration(expires) +
		`</wse:Expires><wse:Filter Dialect="` + actionFilter + `">` +
		string(xmlstream.AppendText(nil, []byte(strings.Join(actions, " ")))) + `</wse:Filter></wse:Subscribe>`
	err := s.ask(ctx, Header{To: []byte(at)}, actionSubscribe, body)
	if err == nil && len(s.manager.To) == 0 {
		err = errors.New("the answer names no subscription manager")
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe at %s: %w", at, err)
	}
	return s, nil
}

// Renew asks for more time.
func (s *Subscription) Renew(ctx context.Context, expires time.Duration) error {
	return s.ask(ctx, s.manager, actionRenew, `<wse:Renew><wse:Expires>`+duration(expires)+`</wse:Expires></wse:Renew>`)
}

// Status asks how much time is left.
func (s *Subscription) Status(ctx context.Context) error {
	return s.ask(ctx, s.manager, actionGetStatus, `<wse:GetStatus/>`)
}

// Unsubscribe ends the subscription.
func (s *Subscription) Unsubscribe(ctx context.Context) error {
	return s.ask(ctx, s.manager, actionUnsubscribe, `<wse:Unsubscribe/>`)
}

func (s *Subscription) ask(ctx context.Context, h Header, action, body string) error {
	h.Action, h.MessageID, h.ReplyTo = []byte(action), []byte(NewUUID()), []byte(Anonymous)
	var got Header
	var fault *Fault
	err := Post(ctx, s.client, string(h.To), append(append(h.appendStart(nil, eventSpaces, ""), body...), End...), &got,
		func(r *reader, n xmlstream.Name) {
			switch {
			case n.Is(soapSpace, "Fault"):
				fault = &Fault{}
				fault.read(r)
			case string(n.Space) == eventingSpace:
				r.each(func(n xmlstream.Name) { s.answer(r, n) })
			}
		})
	switch {
	case err != nil:
		return err
	case fault != nil:
		return fault
	case string(got.Action) != action+"Response":
		return fmt.Errorf("the answer's action is %s", got.Action)
	case !bytes.Equal(got.RelatesTo, h.MessageID):
		return errors.New("the answer relates to another request")
	}
	return nil
}

func (s *Subscription) answer(r *reader, n xmlstream.Name) {
	switch {
	case n.Is(eventingSpace, "SubscriptionManager"):
		to, reference := r.endpoint()
		s.manager.To, s.manager.Reference = []byte(to), reference
	case n.Is(eventingSpace, "Expires"):
		d, err := when(r.text())
		if err != nil {
			r.fail(err)
		}
		s.Expires = d
	}
}

// Sink receives events and hands over their action and whole envelope.
func Sink(each func(action string, envelope []byte)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(io.LimitReader(r.Body, MaxEnvelope+1))
		var h Header
		if err != nil || len(b) > MaxEnvelope || open(b, &h, nil) != nil || len(h.Action) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		each(string(h.Action), b)
	})
}
