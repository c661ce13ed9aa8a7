package study

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planned is what a study comes to: its plan, what each trial is, and its design.
func planned(t *testing.T, s Study) string {
	t.Helper()
	p, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	for _, trial := range p.Trials {
		x := trial.Setup
		fmt.Fprintln(&b, x.Requests, x.Duration, x.MinDuration, x.N, x.Size, x.IP, x.Client.Device, x.Options)
	}
	fmt.Fprintln(&b, s.Design, s.Timeouts, s.Question, s.Notes, len(s.Responses))
	return b.String()
}

// What --set changed is in the text afterwards: alone it comes to the same plan, and the rest of it stands as it did.
func TestWriteIn(t *testing.T) {
	text := strings.Replace(overridden, overridden[strings.Index(overridden, "exclude:"):strings.Index(overridden,
		"design:")], "# kept\n", 1)
	for _, sets := range [][]string{nil, {"requests=70"}, {"design.replications=2"}, {"duration=3s"}, {"size=1kB"},
		{"stack=rest-json"}, {"stack=rest-json", "link=none"}, {"factors.n=[10, 20]"}, {"factors.ip=[ipv4, ipv6]"},
		{"client={device: qemu-pi}"}, {"options.chunk=a=b"}, {"link={delay: 3ms}"}, {"timeouts.ready=3s"},
		{"responses=[rtt]"}, {"ip=ipv6", "ip=ipv4"}, {"client.device=local"},
		{`question="yes: [no]"`, "notes='5'"}} {
		out, err := WriteIn([]byte(text), sets...)
		if err != nil {
			t.Errorf("%q: %v", sets, err)
			continue
		}
		if got, want := planned(t, parse(t, string(out))), planned(t, parse(t, text, sets...)); got != want {
			t.Errorf("%q became\n%s: got\n%s, want\n%s", sets, out, got, want)
		}
		if !strings.Contains(string(out), "# kept\n") || !strings.HasPrefix(string(out), "study: a\nservice: sort\n") {
			t.Errorf("%q: the rest changed:\n%s", sets, out)
		}
		if sets == nil && string(out) != text {
			t.Errorf("nothing was set, and it became\n%s", out)
		}
	}
	if _, err := WriteIn([]byte(overridden), "stack=rest-json"); !errors.Is(err, ErrEdit) {
		t.Errorf("an exclusion names the level that went: got %v", err)
	}
	for _, bad := range []string{"requests", "requests=["} {
		if out, err := WriteIn([]byte(text), bad); err == nil {
			t.Errorf("%q became\n%s", bad, out)
		}
	}
}

// Whatever is set: what comes out says what --set said, or there is an error.
func TestWriteInOfStudies(t *testing.T) {
	files, err := filepath.Glob("../../studies/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"requests=7", "design.replications=3", "retries=9"} {
			path, value, _ := strings.Cut(set, "=")
			out, err := WriteIn(text, set)
			if err != nil {
				t.Errorf("%s: %s: %v", file, set, err)
			} else if !strings.Contains(string(out), path[strings.LastIndex(path, ".")+1:]+": "+value) {
				t.Errorf("%s: %s is not in\n%s", file, set, out)
			}
		}
	}
}

// Whatever a text is and whatever is set in it: what comes out is a study alone where it was one with the --set, and of
// as many treatments.
func FuzzWriteIn(f *testing.F) {
	f.Add([]byte(overridden), "requests=70")
	f.Add([]byte(overridden), "factors.stack=[soap, rest-json]")
	f.Add([]byte("study: a\nservice: sort\nstack: soap\nn: 1\n"), "link={delay: 3ms}")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		out, err := WriteIn(text, set)
		if err != nil {
			return
		}
		want, err := Parse("test.yaml", text, vocabulary(), set)
		if err != nil {
			return
		}
		if got, err := Parse("test.yaml", out, vocabulary()); err != nil || got.Treatments() != want.Treatments() {
			t.Errorf("%q with %q became %q: %v", text, set, out, err)
		}
	})
}
