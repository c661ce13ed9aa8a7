package dpws

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const tick = "urn:x/tick"

// source serves the subscriptions, and nothing else.
func source(t *testing.T, s *Subscriptions) string {
	n := NewNamer()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		a, status := s.Answer(nil, n, b, r.URL.Path)
		if status == 0 {
			t.Errorf("no answer to %s", b)
		}
		w.WriteHeader(status)
		w.Write(a)
	}))
	s.At = srv.URL + "/events"
	t.Cleanup(func() { s.Close(); srv.Close() })
	return srv.URL
}

func heard(t *testing.T) (at string, events chan string) {
	events = make(chan string, 1000)
	srv := httptest.NewServer(Sink(func(action string, envelope []byte) { events <- action + string(envelope) }))
	t.Cleanup(srv.Close)
	return srv.URL, events
}

func next(t *testing.T, events chan string) string {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event came")
		return ""
	}
}

func TestSubscribeNotifyRenewUnsubscribe(t *testing.T) {
	var clock atomic.Int64 // s
	s := &Subscriptions{Longest: 100 * time.Second, now: func() time.Time { return time.Unix(clock.Load(), 0) }}
	at := source(t, s)
	to, events := heard(t)
	n := NewNamer()
	sub, err := Subscribe(t.Context(), http.DefaultClient, at, to, []string{"urn:x/other", tick}, 60*time.Second)
	if err != nil || sub.Expires != 60*time.Second {
		t.Fatalf("got %+v, %v", sub, err)
	}
	s.Notify(n, "urn:x/unwanted", []byte("<a/>"))
	s.Notify(n, tick, []byte("<b/>"))
	if e := next(t, events); !strings.HasPrefix(e, tick) || !strings.Contains(e, "<b/>") {
		t.Errorf("heard %s", e)
	}
	clock.Store(50)
	if err := sub.Status(t.Context()); err != nil || sub.Expires != 10*time.Second {
		t.Errorf("status: %v, %v", sub.Expires, err)
	}
	if err := sub.Renew(t.Context(), time.Hour); err != nil || sub.Expires != 100*time.Second {
		t.Errorf("renew: %v, %v; want the longest there is", sub.Expires, err)
	}
	clock.Store(149)
	s.Notify(n, tick, []byte("<c/>"))
	if e := next(t, events); !strings.Contains(e, "<c/>") {
		t.Errorf("heard %s", e)
	}
	clock.Store(150)
	s.Notify(n, tick, []byte("<late/>"))
	if err := sub.Renew(t.Context(), time.Minute); err == nil || s.Counts.Expired.Load() != 1 {
		t.Errorf("renewed after its end: %v, %d expired", err, s.Counts.Expired.Load())
	}
	if sub, err = Subscribe(t.Context(), http.DefaultClient, at, to, []string{tick}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := sub.Unsubscribe(t.Context()); err != nil {
		t.Error(err)
	}
	s.Notify(n, tick, []byte("<late/>"))
	s.Close()
	if len(events) != 0 || len(s.all) != 0 || s.Counts.Sent.Load() != 2 {
		t.Errorf("%d events after the end, %d subscriptions, %d sent", len(events), len(s.all), s.Counts.Sent.Load())
	}
}

// Who has unsubscribed hears nothing more, not even what waited behind an event that it was slow to take.
func TestNothingIsSentAfterUnsubscribe(t *testing.T) {
	s, n := &Subscriptions{}, NewNamer()
	at := source(t, s)
	came, goOn := make(chan struct{}, 100), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came <- struct{}{}; <-goOn }))
	defer slow.Close()
	sub, err := Subscribe(t.Context(), http.DefaultClient, at, slow.URL, []string{tick}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		s.Notify(n, tick, []byte("<a/>"))
	}
	<-came
	if err := sub.Unsubscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	s.Close()
	if more := len(came); more > 0 || s.Counts.Sent.Load() != 1 {
		t.Errorf("%d events after the answer to Unsubscribe, %d sent", more, s.Counts.Sent.Load())
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	s := &Subscriptions{Most: 5}
	at := source(t, s)
	to, _ := heard(t)
	for i := range 20 {
		if _, err := Subscribe(t.Context(), http.DefaultClient, at, to, []string{tick},
			time.Minute); (err == nil) != (i < 5) {
			t.Errorf("subscription %d: %v", i, err)
		}
	}
	if s.Counts.Refused.Load() != 15 {
		t.Errorf("%d refused", s.Counts.Refused.Load())
	}
	s.Close()
	if _, err := Subscribe(t.Context(), http.DefaultClient, at, to, []string{tick}, time.Minute); err == nil {
		t.Error("a subscription began after the end of all")
	}
	s = &Subscriptions{Most: 5}
	at = source(t, s)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := Subscribe(t.Context(), http.DefaultClient, at, gone.URL, []string{tick}, time.Minute); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer slow.Close()
	if _, err := Subscribe(t.Context(), http.DefaultClient, at, slow.URL, []string{tick}, time.Minute); err != nil {
		t.Fatal(err)
	}
	n := NewNamer()
	for range 1000 {
		s.Notify(n, tick, []byte("<a/>"))
	}
	for end := time.Now().Add(20 * time.Second); s.Counts.Failed.Load() == 0 &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if s.Counts.Failed.Load() != 1 || s.Counts.Dropped.Load() < 900 {
		t.Errorf("%d failed, %d dropped", s.Counts.Failed.Load(), s.Counts.Dropped.Load())
	}
	close(stuck)
	s.Close()
}

