package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// writeManualPages writes the page of a verb and of those below it into a folder: man(7).
func writeManualPages(c *cobra.Command, dir string, day time.Time) error {
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	for _, below := range c.Commands() {
		if !told(below) {
			continue
		}
		if err := writeManualPages(below, dir, day); err != nil {
			return err
		}
	}
	return putFile(filepath.Join(dir, manualName(c)+".1"), func(w io.Writer) error {
		_, err := io.WriteString(w, manualPage(c, day))
		return err
	})
}

// told says whether help and manual name a verb.
func told(c *cobra.Command) bool { return c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() }

// manualName is the name of a verb's page: edgegauge-stacks-new.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage is a verb's.
func manualPage(c *cobra.Command, day time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q \"1\" %q %q \"edgegauge\"\n.nh\n", strings.ToUpper(manualName(c)), day.Format("Jan 2006"),
		"edgegauge "+version())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manualName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", bold(c.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", paragraphs(cmp.Or(c.Long, c.Short)))
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS INHERITED FROM PARENT COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLE\n%s\n", asItStands(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, bold(manualName(c.Parent())+"(1)"))
	}
	for _, below := range c.Commands() {
		if told(below) {
			also = append(also, bold(manualName(below)+"(1)"))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ", "))
	}
	return b.String()
}

// options are a section of flags.
func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + roff(kind)
		}
		if !slices.Contains([]string{"", "[]", "false", "0", "0s"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
	})
}

// paragraphs sets a text: what is indented, and a list below a line, stands as it is.
func paragraphs(text string) string {
	var set []string
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if strings.Contains(p, "\n ") {
			p = asItStands(p)
		} else {
			p = roff(p)
		}
		set = append(set, p)
	}
	return strings.Join(set, "\n.PP\n")
}

func asItStands(text string) string { return ".nf\n" + roff(text) + "\n.fi" }

func bold(text string) string { return `\fB` + roff(text) + `\fR` }

// roff keeps troff from reading a text as its own: escapes, hyphens that are none, and lines of requests.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
