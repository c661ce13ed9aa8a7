package dpws

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A says is a device that answers the same to everything, as who was asked.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := string(s)
	if r.Body != nil {
		asked, _ := io.ReadAll(r.Body)
		if _, rest, ok := strings.Cut(string(asked), "MessageID>"); ok {
			id, _, _ := strings.Cut(rest, "<")
			answer = strings.ReplaceAll(answer, "{id}", id)
		}
	}
	return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// Whatever a device answers to who reads its description: it ends, and what is taken is bounded and can be called.
func FuzzDescribed(f *testing.F) {
	n := NewNamer()
	d := Description{Target: desk, Manufacturer: "m", Model: "x", Name: "n", Serial: "1",
		Hosted: []Hosted{{ID: "s", Types: desk.Types, Addresses: []string{"http://127.0.0.1/s"}, WSDL: "http://127.0.0.1/w"}}}
	for _, action := range []string{actionGet, actionMetadata} {
		if b, ok := d.Answer(nil, n, &Header{Action: []byte(action), MessageID: []byte("{id}")}, nil); ok {
			f.Add(string(b))
		}
		if b, ok := d.Answer(nil, n, &Header{Action: []byte(action), MessageID: []byte("{id}")}, &d.Hosted[0]); ok {
			f.Add(string(b))
		}
	}
	f.Add("<x/>")
	f.Add("")
	f.Fuzz(func(t *testing.T, answer string) {
		c := &http.Client{Transport: says(answer)}
		got := &Description{}
		if err := got.ask(context.Background(), c, "http://device/", "urn:x", actionGet, ""); err != nil {
			return
		}
		if len(got.Hosted) > maxList {
			t.Fatalf("%d services", len(got.Hosted))
		}
		for _, h := range got.Hosted {
			if len(h.Addresses) > maxList || len(h.Types) > maxList {
				t.Fatalf("%d addresses, %d types", len(h.Addresses), len(h.Types))
			}
		}
	})
}