func TestBadSubscriptionsAreRefused(t *testing.T) {
	s := &Subscriptions{}
	good := func(mode, to, expires, dialect string) string {
		return fmt.Sprintf(`<soap:Envelope xmlns:soap="%s" xmlns:wsa="%s" xmlns:wse="%s"><soap:Header><wsa:Action>%s</wsa:Action><wsa:MessageID>urn:uuid:1</wsa:MessageID></soap:Header>`+
			`<soap:Body><wse:Subscribe><wse:Delivery Mode="%s"><wse:NotifyTo><wsa:Address>%s</wsa:Address></wse:NotifyTo></wse:Delivery><wse:Expires>%s</wse:Expires>`+
			`<wse:Filter Dialect="%s">urn:x</wse:Filter></wse:Subscribe></soap:Body></soap:Envelope>`, soapSpace, wsaSpace,
			eventingSpace, actionSubscribe, mode, to, expires, dialect)
	}
	for _, tt := range []struct{ envelope, want string }{
		{good(pushMode, "http://h/", "PT1M", actionFilter), "SubscribeResponse"},
		{good(pushMode, "http://h/", "P1DT2H", actionFilter), "PT3600S"},
		// as javax.xml.datatype.Duration writes it
		{good(pushMode, "http://h/", "P0Y0M0DT0H2M3.000S", actionFilter), "PT123S"},
		{good(pushMode, "http://h/", "P1Y2M", actionFilter), "PT3600S"},
		{good(pushMode, "http://h/", "P1H", actionFilter), "wse:InvalidExpirationTime"},
		{good(pushMode, "http://h/", "P", actionFilter), "wse:InvalidExpirationTime"},
		{good(pushMode, "http://h/", "PT1M", ""), "wse:FilteringRequestedUnavailable"},
		{good("urn:pull", "http://h/", "PT1M", actionFilter), "wse:DeliveryModeRequestedUnavailable"},
		{good(pushMode, "file:///etc/passwd", "PT1M", actionFilter), "wse:InvalidMessage"},
		{good(pushMode, "http://h/", "soon", actionFilter), "wse:InvalidExpirationTime"},
		{good(pushMode, "http://h/", "PT0S", actionFilter), "wse:InvalidExpirationTime"},
		{good(pushMode, "http://h/", "2001-01-01T00:00:00Z", actionFilter), "wse:InvalidExpirationTime"},
		{good(pushMode, "http://h/", "PT1M", "urn:xpath"), "wse:FilteringRequestedUnavailable"},
	} {
		a, status := s.Answer(nil, NewNamer(), []byte(tt.envelope), "/x")
		want := http.StatusOK
		if strings.HasPrefix(tt.want, "wse:") {
			want = http.StatusBadRequest
		}
		if status != want || !strings.Contains(string(a), tt.want) {
			t.Errorf("got %d %s, want %d %s", status, a, want, tt.want)
		}
	}
	s.Most = 1
	if a, status := s.Answer(nil, NewNamer(), []byte(good(pushMode, "http://h/", "PT1M", actionFilter)),
		"/x"); status != http.StatusInternalServerError {
		t.Errorf("no room for another: got %d %s, want 500: it is not the sender's fault", status, a)
	}
	if _, status := s.Answer(nil, NewNamer(), []byte("<no/>"), "/x"); status != 0 {
		t.Error("what is no envelope got an answer")
	}
	s.Close()
}

