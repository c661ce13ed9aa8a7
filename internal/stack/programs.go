package stack

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// CommandLines is among the checksums of a stack that names no products: that of its commands. What else such a stack
// loads is not known, so that equal checksums do not prove that it is the same.
const CommandLines = "serve and call of stack.yaml"

// WalkFiles calls f with every file that the stack consists of: its products, or where it names none, the files that
// its commands name. A name is a path from the stack's folder, or an absolute one.
func (d Description) WalkFiles(f func(name, path string) error) error {
	if len(d.Build.Product) == 0 {
		for _, name := range d.namedFiles() {
			if err := f(name, within(d.Dir, name)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range d.Build.Product {
		err := filepath.WalkDir(filepath.Join(d.Dir, p), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(d.Dir, path)
			return f(rel, path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namedFiles are the files that the commands name: as arguments, or within one, as in a line for a shell or a class
// path.
func (d Description) namedFiles() []string {
	var out []string
	for _, p := range []Program{d.Serve, d.Call} {
		if d.Dir == "" || len(p.Command) == 0 {
			continue
		}
		var found []string
		for _, arg := range p.Command {
			if d.isFile(arg) {
				found = append(found, d.named(arg))
				continue
			}
			for _, word := range strings.FieldsFunc(arg, parts) {
				words := []string{word}
				if folder, all := strings.CutSuffix(word, "/*"); all { // of a class path
					words, _ = filepath.Glob(within(d.Dir, folder) + "/*.jar")
				}
				for _, w := range words {
					if d.isFile(w) {
						found = append(found, d.named(w))
					}
				}
			}
		}
		if found == nil {
			found = d.inPath(p.Command[0])
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// parts says what stands between the words of a line for a shell, of a class path, of NAME=FILE.
func parts(r rune) bool { return strings.ContainsRune(" \t\n'\":;=,", r) }

func (d Description) isFile(name string) bool {
	info, err := os.Stat(within(d.Dir, name))
	return err == nil && info.Mode().IsRegular()
}

// named is a file by its path from the stack's folder, if it is in it.
func (d Description) named(file string) string {
	if rel, err := filepath.Rel(d.Dir, file); filepath.IsAbs(file) && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return filepath.Clean(file)
}

// inPath is a program that is found through PATH, unless it is the system's: a runtime, which says its version.
func (d Description) inPath(program string) []string {
	file, err := exec.LookPath(program)
	if err != nil || strings.Contains(program, "/") || slices.Contains([]string{"/bin", "/sbin", "/usr/bin", "/usr/sbin"},
		filepath.Dir(file)) {
		return nil
	}
	return []string{file}
}
