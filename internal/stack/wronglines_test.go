package stack

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// What is wrong with a line is said: which field, its value, and what it takes; or that stdout is for no other text.
func TestWrongLinesSayWhatIsWrong(t *testing.T) {
	const sound = `{"type":"exchange","seq":3,"processing":1622,"total":2000,"in":1,"out":1}`
	for line, want := range map[string]string{
		strings.Replace(sound, "1622", "1622.5", 1): `"processing" is 1622.5, and must be a whole number (times in ns, `,
		strings.Replace(sound, "1622", `"x"`, 1):    `"processing" is "x", and must be a whole number`,
		strings.Replace(sound, ":3", ":-3", 1):      `"seq" is -3, and must be a whole number from 1`,
		sound[:len(sound)-1] + `,"failure":7}`:      `"failure" is 7, and must be a text`,
		sound[:len(sound)-1]:                        "is no JSON; stdout belongs to the protocol alone",
	} {
		var x measure.Exchange
		err := parseExchange([]byte(line), &x)
		if !errors.Is(err, errNotProtocol) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	for line, want := range map[string]string{
		"got request": `"got request" is no JSON; stdout belongs to the protocol alone: print what people are to read on stderr`,
		"":            `"" is no JSON`, "[]": `"[]" is no object`, "7": `"7" is no object`, "{}": `"{}" has no "type"`,
		`{"type":"end","count":"three"}`: `"count" has a wrong type of value (string)`,
	} {
		if _, err := parseHeader([]byte(line)); !errors.Is(err, errNotProtocol) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
