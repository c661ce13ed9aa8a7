package codec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// A row of the table is all that an encoding needs.
func TestAnAddedEncodingIsSeen(t *testing.T) {
	before := Table
	t.Cleanup(func() { Table = before })
	Table = append(slices.Clone(Table),
		Row{Name: "soap-new", Syntax: XMLText, Media: "application/new; charset=utf-8", Format: 4711, Action: ActionHeader,
			soap: &soap11, codec: soap11.codec("soap-new")},
		Row{Name: "soap-new-small", Syntax: Gzip, Base: "soap-new", Media: "application/small", Format: 4712,
			Action: ActionOfMediaType, soap: &soap12})
	const enc, small = Encoding("soap-new"), Encoding("soap-new-small")

	if e, err := Parse("soap-new"); e != enc || err != nil || !slices.Contains(Encodings(), enc) {
		t.Errorf("not among the encodings: %v, %v", Encodings(), err)
	}
	if _, err := Parse("nothing"); err == nil || !strings.Contains(err.Error(), "soap-new") {
		t.Errorf("%v does not offer it", err)
	}
	if _, err := Parse("soap-new-small"); err == nil || slices.Contains(Encodings(), small) ||
		!slices.Contains(Compact(), small) {
		t.Errorf("has no codec and is compact: got %v, encodings %v, compact %v", err, Encodings(), Compact())
	}
	for _, x := range []struct {
		enc                       Encoding
		request, response, action string
		format                    uint16
		base                      Encoding
		gzipped                   bool
		envelope                  string
		sender                    int
	}{
		{enc, "application/new; charset=utf-8", "application/new; charset=utf-8",
			`"urn:edgegauge:services:1/io"`, 4711, enc, false, soap11.space, 500},
		{small, `application/small; action="urn:edgegauge:services:1/io"`, "application/small",
			"", 4712, enc, true, soap12.space, 400},
	} {
		if r, a := x.enc.MediaType(service.IO, false), x.enc.MediaType(service.IO, true); r != x.request || a != x.response {
			t.Errorf("%s: media types %s and %s, want %s and %s", x.enc, r, a, x.request, x.response)
		}
		if got := x.enc.SOAPAction(service.IO); got != x.action || !x.enc.Takes(x.request) {
			t.Errorf("%s: action %s, want %s; takes its own: %v", x.enc, got, x.action, x.enc.Takes(x.request))
		}
		if n, ok := x.enc.ContentFormat(); n != x.format || !ok || x.enc.Base() != x.base || x.enc.Gzipped() != x.gzipped {
			t.Errorf("%s: format %d, base %s, gzipped %v", x.enc, n, x.enc.Base(), x.enc.Gzipped())
		}
		status := (&Fault{Code: Sender}).Status(x.enc)
		if !x.enc.SOAP() || x.enc.EnvelopeNamespace() != x.envelope || status != x.sender {
			t.Errorf("%s: SOAP %v, envelopes in %s, a sender's fault with %d",
				x.enc, x.enc.SOAP(), x.enc.EnvelopeNamespace(), status)
		}
	}

	req, _ := exchange(t, service.Monitor, 7, 23, service.Width{})
	var got service.Message
	if err := Decode(enc, Append(enc, nil, service.Monitor, false, req), service.Monitor, false, &got); err != nil {
		t.Error(err)
	}
	if string(got.Record.Message) != string(req.Record.Message) {
		t.Errorf("got %q, want %q", got.Record.Message, req.Record.Message)
	}
	fault := new(Fault)
	err := Decode(enc, AppendFault(enc, nil, &Fault{Sender, "x"}), service.Monitor, true, &got)
	if !errors.As(err, &fault) || fault.Reason != "x" {
		t.Errorf("got %v, want the fault", err)
	}
}

// Rows of what does not go together would be read as something else.
func TestTheTableIsSound(t *testing.T) {
	seen := map[Encoding]bool{}
	for _, r := range Table {
		if seen[r.Name] || r.Name == "" {
			t.Errorf("%q stands twice", r.Name)
		}
		seen[r.Name] = true
		base, ok := Find(r.Base)
		switch {
		case r.Media == "" || r.Format == 0:
			t.Errorf("%s: no media type or content format", r.Name)
		case r.Base != "" && (!ok || base.Syntax != XMLText || base.codec.append == nil || base.soap != r.soap):
			t.Errorf("%s: is a form of %q, which is not XML text of the same SOAP", r.Name, r.Base)
		case (r.Base != "") != (r.Syntax == Gzip || r.Syntax == EXIBits || r.Syntax == Infoset1):
			t.Errorf("%s: syntax %d with base %q", r.Name, r.Syntax, r.Base)
		case (r.codec.append == nil) != (r.codec.decode == nil):
			t.Errorf("%s: half a codec", r.Name)
		case (r.codec.fault != nil) != (r.soap != nil && r.codec.append != nil):
			t.Errorf("%s: faults are of SOAP, and all of SOAP has them", r.Name)
		case r.Action != NoAction && r.soap == nil:
			t.Errorf("%s: an action without SOAP", r.Name)
		}
	}
}
