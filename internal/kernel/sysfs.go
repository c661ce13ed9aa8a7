package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
)

// ReadNumber reads a file of /sys that holds one decimal number and returns it
// times unit, such as 1e-3 for a file in thousandths. It is not finite only with
// an error.
func ReadNumber(root fs.FS, name string, unit float64) (float64, error) {
	text, err := ReadText(root, name)
	if err != nil {
		return math.NaN(), err
	}
	return parseNumber(name, text, unit)
}

// ReadNumberAt is ReadNumber of a path of this machine.
func ReadNumberAt(path string, unit float64) (float64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return math.NaN(), err
	}
	return parseNumber(path, strings.TrimSpace(string(b)), unit)
}

func parseNumber(name, text string, unit float64) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return math.NaN(), fmt.Errorf("%s holds %q, not a number", name, text)
	}
	return x * unit, nil
}

// ReadOptional is ReadNumber of a file that may be absent: then NaN without an
// error.
func ReadOptional(root fs.FS, name string, unit float64) (float64, error) {
	x, err := ReadNumber(root, name, unit)
	if errors.Is(err, fs.ErrNotExist) {
		return math.NaN(), nil
	}
	return x, err
}

// ReadText reads a small file without the white space around its text.
func ReadText(root fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(root, name)
	return strings.TrimSpace(string(b)), err
}
