package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What publish packs is an RO-Crate to its validator, holds all that was measured and nothing secret,
// and can be repeated and compared.
func TestPublish(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	o := newOwn(t)
	t.Setenv("PROBE_TOKEN", "sesame-4711")
	o.write(t, "s.yaml", "study: s\nquestion: Which is quicker?\nservice: echo\nn: 5\n"+
		"factors: {stack: [rest-json, coap-cbor]}\nrequests: 20\ndesign: {replications: 2}\n"+
		"server: {meter: 'shelly:http://me@192.0.2.1?password=env:PROBE_TOKEN'}\n")
	must := func(args ...string) string {
		t.Helper()
		out, code := o.run(t, args...)
		if code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, out)
		}
		return out
	}
	must("run", "s.yaml", "--quiet", "--trust", "--set", "design={replications: 2}")
	if out := must("publish", "results/latest"); !strings.Contains(out, "--author") ||
		!strings.Contains(out, "--license") {
		t.Errorf("got %s", out)
	}
	must("publish", "results/s/001", "--out", "full.zip", "--author", "Josiah Carberry <0000-0002-1825-0097>",
		"--author", "A. N. Other", "--license", "CC-BY-4.0", "--title", "Two stacks")
	for _, tt := range []struct{ file, severity string }{{"s-001.crate.zip", "required"}, {"full.zip", "recommended"}} {
		dir := filepath.Join(o.dir, tt.file+".d")
		unzip(t, filepath.Join(o.dir, tt.file), dir)
		sums := exec.CommandContext(t.Context(), "sha256sum", "--check", "--quiet", "SHA256SUMS")
		sums.Dir = dir
		if out, err := sums.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", tt.file, err, out)
		}
		isCrate(t, dir, tt.severity)
		for _, file := range []string{"study.yaml", "plan.csv", "facts.json", "ledger.sqlite", "summary.csv", "report.html",
			"exchanges/0001-1-client.parquet", "trials/0001/ready.json"} {
			if !exists(filepath.Join(dir, "s-001", file)) {
				t.Errorf("%s lacks %s", tt.file, file)
			}
		}
		noSecret(t, dir, "sesame-4711")
		page, err := os.ReadFile(filepath.Join(dir, "s-001/report.html"))
		if err != nil || !bytes.Contains(page, []byte("<code>edgegauge report s-001</code>")) {
			t.Errorf("%s: the report names another folder than the crate's, %v", tt.file, err)
		}
	}
	var metadata struct {
		Graph []map[string]any `json:"@graph"`
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "full.zip.d/ro-crate-metadata.json"))
	if err != nil || json.Unmarshal(text, &metadata) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, want := range []string{`"name": "Two stacks"`, `"https://orcid.org/0000-0002-1825-0097"`, `"A. N. Other"`,
		`"https://creativecommons.org/licenses/by/4.0/"`,
		"was run with --set 'design={replications: 2}'.", `"s-001/exchanges/0001-1-client.parquet"`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the metadata lack %s", want)
		}
	}

	// Who has the crate reads it, repeats it and compares.
	must("report", "full.zip.d/s-001")
	if out, code := o.run(t, "run", "--like", "full.zip.d/s-001", "--out", "again", "--quiet",
		"--trust"); code != exitDone &&
		code != exitWorse { // whether times agree depends on the machine
		t.Fatalf("run --like: exit code %d: %s", code, out)
	}
	must("compare", "full.zip.d/s-001", "again")
	must("publish", "full.zip.d/s-001", "again", "--out", "both.zip")
}

// What is damaged, unfinished or twice the same is not published.
func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	o.write(t, "s.yaml", one+"requests: 5\ndesign: {replications: 3}\n")
	if out, code := o.run(t, "run", "s.yaml", "--quiet", "--out", "whole"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, out)
	}
	copyOf := func(name string) string {
		dir := filepath.Join(o.dir, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(o.dir, "whole"))); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	raw := filepath.Join(copyOf("damaged"), "exchanges/0001-1-client.parquet")
	text, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(raw, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(copyOf("linked"), "trials/strange")); err != nil {
		t.Fatal(err)
	}
	o.write(t, "long.yaml", one+"rate: 50\nduration: 20s\ndesign: {replications: 3}\n")
	running := exec.CommandContext(t.Context(), o.exe, "run", "long.yaml", "--quiet", "--out", "running")
	running.Dir = o.dir
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(o.dir, "running/trials/0001"))
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"damaged", exitUnmeasured, "0001-1-client.parquet"},
		{"linked", exitUnmeasured, "is not a regular file; remove it"},
		{"running", exitUnmeasured, "a lab is still measuring"},
		{"whole whole", exitUsage, "name each results directory once"},
	} {
		if out, code := o.run(t, append([]string{"publish"}, strings.Fields(tt.args)...)...); code != tt.code ||
			!strings.Contains(out, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.args, code, out)
		}
	}
	if err := running.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if out, code := o.run(t, "publish", "running"); code != exitUnmeasured ||
		!strings.Contains(out, "the study has not ended") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if left, _ := filepath.Glob(filepath.Join(o.dir, "*.zip*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// waitFor waits until a lab has made a file.
func waitFor(t *testing.T, file string) {
	t.Helper()
	for range 600 {
		if exists(file) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s was not made in 30 s", file)
}

func unzip(t *testing.T, file, dir string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// isCrate asks RO-Crate's own validator. Of what it recommends, the publisher is whoever takes the crate, and edgegauge
// does not ask for affiliations.
func isCrate(t *testing.T, dir, severity string) {
	t.Helper()
	py := os.Getenv("EDGEGAUGE_PYTHON")
	if py == "" {
		py = "python3"
	}
	out, err := exec.CommandContext(t.Context(), py, "testdata/validate_crate.py", dir, severity).CombinedOutput()
	if err != nil && strings.Contains(string(out), "ModuleNotFoundError") && os.Getenv("CI") != "true" {
		t.Logf("not validated: %s has no rocrate_validator", py)
		return
	}
	issues := false
	var said []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "RE") {
			continue
		}
		if issues = true; !strings.Contains(line, "publisher") && !strings.Contains(line, "affiliation") {
			said = append(said, line)
		}
	}
	if len(said) > 0 || err != nil && !issues {
		t.Errorf("%s: %v: %s", dir, err, out)
	}
}

func noSecret(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
