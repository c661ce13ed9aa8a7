package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The answer of a stranger's search is one line without control characters.
func FuzzAnswerOfSearch(f *testing.F) {
	f.Add([]byte(`{"format":1,"says":["The server's capacity is 304 requests/s.","That is …"]}`))
	f.Add([]byte(`{"says":["a\n\u001b[2Jb\ud800"]}`))
	f.Add([]byte(`{"says":[]}`))
	f.Add([]byte(`{"says":[1]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := answerOfSearch(text); strings.ContainsAny(got, "\n\r\x1b") || !utf8.ValidString(got) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