// Without a filter all events are wanted (WS-Eventing 2004, section 3.1). What the subscriber's reference has is marked
// as its own (WS-Addressing 1.0, SOAP binding, section 3.3).
func TestSubscriptionWithoutAFilter(t *testing.T) {
	s, n := &Subscriptions{}, NewNamer()
	defer s.Close()
	to, events := heard(t)
	a, status := s.Answer(nil, n, fmt.Appendf(nil, `<s:Envelope xmlns:s="%s" xmlns:a="%s" xmlns:e="%s"><s:Header>`+
		`<a:Action>%s</a:Action><a:MessageID>urn:uuid:1</a:MessageID></s:Header><s:Body><e:Subscribe><e:Delivery><e:NotifyTo>`+
		`<a:Address>%s</a:Address><a:ReferenceParameters><e:Identifier>mine</e:Identifier></a:ReferenceParameters>`+
		`</e:NotifyTo></e:Delivery></e:Subscribe></s:Body></s:Envelope>`, soapSpace, wsaSpace, eventingSpace, actionSubscribe,
		to), "/x")
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, a)
	}
	s.Notify(n, "urn:x/anything", []byte("<b/>"))
	if e := next(t, events); !strings.Contains(e,
		`<wse:Identifier wsa:IsReferenceParameter="true">mine</wse:Identifier>`) {
		t.Errorf("heard %s", e)
	}
}

// A URI of a filter stands for the actions below it as well (DPWS 1.1, section 6.1.1).
func TestFilterMatchesPrefixes(t *testing.T) {
	for _, tt := range []struct {
		filter, action string
		want           bool
	}{
		{"http://x.example/Port/Event", "http://x.example/Port/Event", true},
		{"http://x.example/Port", "http://x.example/Port/Event", true},
		{"HTTP://X.example/Port/", "http://x.example/Port/Event", true},
		{"http://x.example/Port/Ev", "http://x.example/Port/Event", false},
		{"http://x.example/Port/Event", "http://x.example/Port", false},
		{"http://y.example/Port", "http://x.example/Port/Event", false},
		{"urn:x/tick", "urn:x/tick", true},
		{"urn:x", "urn:x/tick", false},
		{"%", "%", true},
	} {
		sub := subscription{actions: []string{"urn:other", tt.filter}}
		if got := sub.wants(tt.action); got != tt.want {
			t.Errorf("filter %s, action %s: %v", tt.filter, tt.action, got)
		}
	}
}

