package lab

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// monitorLetters is the length of monitor's message where a study gives no n.
const monitorLetters = 16

// messageOf is the message that a trial sends.
func messageOf(p study.Trial) (stack.Message, error) {
	s := p.Setup
	m := stack.Message{Seed: p.MessageSeed, N: s.N}
	w, err := width(s.Options)
	if err != nil {
		return m, err
	}
	m.Letters, m.Max = w.Letters, w.Max
	if s.Service == string(service.Monitor) && m.N == 0 {
		m.N = monitorLetters
	}
	if s.Size > 0 && s.Service != string(service.Temperature) { // whose request is always the same
		m.N, err = service.SizeToN(service.Name(s.Service), m.Seed, int(s.Size), w)
	}
	return m, err
}

// MessageOptions are the options that a study may give any stack: the lab itself
// reads them.
func MessageOptions() []string { return []string{"letters", "max"} }

// width reads the two message parameters of studies that repeat published sizes.
func width(options map[string]string) (w service.Width, err error) {
	letters, err := wholeNumber(options, "letters")
	if w.Letters = int(letters); err != nil {
		return w, err
	}
	most, err := wholeNumber(options, "max")
	if w.Max = uint64(most); err != nil || most < 0 {
		return w, cmp.Or(err, fmt.Errorf("options.max %d is negative; write a number, or 0 for 100000", most))
	}
	if err := w.Check(); err != nil {
		return w, fmt.Errorf("options: %w", err)
	}
	return w, nil
}

// wholeNumber is what an option says; 0 where it is not given.
func wholeNumber(options map[string]string, name string) (int64, error) {
	text, ok := options[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	if err != nil {
		err = fmt.Errorf("options.%s %q is not a whole number; write digits only, such as 100", name, text)
	}
	return n, err
}
