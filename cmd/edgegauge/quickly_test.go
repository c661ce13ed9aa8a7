package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
)

// A JVM starts with the kit's options, whatever its version, and says nothing of them on stdout: that is the
// protocol's.
func TestJVMsTakeTheKitsOptions(t *testing.T) {
	java, err := exec.LookPath("java")
	needs(t, err == nil, "java")
	all := []string{java}
	if home := os.Getenv("JAVA8_HOME"); home != "" {
		all = append(all, filepath.Join(home, "bin", "java"))
	}
	for _, java := range all {
		for _, options := range []string{quickly, quicklySigning} {
			cmd := exec.CommandContext(t.Context(), java, "-version") // which it says on stderr
			var stdout, stderr bytes.Buffer
			cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), options), &stdout, &stderr
			if err := cmd.Run(); err != nil || stdout.Len() > 0 {
				t.Errorf("%s %s: %v, stdout %q, stderr %q", options, java, err, &stdout, &stderr)
			}
		}
	}
}

// Only a stack that signs by RSA has its JVMs compile arithmetic by C2.
func TestQuicklyFor(t *testing.T) {
	for _, c := range []struct {
		security []string
		want     string
	}{
		{[]string{"none", "tls"}, quickly},
		{[]string{"wss-username"}, quickly},
		{[]string{"none", "wss-rsa-encrypt"}, quicklySigning},
	} {
		offers := []stack.Offer{{Security: []string{"none"}}, {Security: c.security}}
		if got := quicklyFor(stack.Description{Serves: offers}); got != c.want {
			t.Errorf("%v: %s, want %s", c.security, got, c.want)
		}
	}
}
