package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stat"
)

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
}

// clean makes what strangers wrote harmless to print.
func (k *junitCase) clean() {
	k.Class, k.Name, k.Out = printable.Line(k.Class), printable.Line(k.Name), printable.Line(k.Out)
	for _, text := range []*junitText{k.Failure, k.Skipped} {
		if text != nil {
			text.Message = printable.Line(text.Message)
		}
	}
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// JUnit writes a test case for each condition and treatment: a failure where it
// is met, skipped where it is undecided. Without conditions there is one for
// each figure, none fails, and those that are undecided are skipped.
func (c Compared) JUnit(w io.Writer) error {
	s := junitSuite{Name: "edgegauge compare " + c.Old + " " + c.New}
	if c.Paired {
		s.Name = "edgegauge compare " + c.Dir
	}
	for _, l := range c.Lost {
		k := junitCase{Class: l.Kind(), Name: l.Treatment}
		if l.Verdict() == stat.Confirmed {
			k.Failure = &junitText{l.String()}
			s.Failures++
		} else {
			k.Skipped = &junitText{l.Word() + ": " + l.String()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	for _, f := range c.failures() {
		k := junitCase{Class: f.Kind("failures"), Out: f.String(),
			Name: strings.TrimSpace("requests that " + f.Did() + " " + f.Treatment)}
		switch {
		case f.Verdict == stat.Confirmed:
			k.Failure = &junitText{f.String()}
			s.Failures++
		case f.Rose():
			k.Skipped = &junitText{f.Word() + ": " + f.String()}
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	for _, o := range c.Outcomes {
		x := o.Contrast
		k := junitCase{Class: o.Condition.Text, Name: caseName(x),
			Out: sentence(x) + ": " + outcomeWord(o)}
		switch o.Verdict {
		case stat.Confirmed:
			k.Failure = &junitText{sentence(x)}
			s.Failures++
		case stat.Undecided:
			k.Skipped = &junitText{"undecided: " + whatNext(o)}
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	if len(c.Outcomes) == 0 {
		for _, x := range c.Contrasts {
			k := junitCase{Class: x.Response, Name: caseName(x), Out: sentence(x) + ": " + changeWord(x, c.Margin)}
			if x.Change == advise.Unknown {
				k.Skipped = &junitText{"undecided: " + sentence(x)}
				s.Skipped++
			}
			s.Cases = append(s.Cases, k)
		}
	}
	s.Tests, s.Name = len(s.Cases), printable.Line(s.Name)
	for i := range s.Cases {
		s.Cases[i].clean()
	}
	all := struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}{Suites: []junitSuite{s}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// caseName is a treatment and a side; a study of one treatment has no name for it.
func caseName(x advise.Contrast) string {
	return strings.TrimPrefix(fmt.Sprintf("%s, %s", x.Treatment, x.Side), ", ")
}

func sentence(x advise.Contrast) string {
	of := ""
	if x.Treatment != "" {
		of = " of " + x.Treatment
	}
	return fmt.Sprintf("%s%s at the %s: %s before, %s now, ratio %s (%s)", words(x.Response), of, x.Side,
		Format(x.Old, x.Unit), Format(x.New, x.Unit), ratioText(x.Ratio.Estimate), ratioRange(x.Ratio))
}
