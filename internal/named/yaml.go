package named

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/lazy"
)

// InWords is an error of the YAML library in words of the file: the line, what is wrong with it, and what to do. The
// library's own speak of the Go value that it reads into.
func InWords(err error) error {
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &many):
		var all []string
		for _, e := range many.Errors {
			all = append(all, valueInWords(e))
		}
		return errors.New(strings.Join(all, "; "))
	case errors.As(err, &one):
		return fmt.Errorf("line %d: not YAML: %s; check the indentation, quotes and brackets of this line and the one before",
			one.Mark.Line, one.Message)
	}
	return err
}

var (
	noField = lazy.Regexp(`^field (.*) not found in type `)
	noValue = lazy.Regexp("^cannot construct !!(\\w+)(?: `(?s:(.*))`)? into (.*)")
)

// valueInWords is an error of one value.
func valueInWords(e *yaml.LoadError) string {
	what := strings.TrimPrefix(e.Message, "yaml: ")
	if strings.Contains(what, "no documents") {
		return "the file is empty; write its keys and values"
	}
	if m := noField().FindStringSubmatch(what); m != nil {
		what = fmt.Sprintf("there is no key %q here; correct or remove it", m[1])
	} else if m := noValue().FindStringSubmatch(what); m != nil {
		is := fmt.Sprintf("%q", m[2])
		switch m[1] {
		case "map":
			is = "a mapping"
		case "seq":
			is = "a list"
		}
		what = is + " is not " + kind(m[3])
	}
	if strings.Contains(what, "already defined at") {
		what += "; remove one"
	}
	return fmt.Sprintf("line %d: %s", e.Mark.Line, what)
}

// kind is what a file has for a Go type, and how it is written.
func kind(of string) string {
	switch {
	case strings.HasPrefix(of, "[]"):
		return "a list; write it between brackets, as in [a, b]"
	case strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"):
		return "a whole number; write digits"
	case strings.HasPrefix(of, "float"):
		return "a number; write one such as 0.5"
	case of == "bool":
		return "yes or no; write true or false"
	case of == "string":
		return "a text; write one, between quotes if it holds a colon"
	}
	return "a mapping; write keys and values, as in {key: value}"
}
