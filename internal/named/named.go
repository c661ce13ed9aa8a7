// Package named reads files that are named after what they describe: devices, links, radios, batteries.
package named

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Load has read make a value of each *.yaml of the folders, from its name, without the ending, and its text. The values
// are by name; a later folder hides an earlier one's, also with a file that is wrong: who wrote it does not want the
// earlier one. What cannot be read, or is wrong, is all in the error; the others are loaded.
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
			if err != nil {
				errs = append(errs, err)
				continue
			}
			x, err := read(name, text)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all[name] = x
		}
	}
	return all, errors.Join(errs...)
}
