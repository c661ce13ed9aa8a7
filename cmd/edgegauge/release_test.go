package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A clone is a copy of the repository's last commit, elsewhere.
type clone struct {
	t   *testing.T
	dir string
	env []string
}

func newClone(t *testing.T) clone {
	t.Helper()
	c := clone{t, filepath.Join(t.TempDir(), "clone"), os.Environ()}
	if out, err := exec.Command("git", "clone", "--quiet", "../..", c.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

// sh runs a script as a step of a workflow would, and returns what it printed on stdout.
func (c clone) sh(script string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = c.dir, c.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%s: %v: %s%s", script, err, out, &said)
	}
	return string(out)
}

const releaseVersion = "91.2.3" // no tag that the repository has

// tagged is a clone whose commit has a tag, as the release workflow finds it.
func tagged(t *testing.T) clone {
	c := newClone(t)
	c.sh("git tag v" + releaseVersion)
	c.env = append(c.env, "GITHUB_REF_NAME=v"+releaseVersion, "RUNNER_TEMP="+t.TempDir(), "ARCHS=amd64 armv6")
	return c
}

// The steps of the release workflow make a release: archives that hold what they say, packages of one content, a list
// of all modules, the same bytes in another folder for another user; and the .deb works on a clean Debian. It is the
// last commit that is tried, not what is changed since.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	c := tagged(t)
	for _, step := range releaseSteps(t) {
		c.sh(step)
	}
	name := "dist/edgegauge_" + releaseVersion + "_linux_"
	files := strings.Fields(c.sh("tar -tzf " + name + "armv6.tar.gz"))
	for _, want := range []string{"edgegauge", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md",
		"doc/method.md", "studies/quickstart.yaml", "links/nb-iot.yaml", "stacks/PROTOCOL.md", "stacks/axis2/stack.yaml",
		"man/man1/edgegauge-run.1.gz", "completions/completion.zsh", "sbom.cdx.json", "edgegauge-hub",
		"edgegauge-board-amd64", "edgegauge-board-arm7"} {
		if !slices.Contains(files, "edgegauge_"+releaseVersion+"_linux_armv6/"+want) {
			t.Errorf("the archive has no %s", want)
		}
	}
	t.Run("what it is made of", func(t *testing.T) { namesItsModules(t, filepath.Join(c.dir, name)) })
	t.Run("again", func(t *testing.T) { sameElsewhere(t, c, name) })
	t.Run("rpm", func(t *testing.T) { likeTheDeb(t, c, name+"amd64") })
	t.Run("installed", func(t *testing.T) {
		needs(t, os.Geteuid() == 0 && exists("../../.cache/clean-root.tar"), "root, and .ci/clean-root")
		out, err := exec.CommandContext(t.Context(), "../../.ci/installed",
			filepath.Join(c.dir, name+"amd64.deb"), releaseVersion).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// releaseSteps are the commands of the release workflow up to those that need a service.
func releaseSteps(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	var run, names []string
	for _, s := range workflow.Jobs["release"].Steps {
		if s.Run != "" {
			run, names = append(run, s.Run), append(names, s.Name)
		}
	}
	if want := []string{"make", "checksums", "version", "image", "publish"}; !slices.Equal(names, want) {
		t.Fatalf("got steps %q, want %q", names, want)
	}
	return run[:3]
}

// namesItsModules compares the SBOM of each program with what Go says is linked into it.
func namesItsModules(t *testing.T, name string) {
	for _, arch := range []string{"amd64", "armv6"} {
		text, err := os.ReadFile(name + arch + ".cdx.json")
		if err != nil {
			t.Fatal(err)
		}
		var bom struct {
			BOMFormat string
			Metadata  struct {
				Component struct{ Name, Version string }
			}
			// Those of the standard library have no version of a module.
			Components []struct{ Name, Version string }
		}
		if err := json.Unmarshal(text, &bom); err != nil {
			t.Fatal(err)
		}
		if c := bom.Metadata.Component; bom.BOMFormat != "CycloneDX" || c.Name == "" || c.Version != releaseVersion {
			t.Errorf("got %q of %+v", bom.BOMFormat, c)
		}
		var got []string
		for _, c := range bom.Components {
			got = append(got, c.Name+" "+c.Version)
		}
		tar := exec.Command("tar", "-xzf", name+arch+".tar.gz", "-C", t.TempDir(), "--strip-components=1", "--wildcards",
			"*/edgegauge")
		if out, err := tar.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := exec.Command("go", "version", "-m", filepath.Join(tar.Args[4], "edgegauge")).Output()
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(string(out), -1) {
			want = append(want, m[1]+" "+m[2])
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(want) < 20 || !slices.Equal(got, want) {
			t.Errorf("%s: the SBOM has\n%q\nthe program\n%q", arch, got, want)
		}
	}
}

// sameElsewhere makes a part of the release again, from another clone with other settings.
func sameElsewhere(t *testing.T, c clone, name string) {
	again := tagged(t)
	again.env = append(again.env, "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=true")
	again.sh("umask 077; .ci/dist amd64")
	sums := c.sh("grep _linux_amd64 dist/SHA256SUMS")
	if got := again.sh("cat dist/SHA256SUMS"); got != sums || strings.Count(sums, "\n") != 4 {
		t.Errorf("made again:\n%s\nat first:\n%s", got, sums)
	}
}

// likeTheDeb compares the files of both packages.
func likeTheDeb(t *testing.T, c clone, name string) {
	_, err := exec.LookPath("rpm")
	needs(t, err == nil, "rpm and dpkg-deb")
	c.sh("rpm --checksig --nosignature " + name + ".rpm")
	rpm := c.sh("rpm --query --package --list " + name + ".rpm | sort")
	deb := c.sh("dpkg-deb --fsys-tarfile " + name + ".deb | tar -t | sed -n 's#^\\.##; /lintian\\|Debian/d; /[^/]$/p' " +
		"| sort")
	for s := bufio.NewScanner(strings.NewReader(deb)); s.Scan(); {
		if !strings.Contains(rpm, s.Text()+"\n") {
			t.Errorf("the .rpm has no %s", s.Text())
		}
	}
	if strings.Count(deb, "\n") < 50 {
		t.Errorf("the .deb has %s", deb)
	}
}
