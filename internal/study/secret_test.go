package study

import (
	"fmt"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"a password", "shelly:http://admin:s3cret@192.0.2.1", "shelly:http://admin:xxxxx@192.0.2.1"},
		{"no name", "tasmota:https://:s3cret@plug/", "tasmota:https://:xxxxx@plug/"},
		{"an @ in it", "shelly:http://a:s3@cret@h", "shelly:http://a:xxxxx@h"},
		{"a slash in it", "shelly:http://a:s3/cret@h", "shelly:http://a:xxxxx@h"},
		{"none", "shelly:http://192.0.2.1:8080/", "shelly:http://192.0.2.1:8080/"},
		{"a name only", "shelly:http://admin@h?password=env:PLUG", "shelly:http://admin@h?password=env:PLUG"},
		{"a file with an @", "shelly:http://h?password=file:/home/a@b", "shelly:http://h?password=file:/home/a@b"},
		{"both", "shelly:http://a:s3cret@h?password=file:/a@b", "shelly:http://a:xxxxx@h?password=file:/a@b"},
		{"in the query", "shelly:http://h?user=a&password=s3cret", "shelly:http://h?user=a&password=xxxxx"},
		{"in a list", `[shelly:http://a:s3cret@h,"tasmota:http://b:s3cret2@i"]`,
			`[shelly:http://a:xxxxx@h,"tasmota:http://b:xxxxx@i"]`},
		{"another address", "see http://user:known@example.org", "see http://user:known@example.org"},
		{"hidden before", "shelly:http://a:xxxxx@h", "shelly:http://a:xxxxx@h"},
	} {
		if got := Redact(c.text); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

// A study keeps no password where anybody would print it: not in its settings, its
// plan or its errors.
func TestAPasswordIsHidden(t *testing.T) {
	for _, c := range []struct {
		what, text string
		sets       []string
		bad        bool
	}{
		{"a setting", "client: {meter: 'shelly:http://admin:s3cret@192.0.2.1'}", nil, false},
		{"escaped", `client: {meter: "shelly:http:\/\/admin:s3\u0063ret@192.0.2.1"}`, nil, false},
		{"a factor", "factors: {client.meter: ['shelly:http://a:s3cret@192.0.2.1', 'shelly:http://a:s3cret@192.0.2.2']}", nil,
			false},
		{"a --set", "", []string{"client.meter=shelly:http://admin:s3cret@192.0.2.1"}, false},
		{"a faulty --set", "", []string{"shelly:http://admin:s3cret@192.0.2.1"}, true},
		{"a fault", "link: shelly:http://admin:s3cret@192.0.2.1", nil, true},
		{"a wrong key", "'shelly:http://admin:s3cret@192.0.2.1': 1", nil, true},
		{"two passwords", "client: {meter: shelly:http://a:s3cret@h}\nserver: {meter: shelly:http://a:s3cret2@h}", nil, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			text := "study: s\nservice: monitor\nstack: rest-json\n" + c.text + "\n"
			s, err := Parse("s.yaml", []byte(text), Vocabulary{Links: []string{"none"}}, c.sets...)
			if (err != nil) != c.bad || strings.Contains(fmt.Sprint(err), "s3") {
				t.Fatalf("got %v", err)
			}
			if c.bad {
				return
			}
			if len(s.Passwords) == 0 {
				t.Error("no place where the password stands")
			}
			p, err := Expand(s)
			if err != nil {
				t.Fatal(err)
			}
			spec := p.Trials[0].Setup.Client.Meter
			if secret := s.Secret(spec); !strings.Contains(secret, ":s3cret@") {
				t.Errorf("%s opens %s", spec, secret)
			}
			var csv strings.Builder
			if err := p.WriteCSV(&csv); err != nil {
				t.Fatal(err)
			}
			p.Study.secrets = nil
			all := fmt.Sprintf("%+v %+v %s", p.Study, p.Trials, &csv)
			for _, t := range p.Trials {
				all += fmt.Sprintf("%+v", *t.Setup)
			}
			if strings.Contains(all, "s3cret") {
				t.Errorf("the password is in %s", all)
			}
		})
	}
}
