package lab

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// A number of a message is all of a text: of "1e3" the first digit was taken.
func TestNumbersOfMessages(t *testing.T) {
	for _, x := range []struct {
		option, text string
		letters      int
		max          uint64
		want         string
	}{
		{"letters", "12", 12, 0, ""},
		{"letters", " 12 ", 12, 0, ""},
		{"max", "1_000_000", 0, 1_000_000, ""},
		{"max", "1e6", 0, 0, `options.max "1e6" is not a whole number; write digits only`},
		{"max", "2.5", 0, 0, "not a whole number"},
		{"letters", "10kB", 0, 0, "not a whole number"},
		{"letters", "-1", 0, 0, "letters -1 is negative"},
		{"max", "-1", 0, 0, "max -1 is negative"},
		{"letters", "", 0, 0, "not a whole number"},
		{"letters", strconv.Itoa(math.MaxInt64), 0, 0, "is above 1 GiB"},
		{"max", "9223372036854775807", 0, 0, "above the largest decimal"},
	} {
		setup := &study.Setup{Service: "concat", Size: 10_000, Options: map[string]string{x.option: x.text}}
		call, err := new(Lab).CallOf(study.Trial{Setup: setup})
		if x.want != "" {
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s %q: got %v, want %q", x.option, x.text, err, x.want)
			}
			continue
		}
		if m := call.Message; err != nil || m.Letters != x.letters || m.Max != x.max || m.N == 0 {
			t.Errorf("%s %q: got %+v, %v", x.option, x.text, m, err)
		}
	}
}

// A size is of the services whose messages have one: temperature's request is always the same.
func TestSizesOfMessages(t *testing.T) {
	for service, least := range map[string]int{"sort": 400, "monitor": 9000, "temperature": 0} {
		call, err := new(Lab).CallOf(study.Trial{Setup: &study.Setup{Service: service, Size: 10_000}})
		if n := call.Message.N; err != nil || n < least || least == 0 && n > 0 {
			t.Errorf("%s of 10 kB: n %d, %v, want at least %d", service, n, err, least)
		}
	}
}
