package kerneltest

import (
	"os"
	"strings"
	"testing"
)

// Made is what a page has between "<!-- made by: COMMAND -->" and the next "<!-- end -->", and what writes that anew.
func Made(t testing.TB, page, command string) (old string, write func(made string)) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- made by: "+command+" -->\n", "<!-- end -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for what %q makes", page, command)
	}
	return old, func(made string) {
		t.Helper()
		if err := os.WriteFile(page, []byte(head+begin+made+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
