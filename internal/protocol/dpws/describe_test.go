package dpws

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// serveDescription is a device's HTTP side; spoil may change what it says.
func serveDescription(t *testing.T, spoil func(path, answer string) string) (*httptest.Server, *Description) {
	d := &Description{Target: Target{EPR: desk.EPR, Types: desk.Types}, Manufacturer: "M & Co", Model: "m", Name: "n",
		Firmware: "1", Serial: "2"}
	namer := NewNamer()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer string
		if r.Method == http.MethodGet {
			answer = `<definitions xmlns="` + wsdlSpace + `"/>`
		} else {
			b, _ := io.ReadAll(r.Body)
			var h Header
			if err := Open(b, &h); err != nil {
				t.Error(err)
			}
			var hosted *Hosted
			if r.URL.Path != "/device" {
				hosted = &d.Hosted[0]
			}
			out, ok := d.Answer(nil, namer, &h, hosted)
			if !ok {
				out = (&Fault{Code: "Sender", Subcode: "ActionNotSupported", Reason: "no"}).Append(nil, namer, &h)
			}
			answer = string(out)
		}
		if spoil != nil {
			answer = spoil(r.URL.Path, answer)
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	d.XAddrs = []string{s.URL + "/device"}
	d.Hosted = []Hosted{{Addresses: []string{s.URL + "/a"}, Types: []QName{lamp}, ID: "one", WSDL: s.URL + "/wsdl"}}
	return s, d
}

func TestFetchReadsWhatAnswerWrites(t *testing.T) {
	_, d := serveDescription(t, nil)
	got, err := Fetch(t.Context(), http.DefaultClient,
		Target{EPR: d.EPR, XAddrs: append([]string{"http://127.0.0.1:1/closed"}, d.XAddrs...)})
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, d)
	}
	if h, err := got.Service(lamp, "one"); err != nil || h.ID != "one" {
		t.Errorf("got %v, %v", h, err)
	}
	for _, id := range []string{"two", ""} {
		if h, err := got.Service(QName{"urn:x", "Fan"}, id); err == nil {
			t.Errorf("got %v", h)
		}
	}
}

func TestFetchRefusesWhatIsWrong(t *testing.T) {
	for what, tt := range map[string]struct {
		spoil func(path, answer string) string
		want  string
	}{
		"nothing": {func(string, string) string { return "" }, "without a body"},
		"no SOAP": {func(string, string) string { return "<html/>" }, "not a SOAP 1.2 envelope"},
		"an oversized envelope": {func(_, a string) string { return a + strings.Repeat(" ", MaxEnvelope) },
			"larger than the limit"},
		"another's description": {func(_, a string) string { return strings.ReplaceAll(a, desk.EPR, "urn:uuid:other") },
			"answers there"},
		"an answer to somebody else": {func(_,
			a string) string {
			return strings.Replace(a, "RelatesTo>urn", "RelatesTo>x", 1)
		}, "another request"},
		"a thousand services": {func(_, a string) string {
			return strings.Replace(a, "<dpws:Hosted>", strings.Repeat("<dpws:Hosted/>", 1000)+"<dpws:Hosted>", 1)
		}, "more than 64"},
		"a WSDL that is none": {only("/wsdl", "<html/>"), "not WSDL"},
		"an endless WSDL":     {only("/wsdl", strings.Repeat(" ", maxWSDL+1)), "larger than the limit"},
		"a fault": {only("/a", string((&Fault{Code: "Sender", Subcode: "ActionNotSupported",
			Reason: "no"}).Append(nil, NewNamer(), &Header{}))), "fault Sender ActionNotSupported: no"},
		"a fault in the default namespace": {only("/a", `<Envelope xmlns="`+soapSpace+`"><Body><Fault><Code>`+
			`<Value>Receiver</Value></Code><Reason><Text>busy</Text></Reason></Fault></Body></Envelope>`),
			"fault Receiver: busy"},
	} {
		_, d := serveDescription(t, tt.spoil)
		_, err := Fetch(context.Background(), http.DefaultClient, d.Target)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", what, err, tt.want)
		}
		if f := (*Fault)(nil); what == "a fault" && !errors.As(err, &f) {
			t.Errorf("%T is no fault", err)
		}
	}
}

func only(path, says string) func(string, string) string {
	return func(at, a string) string {
		if at == path {
			return says
		}
		return a
	}
}
