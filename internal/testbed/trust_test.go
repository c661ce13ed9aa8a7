package testbed

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// What a plan runs and sends needs no consent where the user of this very command line gave the override that names
// it, and does where the study gave it, or an override that was kept with results or came with an order.
func TestOnlyWhatTheUserGaveIsTrusted(t *testing.T) {
	dir := t.TempDir()
	recorder(t, filepath.Join(dir, "mine", "recorder"), filepath.Join(dir, "told"))
	recorder(t, filepath.Join(dir, "stacks", "theirs"), filepath.Join(dir, "told"))
	b := bed(t, filepath.Join(dir, "mine"))
	b.Options.Stacks = append(b.Options.Stacks, Folder{Path: filepath.Join(dir, "stacks")})
	const plain = "stack: recorder\nsensor: fixed:20\n"
	const service = "server: {url: 'http://127.0.0.1:1/'}\nrequest: {headers: {Authorization: 'env:KEY'}}\n"
	const plug = "shelly:http://127.0.0.1:9"
	for _, c := range []struct {
		what, text  string
		kept, given []string
		asks        string // empty: nothing
	}{
		{"nothing", plain, []string{"requests=5"}, nil, ""},
		{"a program of the study", "stack: recorder\nsensor: 'program:touch ran'\n", nil, nil,
			"s.yaml:5:9: sensor runs touch ran"},
		{"kept", plain, []string{"requests=5", "sensor=program:touch ran"}, nil, "override 2: sensor runs touch ran"},
		{"given", plain, nil, []string{"sensor=program:touch ran"}, ""},
		{"given with spaces", plain, nil, []string{" sensor = program:touch ran "}, ""},
		{"kept, and another given", plain, []string{"sensor=program:touch ran"}, []string{"requests=5"},
			"override 1: sensor runs touch ran"},
		{"kept, and given in its place", plain, []string{"sensor=program:touch ran"}, []string{"sensor=program:true"}, ""},
		{"a meter kept", plain, []string{"client.meter=exec:reader"}, nil, "override 1: client.meter runs reader"},
		{"a meter given", plain, nil, []string{"client.meter=exec:reader"}, ""},
		{"levels kept", plain, []string{"factors.sensor=[fixed:20, 'program:touch ran']"}, nil,
			"override 1: sensor runs touch ran"},
		{"a stack kept", plain, []string{"stack=theirs"}, nil, "override 1: stack theirs in "},
		{"a stack given", plain, nil, []string{"stack=theirs"}, ""},
		{"a stack beside one that is given", "client: {stack: theirs}\nserver: {stack: theirs}\nsensor: fixed:20\n", nil,
			[]string{"server.stack=recorder"}, "s.yaml:4:17: stack theirs in "},
		{"a request to a URL that is given", service, nil, []string{"server.url=http://127.0.0.1:2/"},
			"request sends the environment variable KEY to http://127.0.0.1:2/"},
		{"a request that is kept", service, []string{"request={headers: {Cookie: 'env:COOKIE'}}"},
			[]string{"server.url=http://127.0.0.1:2/"}, "override 1: request sends the environment variable COOKIE to "},
		{"a request that is given", service, nil,
			[]string{"request={headers: {Cookie: 'env:COOKIE'}}", "server.url=http://127.0.0.1:2/"}, ""},
		{"a password of this machine", plain + "client: {meter: '" + plug + "?password=file:/etc/key'}\n", nil, nil,
			"client.meter sends the file /etc/key to 127.0.0.1:9"},
		{"one that looks like a password in the address", plain + "client: {meter: '" +
			"shelly:http://plug:?password=file:/etc/key#@'}\n", nil, nil, "client.meter sends the file /etc/key to plug:"},
	} {
		text := "study: s\nservice: temperature\nresponses: [rtt]\n" + c.text
		if c.text == service {
			text = "study: s\nresponses: [rtt]\n" + c.text
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte(text), append(c.kept, c.given...)...)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		asks := b.Foreign(p, c.given...)
		if c.asks == "" && asks != nil || !strings.Contains(asks.Error(), c.asks) {
			t.Errorf("%s: asks for %q, want %q", c.what, asks, c.asks)
		}
		r := Request{Plan: p, Text: []byte(text), Out: filepath.Join(t.TempDir(), "out"), Given: c.given, Here: true}
		e, err := b.OpenShared(t.Context(), r)
		if errors.As(err, new(*Untrusted)) != (c.asks != "") || c.asks == "" && err != nil {
			t.Errorf("%s: benches of this machine: got %v", c.what, err)
		}
		if err == nil {
			e.Close()
		}
		if c.text == service { // needs --trust on a bench elsewhere, whoever gave it
			continue
		}
		if err := (&Station{Bed: b, Trust: true}).allows(p); err != nil {
			t.Errorf("%s: a bench that trusts says %v", c.what, err)
		}
		if err := (&Station{Bed: b}).allows(p); (err == nil) != (c.what == "nothing") ||
			err != nil && !strings.Contains(err.Error(), "start its worker with --trust") {
			t.Errorf("%s: a bench says to a coordinator elsewhere %v", c.what, err)
		}
	}
}

// Of what is to be reviewed nothing is left out, however much it is.
func TestAllThatIsForeignIsListed(t *testing.T) {
	u := &Untrusted{}
	for i := range 2 * study.MostShown {
		u.Runs = append(u.Runs, &study.Error{Pos: study.Pos{File: "s.yaml", Line: i + 1, Col: 1}, What: "sensor runs it"})
	}
	if n := strings.Count(u.Error(), "sensor runs it\n"); n != 2*study.MostShown {
		t.Errorf("%d of %d are listed", n, 2*study.MostShown)
	}
}
