package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// Where edgegauge for a device is not there, and Go is not either, which would build it from the source at hand, a
// study is not called ready.
func TestProgramsForDevicesTakeGo(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path)
	b := bed(t)
	b.Source = root
	says := func(device string) string {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\nserver: {device: "+
			device+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range b.Obstacles(t.Context(), p) {
			if strings.Contains(x.What, "it needs this program") {
				return x.Error()
			}
		}
		return ""
	}
	devices := []string{"cortex-a53", "instructions-arm64"}
	for i, device := range devices {
		file := []string{"edgegauge-board-arm64", "edgegauge-linux-arm64"}[i]
		if got, want := says(device), "s.yaml:4:18: device "+device+": it needs this program, built for it, and to build it "+
			"from "+root+" takes Go: "; !strings.HasPrefix(got, want) ||
			!strings.Contains(got, "install Go, or put "+file+" into ") {
			t.Errorf("without Go: got %q, want %q", got, want)
		}
	}
	b.Exe = filepath.Join(t.TempDir(), "edgegauge")
	if err := os.WriteFile(b.Exe+"-linux-arm64", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		if got := says(device); got != "" {
			t.Errorf("with a program beside: got %q", got)
		}
	}
	if err := os.Remove(b.Exe + "-linux-arm64"); err != nil {
		t.Fatal(err)
	}
	kerneltest.WriteProgram(t, filepath.Join(path, "go"), "#!/bin/sh\n")
	for _, device := range devices {
		if got := says(device); got != "" {
			t.Errorf("with Go: got %q", got)
		}
	}
}

// A core on which only other programs run needs none of ours, which takes long to compile.
func TestCoresOfOtherStacksTakeNoProgram(t *testing.T) {
	b := bed(t, described(t, true))
	b.Source, b.Exe = t.TempDir(), "/usr/bin/edgegauge" // neither beside it, nor can it be made
	const needs = "it needs this program"
	for server, want := range map[string]bool{"libcoap": false, "reference/coap-protobuf": true} {
		p, _, err := b.ReadElsewhere(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\n"+
			"client: {stack: reference/coap-protobuf}\nserver: {stack: "+server+", device: instructions-arm64}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		found := b.Obstacles(t.Context(), p)
		if strings.Contains(fmt.Sprint(found), needs) != want {
			t.Errorf("%s: got %v, want a program missing: %v", server, found, want)
		}
	}
	for _, others := range []bool{false, true} {
		d, err := openCore(t.Context(), b, wanted{name: "instructions-arm64", exe: b.Exe, others: others})
		_, ok := d.(device.Counting)
		if !ok || (err == nil) != others || err != nil && !strings.Contains(err.Error(), needs) {
			t.Errorf("others %v: got %T, %v", others, d, err)
		}
	}
}

// A machine boots as little as does: edgegauge-board, built from the sources that are at hand, or as it came with a
// release. The whole edgegauge beside this program does, too.
func TestMachinesBootTheSmallProgram(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path)
	kerneltest.WriteProgram(t, filepath.Join(path, "go"), "#!/bin/sh\necho \"$GOARM $*\" >"+path+"/asked\n")
	b := bed(t)
	b.Source, b.Exe = root, filepath.Join(t.TempDir(), "edgegauge")
	board, whole := guestProgram{"arm", "7", false}, guestProgram{"arm", "7", true}
	takes := func(g guestProgram, version, want string) {
		t.Helper()
		b.Version = version
		os.Remove(path + "/asked")
		got, err := b.guestProgram(t.Context(), "cortex-a7", g)
		if asked, _ := os.ReadFile(path + "/asked"); err == nil && len(asked) > 0 {
			got = string(asked)
		}
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%+v, version %s: got %s, %v, want %s", g, version, got, err, want)
		}
	}
	const builds = "7 build -trimpath -buildvcs=false -ldflags=-s -w -o "
	for _, version := range []string{device.Build(""), "1.2.3"} {
		takes(board, version, "/guest/edgegauge-board-arm7 -tags=board ./cmd/edgegauge-board\n")
		takes(board, version, builds)
		takes(whole, version, "/guest/edgegauge-linux-armv7 ./cmd/edgegauge\n")
	}
	besides := filepath.Join(filepath.Dir(b.Exe), "edgegauge-linux-armv7")
	if err := os.WriteFile(besides, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	takes(board, device.Build(""), builds)
	takes(board, "1.2.3", besides)
	takes(whole, device.Build(""), besides)
	small := filepath.Join(filepath.Dir(b.Exe), "edgegauge-board-arm7")
	if err := os.WriteFile(small, make([]byte, 1000), 0o755); err != nil {
		t.Fatal(err)
	}
	takes(board, device.Build(""), builds)
	if got := b.guestSize(board); got != board.most() {
		t.Errorf("a program that is built anew counts as %d B, want %d", got, board.most())
	}
	takes(board, "1.2.3", small)
	if got := b.guestSize(board); got != 1000 {
		t.Errorf("a program of 1000 B counts as %d B", got)
	}
	takes(whole, "1.2.3", besides)
	b.Source = ""
	takes(board, device.Build(""), small)
}

// What go build says of a fault is one, without the modules that it downloads; a build that is interrupted has none.
func TestABuildThatFailsIsOneFault(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	kerneltest.WriteProgram(t, filepath.Join(path, "go"), "#!/bin/sh\nset -e\n"+
		"for m in a b c; do echo \"go: downloading example.org/$m v1.0.0\" >&2; done\n"+
		"if [ -e "+path+"/waits ]; then exec sleep 60; fi\n"+
		"echo 'x.go:1:1: wrong' >&2; echo '  and more' >&2; exit 1\n")
	b := bed(t)
	b.Source, b.Exe = root, filepath.Join(t.TempDir(), "edgegauge")
	g := guestProgram{"arm", "7", false}
	_, err = b.guestProgram(t.Context(), "cortex-a7", g)
	if err == nil || !strings.HasSuffix(err.Error(), ": x.go:1:1: wrong; and more") ||
		strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "downloading") {
		t.Errorf("got %v, want one line of what is wrong", err)
	}
	if err := os.WriteFile(filepath.Join(path, "waits"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("interrupted"))
	defer stop()
	_, err = b.guestProgram(ctx, "cortex-a7", g)
	if err == nil || !strings.HasSuffix(err.Error(), "go build for edgegauge-board-arm7: interrupted") {
		t.Errorf("got %v, want that it was interrupted", err)
	}
}
