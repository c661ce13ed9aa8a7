package qemu

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// pins.txt names the packages that the machines are made of: architecture,
// package, version, SHA-256. Debian's archive keeps old versions for some time, its
// snapshot archive for good.
//
//go:embed pins.txt
var pinned string

// An apt fetches packages of another architecture with this machine's own
// sources, as an ordinary user and without touching this machine's packages.
type apt struct {
	arch     string
	dir      string       // its private state and what it fetched
	newest   bool         // take what there is, not what pins.txt says
	tell     func(string) // what happens now
	prepared bool
	read     bool  // its lists are those of now
	unread   error // a list that could not be read: only one that is missed matters
}

const aptAdvice = "emulated machines are built from Debian packages, fetched by apt-get: this needs Debian with its " +
	"archive " +
	"among its sources"

// prepare makes the private state.
func (a *apt) prepare(ctx context.Context) error {
	if a.prepared {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("apt-get is missing; %s", aptAdvice)
	}
	out, err := kernel.Output(exec.CommandContext(ctx, "apt-get", "indextargets", "--format",
		"$(ORIGIN)|$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"))
	if err != nil {
		return fmt.Errorf("apt-get indextargets: %w; %s", err, aptAdvice)
	}
	var sources []string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) == 5 && f[0] == "Debian" && f[1] == "Packages" {
			sources = append(sources, fmt.Sprintf("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s %s",
				f[2], f[3], f[4]))
		}
	}
	if len(sources) == 0 {
		return fmt.Errorf("no Debian archive is among apt's sources; %s; if it is, run: apt-get update", aptAdvice)
	}
	slices.Sort(sources)
	for _, d := range []string{"etc/apt.conf.d", "etc/preferences.d", "var/lib/apt/lists/partial",
		"var/cache/apt/archives/partial", "var/lib/dpkg", "deb"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return err
		}
	}
	conf := fmt.Sprintf(`Dir::State "%[1]s/var/lib/apt"; Dir::Cache "%[1]s/var/cache/apt";
Dir::State::status "%[1]s/var/lib/dpkg/status";
Dir::Etc::sourcelist "%[1]s/sources.list"; Dir::Etc::sourceparts "-"; APT::Architecture "%[2]s";
APT::Architectures { "%[2]s"; };
Acquire::Languages "none"; Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false"; APT::Sandbox::User "";
`, a.dir, a.arch)
	for name, text := range map[string]string{"apt.conf": conf,
		"sources.list": strings.Join(slices.Compact(sources), "\n") + "\n", "var/lib/dpkg/status": ""} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	a.prepared = true
	return nil
}

// update reads the lists of packages.
func (a *apt) update(ctx context.Context) error {
	if a.read {
		return nil
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	a.tell("reading Debian's lists of packages for " + a.arch)
	a.read = true
	for try := 0; ; try++ { // a mirror that is just being renewed contradicts itself for a moment
		if _, a.unread = a.run(ctx, "apt-get", "-qq", "update"); a.unread == nil || try == 2 {
			return nil
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
	}
}

func (a *apt) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = filepath.Join(a.dir, "deb"),
		append(os.Environ(), "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"), "LC_ALL=C")
	out, err := kernel.CombinedOutput(cmd)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastWords(out))
	}
	return string(out), nil
}

