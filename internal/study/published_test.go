package study

import (
	"strings"
	"testing"
)

func TestPublishedMapping(t *testing.T) {
	const head = "study: a\nservice: sort\nfactors:\n  stack: [soap, rest-json]\n  size: [100kB, 500kB]\n"
	v := vocabulary()
	v.Published = map[string][]string{"pies": {"framework", "message_kb"}}
	for _, c := range []struct{ words, text, want string }{
		{"a name alone", "published: pies\n", ""},
		{"columns by factor, by levels and by setting",
			"published:\n  table: pies\n  columns: {framework: stack, message_kb: {size: {100kB: 100, 500kB: 500}}}\n  " +
				"responses: {energy: server.energy}\n  differs: one machine\n", ""},
		{"no such table", "published: {table: pie}\n", `no published table "pie"; did you mean pies?`},
		{"no table", "published: {differs: all}\n", "published names no table; write table: NAME"},
		{"no such column", "published: {table: pies, columns: {frame: stack}}\n", `table pies has no column "frame"`},
		{"no such factor", "published: {table: pies, columns: {framework: link}}\n",
			`the study neither varies nor fixes "link"`},
		{"no such level", "published: {table: pies, columns: {message_kb: {size: {100KB: 100}}}}\n",
			`factor "size" has no level "100KB"; did you mean 100kB?`},
		{"no such response", "published: {table: pies, responses: {energy: joules}}\n", `no response "joules"`},
		{"a list", "published: {table: pies, columns: [stack]}\n", "columns is a list; write a mapping"},
	} {
		_, err := Parse("test.yaml", []byte(head+c.text), v)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.words, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.words, err, c.want)
		}
	}
	// What a --set took away is not missed.
	full := head +
		"published:\n  table: pies\n  columns: {framework: stack, message_kb: {size: {100kB: 100, 500kB: 500}}}\n"
	for _, set := range []string{"size=100kB", "factors.stack=[soap, rest-protobuf]", "factors.size=[100kB, 1MB]"} {
		if _, err := Parse("test.yaml", []byte(full), v, set); err != nil {
			t.Errorf("--set %s: %v", set, err)
		}
	}
}
