// Package jmeds holds tests of the stacks whose jar the user brings: this one and jcoap.
package jmeds

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// brought are the stacks, the name of their jar, and what the compiler wants besides it.
var brought = []struct{ name, path string }{
	{"jmeds", ""},
	{"jcoap", "build/lib/*:build/classes"}, // of californium: the same protobuf
}

// copied is the stack in a folder of its own, beside what it shares, without a jar.
func copied(t *testing.T, name string) (dir string) {
	t.Helper()
	root := t.TempDir()
	for _, part := range []string{name, "java-common", "contract"} {
		if err := os.CopyFS(filepath.Join(root, part), os.DirFS(filepath.Join("..", part))); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(root, name)
	os.RemoveAll(filepath.Join(dir, "jar"))
	os.RemoveAll(filepath.Join(dir, "build"))
	if err := os.Chmod(filepath.Join(dir, "build.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Without its jar a stack says where the jar is to be put. With a jar in that
// place it is built: here one of stubs, which shows that the adapter fits the
// names and signatures it was written for, and that its program tells what the
// library throws. It shows nothing of the library.
func TestBroughtJar(t *testing.T) {
	californium, err := filepath.Abs(stacktest.Built(t, "../californium").Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range brought {
		t.Run(tt.name, func(t *testing.T) {
			dir := copied(t, tt.name)
			jar := filepath.Join(dir, "jar", tt.name+".jar")
			d, err := stack.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			missing := d.Missing(t.Context())
			if len(missing) != 1 || !missing[0].Brought || !strings.Contains(missing[0].String(), jar) {
				t.Fatalf("got %v, want one need that names %s", missing, jar)
			}
			if _, err := d.Make(t.Context(), io.Discard); err == nil ||
				!strings.Contains(err.Error(), "only you can supply it") {
				t.Errorf("built without its jar: %v", err)
			}
			stubs := t.TempDir()
			path := ""
			for p := range strings.SplitSeq(tt.path, ":") {
				path += filepath.Join(californium, p) + ":"
			}
			run(t, dir, "./build.sh", "--stub", stubs, path)
			if err := os.Mkdir(filepath.Dir(jar), 0o755); err != nil {
				t.Fatal(err)
			}
			run(t, stubs, "jar", "--create", "--file", jar, "org/ws4d")
			if missing := d.Missing(t.Context()); len(missing) > 0 {
				t.Fatalf("with the jar: %v", missing)
			}
			if _, err := d.Make(t.Context(), io.Discard); err != nil {
				t.Fatal(err)
			}
			sums, err := d.Checksums()
			if err != nil || len(sums["build/lib/"+tt.name+".jar"]) != 64 {
				t.Errorf("checksums %v, %v; want the jar's, which is kept with every result", sums, err)
			}
			offer := d.Serves[0]
			told(t, d, stack.Serve{Service: "monitor", Encoding: offer.Encodings[0], Security: "none",
				Transport: offer.Transports[0], Host: "127.0.0.1"}, "this is a stub")
			told(t, d, stack.Serve{Service: "sort", Encoding: "no-such-encoding", Security: "none",
				Transport: offer.Transports[0], Host: "127.0.0.1"}, "no-such-encoding")
		})
	}
}

func run(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", argv, err, out)
	}
}

// told starts the program, which must say why it cannot serve.
func told(t *testing.T, d stack.Description, s stack.Serve, want string) {
	t.Helper()
	argv, err := d.Serve.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.Dir, append(os.Environ(), stacktest.Quickly)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := stack.NewConn(in, r).Serve(ctx, s); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	in.Close()
	cmd.Wait() // with status 1: it could not serve
}
