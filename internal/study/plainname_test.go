package study

import (
	"strings"
	"testing"
)

// The advice for a name lists the characters that names may have, no more and no fewer.
func TestNamesHaveTheCharactersAdvised(t *testing.T) {
	for c := rune(' '); c < 0x7f; c++ {
		plain := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		first, within := plain || strings.ContainsRune("._-/:@+", c), plain || strings.ContainsRune(plainSigns, c)
		if got := plainName.MatchString(string(c)); got != first {
			t.Errorf("%q as the first: %v", c, got)
		}
		if got := plainName.MatchString("a" + string(c) + "b"); got != within {
			t.Errorf("%q within: %v", c, got)
		}
	}
	for name, want := range map[string]string{
		"a;b": "use letters, digits, spaces and any of . _ - / : @ + = % , on one line",
		"=a":  "begin it with a letter, a digit or any of . _ - / : @ +",
	} {
		_, err := Parse("a.yaml", []byte("study: a\nservice: echo\nn: 1\nfactors: {x: [{name: '"+name+"', n: 2}]}\n"),
			Vocabulary{})
		if err == nil || !strings.Contains(err.Error(), "is not a name; "+want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}
