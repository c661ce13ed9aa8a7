package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotNative means that a program needs what an emulated device does not have.
var ErrNotNative = errors.New("it runs native programs, and Java programs on machines with enough memory")

// Crossed is the file of a stack's program for an emulated machine: build/armel/NAME or
// build/arm64/NAME in place of build/NAME, below the stack's folder. Target is the machine's
// architecture in the words of those folders. The error says what to do; of a program that
// is none of the stack's own, but needs a runtime, it is ErrNotNative.
func Crossed(stack, dir, program, target string) (string, error) {
	if !strings.Contains(program, "/") {
		return "", fmt.Errorf("there is no %s for stack %s; %w", program, stack, ErrNotNative)
	}
	file := filepath.Join(dir, filepath.Dir(program), target, filepath.Base(program))
	if _, err := os.Stat(file); err != nil {
		advice := fmt.Sprintf("build the same source with a compiler for %s, linked statically, as this file", target)
		if _, err := os.Stat(filepath.Join(dir, "build.sh")); err == nil {
			advice = fmt.Sprintf("build it as its README says, for example: stacks/%s/build.sh %s", stack, target)
		}
		return "", fmt.Errorf("stack %s has no program for %s: %w; %s", stack, target, err, advice)
	}
	return file, nil
}
