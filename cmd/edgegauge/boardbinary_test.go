package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/stacks/reference"
)

// mostOnBoard is what may go to a board for an ordinary study. make board holds the
// other architectures to it.
const mostOnBoard = 12_000_000 // B

// What goes to a board is small, has neither the lab's database nor its page, and has
// every stack that Whole does not keep from it.
func TestBoardBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	const pkg = "edgegauge.example/edgegauge/cmd/edgegauge-board"
	list := exec.Command("go", "list", "-tags", "board", "-deps", pkg)
	list.Env = append(os.Environ(), "GOARCH=arm64") // which is also what emulated machines boot
	deps, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{"edgegauge/stacks/reference", "edgegauge/internal/guest"} {
		if !strings.Contains(string(deps), has) {
			t.Errorf("no %s among %s", has, deps)
		}
	}
	for _, no := range []string{"sqlite", "parquet", "quic-go", "mochi", "cobra", "gonum", "edgegauge/internal/report",
		"edgegauge/internal/store", "edgegauge/internal/lab", "edgegauge/internal/drive/population"} {
		if strings.Contains(string(deps), no) {
			t.Errorf("%s is among its dependencies", no)
		}
	}
	file := filepath.Join(t.TempDir(), "edgegauge-board")
	build := exec.Command("go", "build", "-tags", "board", "-trimpath", "-ldflags", "-s -w", "-o", file, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if i.Size() > mostOnBoard {
		t.Errorf("%d B; at most %d", i.Size(), mostOnBoard)
	}
	if strings.HasPrefix(string(must(exec.Command(file, "run").CombinedOutput())), "edgegauge-board") == false {
		t.Error("it does not say what it is")
	}
	for _, d := range reference.Stacks() {
		transport := d.Serves[0].Transports[0]
		line := `{"type":"serve","protocol":1,"service":"echo","encoding":"` + d.Serves[0].Encodings[0] + `","security":"` +
			d.Serves[0].Security[0] + `","transport":"` + transport + `","host":"127.0.0.1","limits":{"body":1000}}` + "\n"
		serve := exec.Command(file, "stack-program", d.Name, "serve")
		serve.Stdin = strings.NewReader(line)
		out, _ := serve.Output()
		lacks := strings.Contains(string(out), "edgegauge-board")
		if whole := reference.Whole(d.Name, "server", transport); lacks != whole {
			t.Errorf("%s: Whole is %v, but it says %s", d.Name, whole, out)
		}
	}
}

func must(b []byte, _ error) []byte { return b }
