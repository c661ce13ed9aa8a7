package main

import (
	"bytes"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Colours, as a terminal is told them (ECMA-48, SGR).
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// beginnings are how lines begin that are coloured.
var beginnings = []struct{ text, colour string }{
	{"FAIL ", red}, {"UNFIT ", red}, {"invalid: ", red},
	{"ok   ", green}, {"fit ", green},
	{"doubt ", yellow}, {"warning: ", yellow}, {"hint: ", yellow}, {"CPU starvation: ", yellow},
}

// coloured says whether f is a terminal whose user wants colours (no-color.org).
func coloured(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// paint is f, which colours lines by their beginnings if f is a terminal.
func paint(f *os.File) io.Writer {
	if !coloured(f) {
		return f
	}
	return &painter{w: f, fresh: true}
}

type painter struct {
	w     io.Writer
	fresh bool // at the beginning of a line
}

func (p *painter) Write(b []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		colour := ""
		if p.fresh {
			colour = colourOf(string(line))
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if colour != "" {
			out.WriteString(colour + string(text) + plain)
		} else {
			out.Write(text)
		}
		if p.fresh = ended; ended {
			out.WriteByte('\n')
		}
	}
	if _, err := p.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

func colourOf(line string) string {
	for _, x := range beginnings {
		if strings.HasPrefix(line, x.text) {
			return x.colour
		}
	}
	return ""
}
