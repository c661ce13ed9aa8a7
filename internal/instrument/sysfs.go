package instrument

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
)

// ErrNoData says that this machine has no such source: absent, not broken.
var ErrNoData = errors.New("no such source on this machine")

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
		name, _ := kernel.ReadText(root, path.Join(dir, nameFile))
		names = append(names, fmt.Sprintf("%s:%s (%s)", source, path.Base(dir), name))
		if asked == "" || asked == path.Base(dir) || asked == name {
			found = append(found, dir)
		}
	}
	switch {
	case len(dirs) == 0:
		return "", fmt.Errorf("%w: /%s lists no power sensor", ErrNoData, pattern)
	case len(found) == 0:
		return "", fmt.Errorf("unknown sensor %q; available: %s", asked, strings.Join(names, ", "))
	case len(found) > 1:
		return "", fmt.Errorf("there are %d sensors; name one: %s", len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}
