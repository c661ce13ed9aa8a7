package link

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"edgegauge.example/edgegauge/links"
)

func TestProfilesOfTheProgram(t *testing.T) {
	all, err := Load(links.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ethernet", "wifi", "lte-m", "nb-iot", "802.15.4", "gprs", "gsm-9600"} {
		p, ok := all[name]
		if !ok {
			t.Errorf("no profile %s", name)
			continue
		}
		if p.Name != name || p.Up.Rate == 0 || p.Down.Rate == 0 || p.MTU == 0 || p.Title == "" {
			t.Errorf("got %+v", p)
		}
		for _, f := range p.Figures {
			if len(f.Source) < 7 {
				t.Errorf("%s %s: source %q says nothing", name, f.Key, f.Source)
			}
		}
	}
	if n := all["nb-iot"]; n.Up.Rate != 62_000 || n.Down.Rate != 26_000 || n.Up.Delay != 420*time.Millisecond ||
		n.MTU != 1358 {
		t.Errorf("nb-iot: got %+v", n)
	}
	if n := all["802.15.4"]; n.Down.Loss != 0.01 || n.Up.Overhead != 73 || n.Up.Frame != 104 || n.Up.Queue != 8 {
		t.Errorf("802.15.4: got %+v", n)
	}
	if n := all["gprs"]; n.Up.Rate != 26_800 {
		t.Errorf("gprs: got %+v", n)
	}
}

func TestBrokenProfiles(t *testing.T) {
	file := func(s string) fstest.MapFS { return fstest.MapFS{"x.yaml": {Data: []byte(s)}} }
	for _, tt := range []struct{ text, want string }{
		{"title: x\nboth: {delay: {value: 1ms}}", "delay names no source"},
		{"title: x\nboth: {delay: {value: 1, source: y}}", `delay "1"`},
		{"title: x\nup: {rate: {value: 60k, source: y}}", "such as 60kbit"},
		{"title: x\nup: {rate: {value: 0.5bit, source: y}}", "write 1bit to"},
		{"title: x\nup: {jitter: {value: 1ms, source: y}}", "unknown key"},
		{"both: {}", "title is missing"},
		{"title: x\ndown: {loss: {value: 500%, source: y}}", "not a probability"},
		{"title: x\nmtu: {value: 100, source: y}", "1280"},
		{"title: x\nup: {order: {value: any, source: y}}", "write kept or free"},
		{"title: x\nup: {order: {value: free, source: y}, delay: {value: 1ms, source: y}}",
			"only a spread lets packets overtake"},
		{"title: x\nspeed: 1", "speed"},
		{"title: [", ""},
	} {
		if _, err := Load(file(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "links/x.yaml") {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

// A user's folder hides the program's profile, and one broken file no other.
func TestUsersProfiles(t *testing.T) {
	mine := fstest.MapFS{
		"ethernet.yaml": {Data: []byte("title: mine\nup: {loss: {value: 0.5, source: wish}}")},
		"broken.yaml":   {Data: []byte("title: [")},
	}
	all, err := Load(links.Files, mine)
	if err == nil || !strings.Contains(err.Error(), "broken.yaml") {
		t.Errorf("got %v, want a word on broken.yaml", err)
	}
	if p := all["ethernet"]; p.Title != "mine" || p.Up.Loss != 0.5 || p.Down.Loss != 0 {
		t.Errorf("got %+v", p)
	}
	if len(all) != 7 {
		t.Errorf("got %d profiles, want 7", len(all))
	}
}
