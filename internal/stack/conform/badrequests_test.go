package conform

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// A server's own error is no refusal, and a fault is one.
func TestRefusalIsTheProtocolsWord(t *testing.T) {
	fault := string(codec.AppendFault(codec.SOAP11, nil, &codec.Fault{Code: codec.Sender, Reason: "no"}))
	fault12 := string(codec.AppendFault(codec.SOAP12, nil, &codec.Fault{Code: codec.Receiver, Reason: "no"}))
	for _, c := range []struct {
		enc               codec.Encoding
		status            int
		body              string
		answered, refused bool
	}{
		{codec.JSON, 200, "{}", true, false},
		{codec.JSON, 400, "", false, true},
		{codec.JSON, 500, `{"error":"I fell over"}`, false, false},
		{codec.XML, 500, "<Exception>no</Exception>", false, false},
		{codec.XML, 500, fault, false, false},
		{codec.SOAP11, 500, fault, false, true},
		{codec.SOAP11, 500, "<html>I fell over</html>", false, false},
		{codec.SOAP11, 500, "", false, false},
		{codec.SOAP12, 500, fault12, false, true},
		{codec.SOAP12Gzip, 500, fault12, false, true},
		{codec.SOAP12EXISchema, 500, fault12, false, true},
		{codec.SOAP12EXISchema, 500, "<html>I fell over</html>", false, false},
		{codec.SOAP12, 302, "", false, false},
	} {
		r := httpReply(c.enc, service.Echo, &http.Response{StatusCode: c.status,
			Body: io.NopCloser(strings.NewReader(c.body))})
		if r.answered != c.answered || r.refused != c.refused {
			t.Errorf("%s, %d, %q: answered %v, refused %v; want %v, %v", c.enc, c.status, c.body, r.answered, r.refused,
				c.answered, c.refused)
		}
	}
}

// A stack that deviates from the body limit is still asked all the other bad requests.
func TestDeviatingFromTheBodyLimit(t *testing.T) {
	all := badRequests(codec.SOAP12, []byte("<a>b</a>"))
	for _, deviates := range []map[string]string{nil, {bodyOverLimit: "no limit"}} {
		c := suite{d: stack.Description{Deviates: deviates}}
		got := c.expected(all)
		if want := len(all) - len(deviates); len(got) != want {
			t.Errorf("deviating %v: %d bad requests, want %d", deviates, len(got), want)
		}
		for _, b := range got {
			if _, ok := deviates[b.what]; ok {
				t.Errorf("%q is sent", b.what)
			}
		}
	}
	if Explain(bodyOverLimit) == "" {
		t.Error("stack.yaml may not name it")
	}
}

func TestRightOnTheNextRequest(t *testing.T) {
	var request service.Message
	service.Make(service.Echo, 1, 10, service.Width{}, &request)
	right, err := service.NewChecker(service.Echo, &request)
	if err != nil {
		t.Fatal(err)
	}
	good := codec.Append(codec.JSON, nil, service.Echo, true, &request)
	if err := (reply{answered: true, body: good}).right(codec.JSON, service.Echo, right); err != nil {
		t.Error(err)
	}
	packed := zipped(codec.Append(codec.XML, nil, service.Echo, true, &request))
	if err := (reply{answered: true, body: packed}).right(codec.XMLGzip, service.Echo, right); err != nil {
		t.Error(err)
	}
	service.Make(service.Echo, 2, 10, service.Width{}, &request)
	for what, r := range map[string]reply{
		"another text": {answered: true, body: codec.Append(codec.JSON, nil, service.Echo, true, &request)},
		"no message":   {answered: true, body: []byte("OK")},
		"a refusal":    {refused: true, body: good},
	} {
		if err := r.right(codec.JSON, service.Echo, right); err == nil {
			t.Errorf("%s is taken for the right answer", what)
		}
	}
}

// What is sent as bad is bad in each encoding, of each service: half of an empty message is a good one.
func TestBadRequestsAreBad(t *testing.T) {
	for _, enc := range codec.Encodings() {
		if slices.Contains(codec.Compact(), enc) {
			continue // has its own: TestCompactBads
		}
		for _, name := range service.Names() {
			var m service.Message
			service.Make(name, messageSeed, 64, service.Width{}, &m)
			good := codec.Append(enc, nil, name, false, &m)
			for _, b := range reallyBad(badRequests(enc, good), good) {
				if b.contentType == "" && len(b.body) <= bodyLimit && codec.Decode(enc, b.body, name, false, &m) == nil {
					t.Errorf("%s %s: %s is a good message: %.100q", enc, name, b.what, b.body)
				}
			}
			for _, b := range truncatedBodies(good) {
				if len(b.body) <= bodyLimit && len(good) == 0 {
					t.Errorf("%s %s: %s, of a message without a byte", enc, name, b.what)
				}
			}
		}
	}
}

// An answer is canonical if its bytes are what the contract writes, also where nobody knows the reading beforehand,
// and where the service keeps data.
func TestCanonicalAnswers(t *testing.T) {
	for _, name := range service.Names() {
		var request, answer service.Message
		service.Make(name, messageSeed, messageN, service.Width{}, &request)
		keep := func(data, back []byte) ([]byte, error) { return append(back, data...), nil }
		sensor := func() (int64, int64, error) { return 2150, 1700000000000, nil }
		if err := service.Answer(name, &request, &answer, service.Env{Keep: keep, Sensor: sensor}); err != nil {
			t.Fatal(err)
		}
		right := codec.Append(codec.JSON, nil, name, true, &answer)
		spaced := bytes.Replace(right, []byte(":"), []byte(": "), 1)
		for _, got := range [][]byte{right, spaced} {
			want, err := canonicalAnswer(codec.JSON, name, &request, got)
			if err != nil || !bytes.Equal(want, right) {
				t.Errorf("%s: of %s the contract writes %q: %v", name, got, want, err)
			}
		}
	}
}
