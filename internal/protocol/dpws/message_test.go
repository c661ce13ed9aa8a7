package dpws

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var desk = Target{EPR: "urn:uuid:1-2", Types: []QName{deviceType, {"urn:a&b", "Lamp"}},
	Scopes: []string{"http://lab.example/floor/2", "ldap:///x"},
	XAddrs: []string{"http://10.0.0.1:80/a&b"}, MetadataVersion: 7}

func TestMessagesAreReadAsWritten(t *testing.T) {
	w := writer{namer: NewNamer(), instance: 9}
	want := Wanted{Types: desk.Types, Scopes: desk.Scopes, Rule: matchStrcmp0}
	probe, _ := w.probe(&want)
	resolve, _ := w.resolve(desk.EPR)
	for _, tt := range []struct {
		b       []byte
		action  string
		targets []Target
	}{
		{w.announce(actionHello, &desk), actionHello, []Target{desk}},
		{w.announce(actionBye, &desk), actionBye, []Target{desk}},
		{w.match(actionProbeMatches, []byte("urn:uuid:q"), &desk), actionProbeMatches, []Target{desk}},
		{w.match(actionResolveMatches, []byte("urn:uuid:q"), &desk), actionResolveMatches, []Target{desk}},
		{probe, actionProbe, nil},
		{resolve, actionResolve, []Target{{EPR: desk.EPR}}},
	} {
		var m message
		if err := m.decode(tt.b); err != nil {
			t.Errorf("%s: %v in %s", tt.action, err, tt.b)
			continue
		}
		if string(m.header.Action) != tt.action || !reflect.DeepEqual(m.targets, tt.targets) {
			t.Errorf("%s: got %s %+v", tt.action, m.header.Action, m.targets)
		}
		if tt.action == actionProbe && !reflect.DeepEqual(m.wanted, want) {
			t.Errorf("got %+v", m.wanted)
		}
		if strings.HasSuffix(tt.action, "Matches") && string(m.header.RelatesTo) != "urn:uuid:q" {
			t.Errorf("%s relates to %q", tt.action, m.header.RelatesTo)
		}
	}
}

// The files were captured from SDCri 6.2.2 on the loopback interface.
func TestMessagesOfOthersAreRead(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.xml")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var m message
		if err := m.decode(b); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if name := filepath.Base(f); strings.Contains(name, "match") &&
			(len(m.targets) != 1 || !strings.HasPrefix(m.targets[0].EPR, "urn:uuid:") || len(m.targets[0].XAddrs) == 0) {
			t.Errorf("%s: got %+v", f, m.targets)
		}
	}
	if len(files) < 2 {
		t.Errorf("%d captured messages", len(files))
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	w := writer{namer: NewNamer()}
	good := string(w.match(actionProbeMatches, []byte("urn:uuid:q"), &desk))
	for what, b := range map[string]string{
		"nothing":  "",
		"garbage":  "\x00\xff garbage",
		"SOAP 1.1": strings.ReplaceAll(good, soapSpace, "http://schemas.xmlsoap.org/soap/envelope/"),
		"cut":      good[:len(good)-30],
		"no message ID": good[:strings.Index(good, "<wsa:MessageID>")] +
			good[strings.Index(good, "</wsa:MessageID>")+16:],
		"two actions":    strings.Replace(good, "<wsa:MessageID>", "<wsa:Action>x</wsa:Action><wsa:MessageID>", 1),
		"another's body": strings.ReplaceAll(good, "ProbeMatches>", "ResolveMatches>"),
		"no body":        good[:strings.Index(good, "<soap:Body>")] + "</soap:Envelope>",
		"an unknown must": strings.Replace(good, "<wsa:MessageID>",
			`<x xmlns="urn:x" soap:mustUnderstand="1"/><wsa:MessageID>`, 1),
		"an undeclared type": strings.Replace(good, ">t0:Device", ">t9:Device", 1),
		"a long address":     strings.Replace(good, "http://10.0.0.1:80/", "http://"+strings.Repeat("a", maxURI*65), 1),
		"many addresses":     strings.Replace(good, "http://10.0.0.1:80/", strings.Repeat("http://a/ ", 65), 1),
		"a DTD":              "<!DOCTYPE a>" + good,
	} {
		var m message
		if err := m.decode([]byte(b)); err == nil {
			t.Errorf("%s was read: %+v", what, m)
		}
	}
}

func TestWhatMatches(t *testing.T) {
	lab := Target{Types: []QName{deviceType, lamp}, Scopes: []string{"http://Lab.example/a/b", "ldap:x"}}
	for _, tt := range []struct {
		w    Wanted
		want bool
	}{
		{Wanted{}, true},
		{Wanted{Types: []QName{lamp}}, true},
		{Wanted{Types: []QName{lamp, {"urn:x", "Fan"}}}, false},
		{Wanted{Types: []QName{{"urn:y", "Lamp"}}}, false},
		{Wanted{Scopes: []string{"http://lab.example/a"}}, true},
		{Wanted{Scopes: []string{"http://lab.example/a/b/"}}, true},
		{Wanted{Scopes: []string{"http://lab.example/a/bc"}}, false},
		{Wanted{Scopes: []string{"http://lab.example/A"}}, false}, // paths have case
		{Wanted{Scopes: []string{"http://lab.example/a", "ldap:y"}}, false},
		{Wanted{Scopes: []string{"ldap:x"}}, true},
		{Wanted{Scopes: []string{"http://lab.example/a/b"}, Rule: matchStrcmp0}, false},
		{Wanted{Scopes: []string{"http://Lab.example/a/b"}, Rule: matchStrcmp0}, true},
		{Wanted{Scopes: []string{"ldap:x"}, Rule: "urn:my-rule"}, false},
		{Wanted{Rule: matchNone}, false}, // lab has scopes
	} {
		if got := tt.w.Matches(&lab); got != tt.want {
			t.Errorf("%+v: got %v", tt.w, got)
		}
	}
}

// The seeds captured-* in testdata/fuzz are of real exchanges with other makes, as
// stacks/reference/testdata/capture.py takes them.
func FuzzDiscovery(f *testing.F) {
	w := writer{namer: NewNamer()}
	probe, id := w.probe(&Wanted{Types: desk.Types, Scopes: desk.Scopes})
	f.Add(probe)
	f.Add(w.announce(actionHello, &desk))
	f.Add(w.match(actionProbeMatches, id, &desk))
	files, _ := filepath.Glob("testdata/*.xml")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var counts Counts
		a := NewAnswerer(desk, 1, &counts)
		answer, _ := a.Answer(b)
		if len(answer) > MaxUDPEnvelope {
			t.Fatalf("an answer of %d bytes", len(answer))
		}
		var m message
		if err := m.decode(answer); answer != nil && err != nil {
			t.Fatalf("answer %s: %v", answer, err)
		}
		if err := m.decode(b); err == nil { // what was read can be written and is read alike
			for _, target := range m.targets {
				var again message
				if err := again.decode(w.announce(actionHello, &target)); err != nil ||
					!reflect.DeepEqual(normal(again.targets[0]), normal(target)) {
					t.Fatalf("%+v became %+v, %v", target, again.targets, err)
				}
			}
		}
	})
}

// normal makes empty lists equal to none.
func normal(t Target) Target {
	if len(t.Types) == 0 {
		t.Types = nil
	}
	if len(t.Scopes) == 0 {
		t.Scopes = nil
	}
	if len(t.XAddrs) == 0 {
		t.XAddrs = nil
	}
	return t
}