// lastWords are the last lines of a program's output, on one.
func lastWords(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// resolve finds the name and the version to fetch. A * in the pattern stands for
// a number, of which the largest is taken where no name is pinned.
func (a *apt) resolve(ctx context.Context, pattern string) (Package, error) {
	if !a.newest {
		for line := range strings.Lines(pinned) {
			if f := strings.Fields(line); len(f) == 4 && f[0] == a.arch && numbered(pattern).MatchString(f[1]) {
				return Package{Name: f[1], Version: f[2], SHA256: f[3]}, nil
			}
		}
		return Package{}, fmt.Errorf("no version of %s for %s is pinned; use --newest to take Debian's current one",
			pattern, a.arch)
	}
	if err := a.update(ctx); err != nil {
		return Package{}, err
	}
	name := pattern
	if strings.Contains(pattern, "*") {
		prefix, _, _ := strings.Cut(pattern, "*")
		out, err := a.run(ctx, "apt-cache", "pkgnames", prefix)
		if err != nil {
			return Package{}, err
		}
		most := -1
		for n := range strings.FieldsSeq(out) {
			if m := numbered(pattern).FindStringSubmatch(n); m != nil {
				if x, _ := strconv.Atoi(m[1]); x > most {
					most, name = x, n
				}
			}
		}
		if most < 0 {
			return Package{}, fmt.Errorf("no Debian package %s for %s", pattern, a.arch)
		}
	}
	out, err := a.run(ctx, "apt-cache", "show", "--no-all-versions", name)
	if err != nil {
		return Package{}, err
	}
	for line := range strings.Lines(out) {
		if v, ok := strings.CutPrefix(line, "Version: "); ok {
			return Package{Name: name, Version: strings.TrimSpace(v)}, nil
		}
	}
	return Package{}, fmt.Errorf("apt-cache lists no version of %s", name)
}

func numbered(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `(\d+)`) + "$")
}

// fetch fetches the package that pattern names, unless it is there, and returns
// it and its file.
func (a *apt) fetch(ctx context.Context, pattern string) (Package, string, error) {
	packages, files, err := a.fetchAll(ctx, pattern)
	if err != nil {
		return Package{}, "", err
	}
	return packages[0], files[0], nil
}

// fetchAll does so for several. What is missing is fetched at once: apt-get works for most of a second on lists of
// packages before it fetches anything.
func (a *apt) fetchAll(ctx context.Context, patterns ...string) (packages []Package, files []string, err error) {
	var missing []string
	for _, pattern := range patterns {
		p, err := a.resolve(ctx, pattern)
		if err != nil {
			return nil, nil, errors.Join(err, a.unread)
		}
		packages = append(packages, p)
		if a.fetched(p) == "" {
			missing = append(missing, p.Name+"="+p.Version)
		}
	}
	if len(missing) > 0 {
		if err := a.download(ctx, missing); err != nil {
			return nil, nil,
				fmt.Errorf("%w; if Debian has dropped this version, add its snapshot archive to apt's sources, or use --newest, "+
					"which builds a different machine", errors.Join(err, a.unread))
		}
	}
	for i, p := range packages {
		file := a.fetched(p)
		if file == "" {
			return nil, nil, fmt.Errorf("apt-get download %s=%s produced no file in %s", p.Name, p.Version,
				filepath.Join(a.dir, "deb"))
		}
		if packages[i], file, err = a.verified(p, file); err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	return packages, files, nil
}

// download looks where the lists that an earlier build read say packages are, and reads them anew if one is not: that
// takes seconds.
func (a *apt) download(ctx context.Context, packages []string) error {
	if err := a.prepare(ctx); err != nil {
		return err
	}
	argv := append([]string{"-qq", "download"}, packages...)
	_, err := a.run(ctx, "apt-get", argv...)
	if err == nil || a.read {
		return err
	}
	if err := a.update(ctx); err != nil {
		return err
	}
	_, err = a.run(ctx, "apt-get", argv...)
	return err
}

func (a *apt) fetched(p Package) string {
	version := strings.ReplaceAll(p.Version, ":", "%3a")
	for _, arch := range []string{a.arch, "all"} {
		file := filepath.Join(a.dir, "deb", p.Name+"_"+version+"_"+arch+".deb")
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

func (a *apt) verified(p Package, file string) (Package, string, error) {
	d, err := digest(file)
	if err != nil {
		return p, "", err
	}
	if p.SHA256 != "" && p.SHA256 != d.SHA256 {
		return p, "", fmt.Errorf("%s: its checksum is %s, but %s is pinned; remove it and try again", file, d.SHA256,
			p.SHA256)
	}
	p.SHA256 = d.SHA256
	return p, file, nil
}

// unpack unpacks a package into dir.
func unpackPackage(ctx context.Context, file, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := kernel.CombinedOutput(exec.CommandContext(ctx, "dpkg-deb", "-x", file, dir))
	if err != nil {
		return fmt.Errorf("dpkg-deb -x %s: %w: %s", file, err, lastWords(out))
	}
	return nil
}
