package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program that hangs costs the kit's patience, which is not spent on each check: what would only hang again is named
// as not checked, and failed. What needs no such program is checked.
func TestKitLeavesOutWhatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]string{
		"is never ready":     "cat >/dev/null",
		"never ends its run": `read line; echo '{"type":"ready","version":"1"}'; cat >/dev/null`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "hangs")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				"call.sh": call + "\n",
				"stack.yaml": fmt.Sprintf("title: hangs\nversion: \"1\"\nlanguage: sh\nserve: {command: [%q, stack-program, "+
					"reference/rest-json, serve]}\ncall: {command: [sh, call.sh]}\nserves:\n  - {services: [echo, monitor], "+
					"encodings: [json], security: [none], transports: [http], sides: [server, client], "+
					"connections: [keep-alive, per-request]}\n", exe),
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d := readStack(t, dir)
			kit, err := newKit(exe, t.TempDir(), spares(t), d)
			if err != nil {
				t.Fatal(err)
			}
			kit.Patience = 10 * time.Second // a busy machine starts a server within it
			var said bytes.Buffer
			x, err := checked(t.Context(), &said, d, kit, false)
			if err != nil {
				t.Fatal(err)
			}
			hung, left, served, believed := 0, 0, 0, 0
			for _, c := range x.Checks {
				switch {
				case strings.Contains(c.Fault, "not checked, since it would only hang again, as 2 times before"):
					left++
				case strings.Contains(c.Fault, "it hung; it was waited for 10s"):
					hung++
				case c.Passed && strings.Contains(c.Name, "server answers reference/"):
					served++
				case c.Passed && strings.Contains(c.Name, "client "):
					believed++
				}
			}
			if hung != 2 || left < 10 || served != 2 || believed > 0 || x.Failed < hung+left {
				t.Errorf("%d checks hung, %d were left out, %d of the server and %d of the client passed, %d failed; want 2, 10 or "+
					"more, 2, 0, and no fewer than the sum of the first two:\n%s", hung, left, served, believed, x.Failed,
					said.String())
			}
		})
	}
}
