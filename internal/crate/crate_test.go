package crate

import "testing"

// 0000-0002-1825-0097 and 0000-0002-1694-233X are examples of ORCID's own documents.
func TestAuthor(t *testing.T) {
	for text, want := range map[string]Author{
		"Josiah Carberry":                               {"Josiah Carberry", ""},
		"Josiah Carberry <0000-0002-1825-0097>":         {"Josiah Carberry", "0000-0002-1825-0097"},
		" A B <https://orcid.org/0000-0002-1694-233X> ": {"A B", "0000-0002-1694-233X"},
	} {
		if got, err := ParseAuthor(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "<0000-0002-1825-0097>", "A <0000-0002-1825-0098>", "A <me@example.org>"} {
		if got, err := ParseAuthor(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}
