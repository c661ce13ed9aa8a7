package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A study that names a stack whose folder is there is told what is wrong with it, not that there is none.
func TestStudyOfABrokenStackSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	const serves = "serves:\n- {services: [echo], encodings: [json], security: [none], transports: [http], sides: [server], " +
		"connections: [keep-alive]}\n"
	for name, text := range map[string]string{
		"torn":    "title: [\n",
		"foreign": "title: x\nserve: {comand: [sh]}\n" + serves,
		"nothing": "title: x\nserve: {command: [no-such-program]}\n" + serves,
		"good":    "title: x\nserve: {command: [sh]}\n" + serves,
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "stack.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := bed(t, dir)
	for name, want := range map[string]string{
		"torn":    `s.yaml:3:8: stack "torn" cannot run here; ` + dir + "/torn/stack.yaml: line 2: not YAML: ",
		"foreign": dir + `/foreign/stack.yaml: line 2: there is no key "comand" here; correct or remove it`,
		"nothing": "no-such-program is missing; install it, or correct serve and call in " + dir + "/nothing/stack.yaml",
		"none":    `s.yaml:3:8: no stack "none"; to list them`,
		"good":    "",
	} {
		_, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: echo\nstack: "+name+"\nn: 1\nrequests: 3\n"+
			"client: {stack: rest-json}\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", name, err, want)
		}
	}
}
