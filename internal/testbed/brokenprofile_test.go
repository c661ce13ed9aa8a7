package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A study that names a link or a device whose file is wrong is told what is wrong with it, not that there is none, nor
// is a file of the same name that ships taken for it. A misspelt key is a fault: a limit in it would be none.
func TestStudyOfABrokenProfileSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"links/own5.yaml":  "title: own\nboth: {rate: {value: 100kbit, source: x}, overhead: {value: -5, source: x}}\n",
		"links/own.yaml":   "title: own\nboth: {rate: {value: 100kbit, source: x}}\n",
		"links/lte-m.yaml": "title: mine\nboth: {rate: {value: fast, source: x}}\n",

		"devices/little.yaml":         "constrained: {cpu: 10%, memory: 64MiB}\n",
		"devices/little2.yaml":        "constrained: {cpu: 10%, memroy: 64MiB}\n",
		"devices/little3.yaml":        "constrained: {cpu: 10%}\nmemory: 64MiB\n",
		"devices/little4.yaml":        "title: little\n",
		"devices/little5.yaml":        "constrained: {cpu: 0%, memory: 64MiB}\n",
		"devices/constrained-10.yaml": "constrained: [\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := bed(t)
	b.Options.Links, b.Options.Devices = []string{filepath.Join(dir, "links")}, []string{filepath.Join(dir, "devices")}
	for names, want := range map[string]string{
		"link: own":                       "",
		"link: own5":                      `s.yaml:5:7: link "own5" cannot be used: links/own5.yaml: `,
		"link: {profile: own5, loss: 1%}": `link "own5" cannot be used: links/own5.yaml: `,
		"link: lte-m":                     `"fast"`,
		"link: own6":                      `no link "own6"; did you mean own?`,
		"client: {device: little}":        "",
		"client: {device: little2}":       `there is no key "memroy" here; correct or remove it`,
		"client: little3":                 `there is no key "memory" here`,
		"client: little4":                 "neither limits nor power; write constrained:",
		"client: little5":                 `s.yaml:5:9: device "little5" cannot be used: devices/little5.yaml: invalid cpu "0%"`,
		"client: constrained-10":          "devices/constrained-10.yaml: line ",
		"client: little6":                 `no device "little6"; did you mean little?`,
	} {
		_, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\nrequests: 3\n"+names+
			"\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", names, err, want)
		}
	}
}
