package qemu

import (
	"slices"
	"strings"
	"testing"
)

// Debian's kernels test no ciphers as they boot. Ours have none, and their command line stays what published figures
// were counted with.
func TestKernelsTestNoCiphers(t *testing.T) {
	for _, b := range Boards() {
		argv := b.argv(Deterministic, false, 1)
		words := strings.Fields(argv[slices.Index(argv, "-append")+1])
		if got, want := slices.Contains(words, "cryptomgr.notests"), b.Kernel.Own == ""; got != want {
			t.Errorf("%s: the kernel is told %q", b.Name, words)
		}
	}
}
