package study

import (
	"fmt"
	"strings"
	"testing"
)

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