// A subscriber that wants to hear of the end is told of one that it has not asked for, behind all events, and of no
// other (WS-Eventing 2004, section 3.5).
func TestSubscriptionEnd(t *testing.T) {
	now := time.Unix(0, 0)
	s, n := &Subscriptions{At: "http://h/events", now: func() time.Time { return now }}, NewNamer()
	ends, ended := heard(t)
	ask := func(action, path, body string) string {
		a, _ := s.Answer(nil, n, fmt.Appendf(nil, `<s:Envelope xmlns:s="%s" xmlns:a="%s" xmlns:e="%s"><s:Header>`+
			`<a:Action>%s</a:Action><a:MessageID>urn:uuid:1</a:MessageID></s:Header><s:Body>%s</s:Body></s:Envelope>`, soapSpace,
			wsaSpace, eventingSpace, action, body), path)
		return string(a)
	}
	subscribe := func(to, end string) (id string) {
		a := ask(actionSubscribe, "/x", fmt.Sprintf(`<e:Subscribe><e:EndTo><a:Address>%s</a:Address><a:ReferenceParameters>`+
			`<e:Identifier>mine</e:Identifier></a:ReferenceParameters></e:EndTo><e:Delivery><e:NotifyTo><a:Address>%s</a:Address>`+
			`</e:NotifyTo></e:Delivery><e:Expires>PT1M</e:Expires></e:Subscribe>`, end, to))
		_, rest, _ := strings.Cut(a, s.At+"/")
		id, _, _ = strings.Cut(rest, "<")
		return id
	}
	if subscribe("http://h/", "file:///x") != "" {
		t.Error("EndTo may be anything")
	}
	ask(actionUnsubscribe, "/"+subscribe(ends, ends), "<e:Unsubscribe/>")
	subscribe(ends, ends)
	now = now.Add(time.Hour) // that is over
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	failed := subscribe(gone.URL, ends)
	s.Notify(n, tick, []byte("<a/>"))
	said := func(id, status string) {
		t.Helper()
		e := next(t, ended)
		for _, want := range []string{actionEnd, ">" + s.At + "/" + id + "<", ">" + status + "<", ">mine</wse:Identifier>"} {
			if !strings.Contains(e, want) {
				t.Errorf("heard %s, want %s in it", e, want)
			}
		}
	}
	said(failed, deliveryFailure)
	last := subscribe(ends, ends)
	s.Notify(n, tick, []byte("<b/>"))
	s.Close()
	if e := next(t, ended); !strings.HasPrefix(e, tick) {
		t.Errorf("heard %s, want the event first", e)
	}
	said(last, shuttingDown)
	if len(ended) > 0 {
		t.Errorf("heard %s, too", <-ended)
	}
}

// FuzzEventing puts requests before an event source: nothing panics, grows, or
// goes anywhere but to HTTP.
func FuzzEventing(f *testing.F) {
	const head = `<s:Envelope xmlns:s="` + soapSpace + `" xmlns:a="` + wsaSpace + `" xmlns:e="` + eventingSpace +
		`"><s:Header><a:Action>`
	f.Add([]byte(head+actionSubscribe+
		`</a:Action><a:MessageID>urn:uuid:1</a:MessageID></s:Header><s:Body><e:Subscribe><e:Delivery><e:NotifyTo><a:Address>http://127.0.0.1:1/</a:Address>`+
		`<a:ReferenceParameters><e:Identifier>x</e:Identifier></a:ReferenceParameters></e:NotifyTo></e:Delivery><e:Expires>P1DT2H3M4.5S</e:Expires><e:Filter Dialect="`+actionFilter+`">urn:x urn:y</e:Filter></e:Subscribe></s:Body></s:Envelope>`), "/x")
	f.Add([]byte(head+actionRenew+
		`</a:Action></s:Header><s:Body><e:Renew><e:Expires>2999-01-01T00:00:00Z</e:Expires></e:Renew></s:Body></s:Envelope>`),
		"/events/none")
	f.Add([]byte(head+actionUnsubscribe+`</a:Action></s:Header><s:Body/></s:Envelope>`), "")
	n := NewNamer()
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		s := &Subscriptions{Most: 2}
		defer s.Close()
		for range 4 {
			answer, status := s.Answer(nil, n, b, path)
			var h Header
			ok := status != 0
			if ok && open(answer, &h, nil) != nil || !ok && len(answer) > 0 {
				t.Fatalf("answer %s to %s", answer, b)
			}
		}
		if len(s.all) > 2 {
			t.Fatalf("%d subscriptions", len(s.all))
		}
		for _, sub := range s.all {
			if left := time.Until(sub.until); !isHTTP(sub.to) || left > time.Hour {
				t.Fatalf("%s is told for %v", sub.to, left)
			}
		}
	})
}
