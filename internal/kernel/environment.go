package kernel

import (
	"os"
	"slices"
	"strings"
)

// Environment is what a started program inherits: where programs, temporary files
// and installations are, who runs it, and in which language it speaks. Nothing
// else, such as a proxy or a token of the user's, reaches a stack.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !inherited(name)
	})
}

func inherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH":
		return true
	}
	// An installation's folder, such as JAVA8_HOME, is what a stack's needs may name.
	return strings.HasPrefix(name, "LC_") || strings.HasSuffix(name, "_HOME")
}
