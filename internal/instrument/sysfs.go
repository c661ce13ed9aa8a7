package instrument

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrNoData says that this machine has no such source: absent, not broken.
var ErrNoData = errors.New("no such source on this machine")

// number reads a file that holds one number, in the given unit (1e-3 for milli).
func number(root fs.FS, name string, unit float64) (float64, error) {
	s, err := text(root, name)
	if err != nil {
		return math.NaN(), err
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN(), fmt.Errorf("%s holds %q, no number", name, s)
	}
	return x * unit, nil
}

func text(root fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(root, name)
	return strings.TrimSpace(string(b)), err
}

// optional is a number that may be absent: then NaN without an error.
func optional(root fs.FS, name string, unit float64) (float64, error) {
	x, err := number(root, name, unit)
	if errors.Is(err, fs.ErrNotExist) {
		return math.NaN(), nil
	}
	return x, err
}

func exists(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

// pick chooses one sensor among the folders that match: the one asked for by its
// folder's or its name file's name, or the only one.
func pick(root fs.FS, source, pattern, nameFile, asked string, fit func(dir string) bool) (string, error) {
	dirs, err := fs.Glob(root, pattern)
	if err != nil {
		return "", err
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !fit(dir) })
	var found, names []string
	for _, dir := range dirs {
		name, _ := text(root, path.Join(dir, nameFile))
		names = append(names, fmt.Sprintf("%s:%s (%s)", source, path.Base(dir), name))
		if asked == "" || asked == path.Base(dir) || asked == name {
			found = append(found, dir)
		}
	}
	switch {
	case len(dirs) == 0:
		return "", fmt.Errorf("%w: /%s shows no sensor of power", ErrNoData, pattern)
	case len(found) == 0:
		return "", fmt.Errorf("no sensor %q; there are: %s", asked, strings.Join(names, ", "))
	case len(found) > 1:
		return "", fmt.Errorf("%d sensors; write which: %s", len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}
