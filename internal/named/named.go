// Package named reads files that are named after what they describe: devices, links, radios, batteries.
package named

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// A Fault is why what has this name is not there: its file is wrong.
type Fault struct {
	Name string
	Err  error
}

func (f Fault) Error() string { return f.Err.Error() }

// Unwrap is the error of the file.
func (f Fault) Unwrap() error { return f.Err }

// FaultOf is the fault of a name among those that Load found; nil: there is none.
func FaultOf(name string, err error) error {
	switch e := err.(type) {
	case Fault:
		if e.Name == name {
			return e.Err
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if f := FaultOf(name, one); f != nil {
				return f
			}
		}
	}
	return nil
}

// Load has read make a value of each *.yaml of the folders, from its name, without the ending, and its text. The values
// are by name; a later folder hides an earlier one's, also with a file that is wrong: who wrote it does not want the
// earlier one. What cannot be read, or is wrong, is all in the error, each as a Fault; the others are loaded.
func Load[T any](read func(name string, text []byte) (T, error), folders ...fs.FS) (map[string]T, error) {
	all := map[string]T{}
	var errs []error
	for _, f := range folders {
		files, err := fs.Glob(f, "*.yaml")
		errs = append(errs, err)
		for _, file := range files {
			name := strings.TrimSuffix(path.Base(file), ".yaml")
			delete(all, name)
			text, err := fs.ReadFile(f, file)
			var x T
			if err == nil {
				x, err = read(name, text)
			}
			if err != nil {
				errs = append(errs, Fault{name, err})
				continue
			}
			all[name] = x
		}
	}
	return all, errors.Join(errs...)
}
