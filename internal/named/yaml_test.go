package named

import (
	"regexp"
	"testing"

	"go.yaml.in/yaml/v4"
)

// What is wrong with a file is said in its own words: with the line, what to do, and nothing of Go.
func TestYAMLErrorsAreOfTheFile(t *testing.T) {
	for in, want := range map[string]string{
		"title: x\nl: [{a: [b]}]\nm: {a: 1}\nn: 1\nb: true\np: {x: 0.5}\n": "",
		"title: [\n": "line 2: not YAML: did not find expected node content; check the indentation, quotes and brackets of " +
			"this line and the one before",
		"bogus: 1\nn: x\n": `line 1: there is no key "bogus" here; correct or remove it; line 2: "x" is not a whole number; write digits`,
		"\nl: x\n":         `line 2: "x" is not a list; write it between brackets, as in [a, b]`,
		"l: [{a: 3}]\n":    `line 1: "3" is not a list; write it between brackets, as in [a, b]`,
		"m: [1]\n":         "line 1: a list is not a mapping; write keys and values, as in {key: value}",
		"p: 4\n":           `line 1: "4" is not a mapping; write keys and values, as in {key: value}`,
		"p: {x: a}\n":      `line 1: "a" is not a number; write one such as 0.5`,
		"b: 7\n":           `line 1: "7" is not yes or no; write true or false`,
		"title: {a: 1}\n":  "line 1: a mapping is not a text; write one, between quotes if it holds a colon",
		"":                 "the file is empty; write its keys and values",
		"n: 1\nn: 2\n":     `line 2: mapping key "n" already defined at line 1; remove one`,
		"\t- x": "line 1: not YAML: found character that cannot start any token; check the indentation, quotes and brackets " +
			"of this line and the one before",
	} {
		var x struct {
			Title string                 `yaml:"title"`
			L     []struct{ A []string } `yaml:"l"`
			M     map[string]int         `yaml:"m"`
			N     int                    `yaml:"n"`
			B     bool                   `yaml:"b"`
			P     *struct{ X float64 }   `yaml:"p"`
		}
		got := ""
		if err := InWords(yaml.Load([]byte(in), &x, yaml.WithKnownFields())); err != nil {
			got = err.Error()
		}
		if got != want || regexp.MustCompile("struct|!!|go-yaml|construct").MatchString(got) {
			t.Errorf("%q: got %s\nwant %s", in, got, want)
		}
	}
}
