package printable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a terminal obeys or hides is shown; what it shows stays.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain, µ × 漢 é\tand\nlines":  "plain, µ × 漢 é\tand\nlines",
		"\x1b[2J\x1b]0;title\x07":     `\u001b[2J\u001b]0;title\u0007`,
		"a\rb\x7f\x00":                `a\u000db\u007f\u0000`,
		"\u009b31m \u0085":            `\u009b31m \u0085`,
		"a\u202eb\u2066c\u200fd":      `a\u202eb\u2066c\u200fd`,
		"zero\u200bwidth\ufeff\u2028": `zero\u200bwidth\ufeff\u2028`,
		"\xff\xc3 \x9b31m":            `\u00ff\u00c3 \u009b31m`,
		"tag \U000E0041":              `tag \udb40\udc41`,
		"\uFFFD stays":                "\uFFFD stays",
	} {
		want = strings.NewReplacer("\u009b", `\u009b`, "\u0085", `\u0085`).Replace(want)
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "coap": "coap", "-1.5": "-1.5", "+1e3": "+1e3", "1": "1", "a=b": "a=b",
		"=cmd|'/c calc'!A0": "'=cmd|'/c calc'!A0", "@SUM(A1)": "'@SUM(A1)", "+1+1": "'+1+1", "-1+1": "'-1+1",
		"\tx": "'\tx", "\r=1": `\u000d=1`, "＝1+1": "'＝1+1", "-": "'-",
	} {
		if got := Cell(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A shell reads each as one word, and as it is.
func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"results/s/001": "results/s/001", "factors.n=5": "factors.n=5", "": "''", "my stacks": "'my stacks'",
		"it's": `'it'\''s'`, "$(rm x)": "'$(rm x)'", "~/x": "'~/x'", "a\nb": "'a\nb'", "é": "'é'",
		"\x1b[m\xff'é\\n\n1": `$'\033[m\377\'\303\251\\n\0121'`,
	} {
		if got := Quoted(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// However the text is cut into writes, the same comes out, and no harm in it.
func FuzzText(f *testing.F) {
	f.Add("a\x1b[2Jµ漢\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		want := Text(s)
		if !clean(want) || Text(want) != want {
			t.Fatalf("%q became %q", s, want)
		}
		if cut = cut % (len(s) + 1); cut < 0 {
			cut = -cut
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		w.Write([]byte(s[:cut]))
		w.Write([]byte(s[cut:]))
		if utf8.ValidString(s) && b.String() != want {
			t.Fatalf("%q cut at %d: got %q, want %q", s, cut, b.String(), want)
		}
		if utf8.ValidString(s) {
			quoted, _ := json.Marshal(s)
			var back string
			if err := json.Unmarshal([]byte(Text(string(quoted))), &back); err != nil || back != s {
				t.Fatalf("JSON of %q reads back as %q: %v", s, back, err)
			}
		}
	})
}
