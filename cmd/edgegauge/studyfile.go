package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
	"edgegauge.example/edgegauge/studies"
)

// studyFile reads the study that the user named: a file, or by its name alone one of this folder, of
// studies/, or of those the program comes with.
func (a *app) studyFile(name string) (file string, text []byte, err error) {
	info, err := os.Stat(name)
	folder := err == nil && info.IsDir() // of results, maybe, that are called after their study
	switch {
	case err == nil && !folder:
		text, err := kernel.ReadFile(name, study.MostText)
		return name, text, unreadable(name, err)
	case filepath.Ext(name) == "" && filepath.Base(name) == name:
		for _, file := range []string{name + ".yaml", name + ".yml", filepath.Join("studies", name+".yaml")} {
			if text, err := kernel.ReadFile(file, study.MostText); err == nil {
				fmt.Fprintf(a.notes(), "%s: the study in %s\n", name, file)
				return file, text, nil
			}
		}
		if text, err := studies.Files.ReadFile(name + ".yaml"); err == nil {
			fmt.Fprintf(a.notes(), "%s: the study that comes with edgegauge\n", name)
			return name + ".yaml", text, nil
		}
	}
	switch {
	case folder:
		return name, nil, studyFolder(name)
	case !errors.Is(err, fs.ErrNotExist):
		return name, nil, unreadable(name, err)
	}
	return name, nil, noStudy(name)
}

