// Package kerneltest writes programs that tests run.
package kerneltest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// WriteProgram writes a program, so that it can be run at once: a child that is born while the file is open holds it
// open for writing, too, and until that child has become another program nobody can run it ("text file busy").
func WriteProgram(t testing.TB, file, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Script is a program of the shell in a folder of its own.
func Script(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "exe")
	WriteProgram(t, file, "#!/bin/sh\n"+text+"\n")
	return file
}

// Knows makes getent(1) know one host until the test ends, as where the C library asks multicast DNS. Answers are
// branches of a case of the shell, one for each of getent's databases. Of hosts below .invalid no DNS knows (RFC 6761,
// section 6.4).
func Knows(t *testing.T, host, answers string) {
	t.Helper()
	dir := t.TempDir()
	WriteProgram(t, filepath.Join(dir, "getent"),
		fmt.Sprintf("#!/bin/sh\n[ $# = 2 ] && [ \"$2\" = %s ] || exit 2\ncase $1 in %s\nesac\n", host, answers))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}
