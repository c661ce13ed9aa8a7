package study

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// valuesOfAllTypes are what somebody may write as the value of any key.
var valuesOfAllTypes = []string{`5`, `"5"`, `0`, `"0"`, `0.5`, `"0.5"`, `1.5`, `-1`, `"-1"`, `5%`, `"5%"`,
	`"5 %"`, `5e-1`, `"5e-1"`, `5e-1%`, `true`, `"true"`, `false`, `on`, `off`, `"on"`, `name`, `"a b"`, `20ms`,
	`"20ms"`, `"20 ms"`, `1m30s`, `2h`, `100kB`, `"100 kB"`, `1.5MiB`, `9600bit`, `"60 kbit/s"`, `~`, `""`, `" "`,
	`[]`, `[5]`, `[name]`, `["5%"]`, `{}`, `{name: 5}`, `http://127.0.0.1/x`, `100/s`, `"1e3/s"`, `5/s`,
	`env:PSK`, `/path`, `GET`, `"2.05"`, `2.05`}

// places are those of a value, as the last line of a study whose value is %s, with what makes most values sensible
// there.
func places() (out []string) {
	const stack, existing = "service: monitor\nstack: x\n", "server: {url: http://127.0.0.1/x}\n"
	const devices = stack + "devices: 5\nperiod: 10s\nduration: 1m\n"
	for _, key := range []string{"question", "notes", "retries", "failures", "time", "packets", "unavailable",
		"options.mine", "responses", "published", "exclude", "format"} {
		out = append(out, stack+key+": %s")
	}
	for _, name := range settingNames() {
		base := ""
		for line := range strings.Lines(stack) {
			if !strings.HasPrefix(line, name+":") {
				base += line
			}
		}
		out = append(out, base+name+": %s")
	}
	for _, of := range []struct {
		base, what string
		keys       []string
	}{
		{stack, "design", keyNames(designKeys)}, {stack, "timeouts", keyNames(timeoutKeys)},
		{stack, "limits", keyNames(limitKeys)}, {stack, "pin", keyNames(pinKeys)},
		{stack, "link", append(slices.Clone(linkKeys), "shaper", "up", "down")},
		{existing, "request", requestKeyNames()}, {devices, "outage", []string{"at", "for", "share"}},
		{devices, "sleep", []string{"mode", "active", "cycle"}},
		{devices, "reconnect", []string{"first", "factor", "most", "jitter"}},
		{stack, "client", []string{"device", "stack", "meter"}}, {stack, "options", []string{"mine"}},
	} {
		for _, k := range of.keys {
			out = append(out, of.base+of.what+": {"+k+": %s}")
		}
	}
	return out
}

// beyondSchema are what the parser says of a value whose type is right: of its range, of what else the study says, of a
// form that a schema leaves to it.
var beyondSchema = regexp.MustCompile(`without |or more$|out of range|too long| takes a| add up | to [0-9]+[kMGi]*B$|` +
	`write 0,? (to|or)|has a round trip|has no delay|is not a status|write a share between|or [0-9.]+% for |` +
	`is not a (level|name)|needs a|leave it out for|has no packets|cannot|no answer|is for |are for |have no|takes no |` +
	`names (a|one) |does not support|above its most|is no factor|would |at most `)

// An editor with the schema and check agree on the type of each value: neither takes what the other refuses for it.
func TestSchemaAndParserAgreeOnTypes(t *testing.T) {
	s := schema(t)
	judged := 0
	for _, place := range places() {
		for _, value := range valuesOfAllTypes {
			text := "study: s\n" + fmt.Sprintf(place, value) + "\n"
			at := strings.Count(text, "\n")
			_, err := Parse("s.yaml", []byte(text), Vocabulary{})
			var all Errors
			errors.As(err, &all)
			here := slices.DeleteFunc(slices.Clone(all), func(e *Error) bool { return e.Pos.Line != at })
			beyond := slices.ContainsFunc(here, func(e *Error) bool {
				return beyondSchema.MatchString(e.What) || beyondSchema.MatchString(e.Advice)
			})
			refused := s.Validate(asJSON(t, []byte(text)))
			judged++
			if (len(here) == 0) != (refused == nil) && !(beyond && refused == nil) {
				t.Errorf("%s\nparser: %v\nschema: %v", text, errors.Join(err), refused)
			}
		}
	}
	if judged < 4000 {
		t.Errorf("judged %d values", judged)
	}
}