// unreadable says why a file cannot be read; nil where err is nil.
func unreadable(name string, err error) error {
	if err == nil {
		return nil
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// studiesIn are the files of a folder that may be studies.
func studiesIn(dir string) []string {
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		for _, f := range kernel.Matching(dir, pattern) {
			if _, ok := studyName(f); ok {
				files = append(files, f)
			}
		}
	}
	return files
}

// builtInStudies are the names of the studies that the program comes with.
func builtInStudies() []string {
	files, _ := fs.Glob(studies.Files, "*.yaml")
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	return files
}

var studyLine = lazy.Regexp(`(?m)^study:\s*['"]?([^\s'"#]+)`)

// studyName is the name of the study in a file; false: it holds none.
func studyName(file string) (string, bool) {
	text, err := kernel.ReadFile(file, study.MostText)
	m := studyLine().FindSubmatch(text)
	if err != nil || m == nil {
		return "", false
	}
	return string(m[1]), true
}

// studyFolder is the mistake of a folder where a study is wanted.
func studyFolder(dir string) error {
	if exists(filepath.Join(dir, "ledger.sqlite")) {
		return fmt.Errorf("%s holds results; to see them: edgegauge report %s; to repeat the study: edgegauge run "+
			"--like %[2]s", dir, report.QuotedPath(dir))
	}
	switch found := studiesIn(dir); {
	case len(found) == 0:
		return fmt.Errorf("%s is a folder without studies; name a study; edgegauge run lists the studies", dir)
	case len(found) > 3:
		return fmt.Errorf("%s is a folder; name one of its %d studies, such as %s", dir, len(found), found[0])
	default:
		return fmt.Errorf("%s is a folder; %s", dir, meant.Question(found...))
	}
}

// nameOf is the name of a file without its folder and ending.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// noStudy is the mistake of a file that is not there.
func noStudy(name string) error {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	for _, other := range []string{stem + ".yaml", stem + ".yml", filepath.Join("studies", filepath.Base(stem)+".yaml")} {
		if other != name && exists(other) {
			return fmt.Errorf("%s: no such file; did you mean %s?", name, other)
		}
	}
	if strings.Contains(name, "://") {
		return fmt.Errorf("a study is a file on this machine; download %s first; to measure what listens at a URL: "+
			"edgegauge probe URL, or a study with server: {url: …} (doc/measure-my-service.md)", name)
	}
	if name == "-" {
		return errors.New("no study is read from standard input; save it in a file and name that")
	}
	// By their names alone: the folder and the ending, which all have, make nothing near.
	files := append(studiesIn(filepath.Dir(name)), studiesIn("studies")...)
	var names []string
	for _, file := range files {
		names = append(names, nameOf(file))
	}
	if near := meant.Nearest(nameOf(name), names); near != "" {
		if file := files[slices.Index(names, near)]; nameOf(name) != name {
			near = file
		}
		return fmt.Errorf("%s: no such file; did you mean %s?", name, near)
	}
	if near := meant.Nearest(nameOf(name), builtInStudies()); near != "" {
		if nameOf(name) != name {
			near += ", which comes with edgegauge"
		}
		return fmt.Errorf("%s: no such file; did you mean %s?", name, near)
	}
	return fmt.Errorf("%s: no such file; edgegauge run lists the studies", name)
}

// whichStudy is the answer to a run without a study: those there are.
func whichStudy() error {
	var b strings.Builder
	fmt.Fprintln(&b, "edgegauge run needs a study. Begin with: edgegauge run quickstart")
	for _, f := range studiesIn(".") {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	for _, name := range builtInStudies() {
		var s struct{ Question string }
		text, err := studies.Files.ReadFile(name + ".yaml")
		if err == nil {
			err = yaml.Unmarshal(text, &s)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  %-26s  %s\n", name, s.Question)
	}
	b.WriteString("For a study of your own, see doc/write-a-study.md")
	return errors.New(b.String())
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// notResults is the mistake of a path where a results directory is wanted.
func notResults(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return unreadable(path, err)
	case err != nil:
		known, _ := filepath.Glob("results/*/[0-9]*")
		siblings := slices.DeleteFunc(kernel.Matching(filepath.Dir(path), "*"),
			func(s string) bool { return !exists(filepath.Join(s, "ledger.sqlite")) })
		if near := meant.Nearest(path, append(siblings, known...)); near != "" {
			return fmt.Errorf("%s: no such directory; did you mean %s?", path, near)
		}
		if in := filepath.Join("results", path); exists(filepath.Join(in, "ledger.sqlite")) {
			return fmt.Errorf("%s: no such directory; did you mean %s?", path, in)
		}
		if filepath.Ext(path) == ".json" {
			return fmt.Errorf("%s: no such file; edgegauge probe URL --json > %s makes one", path, report.QuotedPath(path))
		}
		return fmt.Errorf("%s: no such directory; name one that edgegauge run wrote, such as results/latest", path)
	case !info.IsDir() && exists(filepath.Join(filepath.Dir(path), "ledger.sqlite")):
		return fmt.Errorf("%s is a file of results; did you mean %s?", path, filepath.Dir(path))
	case !info.IsDir():
		name, ok := studyName(path)
		if !ok {
			return fmt.Errorf("%s is a file; name a directory that edgegauge run wrote, such as results/latest", path)
		}
		if newest := testbed.LastNumber(filepath.Join("results", name)); newest > 0 {
			return fmt.Errorf("%s is a study, not results; did you mean %s?", path,
				filepath.Join("results", name, fmt.Sprintf("%03d", newest)))
		}
		return fmt.Errorf("%s is a study, not results; measure it first: edgegauge run %s", path, report.QuotedPath(path))
	}
	for _, inside := range []string{"latest", fmt.Sprintf("%03d", testbed.LastNumber(path))} {
		if in := filepath.Join(path, inside); exists(filepath.Join(in, "ledger.sqlite")) {
			return fmt.Errorf("%s: no results here; did you mean %s?", path, in)
		}
	}
	return fmt.Errorf("%s: no results here (no ledger.sqlite); name a directory that edgegauge run wrote, such as "+
		"results/latest", path)
}

// checkOut says at once if no results can be written to a directory that is not there yet.
func checkOut(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("--out %s is a file; name a directory", dir)
	}
	if exists(dir) {
		return nil // the store looks closer
	}
	if err := mayMake(dir); err != nil {
		return fmt.Errorf("--out %s: cannot create a directory there: %w; name one where you may write", dir, err)
	}
	return nil
}

// mayMake says why a directory cannot be made.
func mayMake(dir string) error {
	var made []string
	for d := filepath.Clean(dir); !exists(d); d = filepath.Dir(d) {
		if to, err := os.Readlink(d); err == nil { // which would be removed below
			return fmt.Errorf("%s is a symbolic link to %s, where nothing is", d, to)
		}
		made = append(made, d)
	}
	err := os.MkdirAll(dir, 0o777)
	for _, d := range made {
		os.Remove(d) // only a trial
	}
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	}
	return err
}
