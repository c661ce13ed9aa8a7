package printable

import "testing"

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
