package study

import (
	"regexp"
	"strings"
	"testing"
)

const page = "../../doc/write-a-study.md"

// The examples of the manual are studies, and the manual names every key.
func TestManual(t *testing.T) {
	text := string(read(t, page))
	s, n := schema(t), 0
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1) {
		n++
		if _, err := Parse(page, []byte(m[1]), Vocabulary{}); err != nil {
			t.Errorf("%v in\n%s", err, m[1])
		}
		if err := s.Validate(asJSON(t, []byte(m[1]))); err != nil {
			t.Errorf("schema: %v in\n%s", err, m[1])
		}
	}
	if n < 5 {
		t.Errorf("got %d examples, want 5", n)
	}
	keys := append(knownKeys(), linkKeys...)
	for group, list := range map[string][]key{"design": designKeys, "timeouts": timeoutKeys, "limits": limitKeys,
		"pin": pinKeys} {
		for _, k := range list {
			keys = append(keys, group+"."+k.name)
		}
	}
	for _, k := range keys {
		group := k == "design" || k == "timeouts" || k == "limits" || k == "pin" || k == "options"
		if !group && !strings.Contains(text, "`"+k+"`") {
			t.Errorf("%s does not explain %q", page, k)
		}
	}
}
