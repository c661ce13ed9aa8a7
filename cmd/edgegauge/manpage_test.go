package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The page of each verb names its flags and the verbs below it, and troff takes no line of a text for a request.
func TestManualPages(t *testing.T) {
	var verbs int
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		verbs++
		c.InitDefaultHelpFlag()
		page := manualPage(c, time.Unix(0, 0).UTC())
		for _, line := range strings.Split(page, "\n") {
			request, _, _ := strings.Cut(line, " ")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") &&
				!slices.Contains([]string{".TH", ".nh", ".SH", ".PP", ".TP", ".nf", ".fi"}, request) {
				t.Errorf("%s: not a request: %s", c.CommandPath(), line)
			}
		}
		plain := strings.ReplaceAll(page, `\-`, "-")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if got := strings.Contains(plain, `\fB--`+f.Name+`\fR`); got == f.Hidden {
				t.Errorf("%s: --%s: on the page: %v, hidden: %v", c.CommandPath(), f.Name, got, f.Hidden)
			}
		})
		for _, below := range c.Commands() {
			if told(below) {
				look(below)
				if !strings.Contains(plain, `\fB`+manualName(below)+`(1)\fR`) {
					t.Errorf("%s: nothing of %s", c.CommandPath(), below.Name())
				}
			}
		}
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	look(root)
	if verbs < 40 {
		t.Errorf("only %d verbs", verbs)
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		"a-b":                 `a\-b`,
		`C:\x`:                `C:\ex`,
		".so it is\n'quoted'": `\&.so it is` + "\n" + `\&'quoted'`,
		"3.5 'x'":             "3.5 'x'",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"One.\n\nTwo\nlines.":      "One.\n.PP\nTwo\nlines.",
		"One.\n\nList:\n  0  done": "One.\n.PP\n.nf\nList:\n  0  done\n.fi",
	} {
		if got := paragraphs(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
