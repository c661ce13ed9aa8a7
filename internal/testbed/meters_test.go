package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/instrument"
)

// A power profile that a device reads its load for is the lab's: a board is told its figures, and a name that the lab
// does not know is refused before a board is asked.
func TestProfilesOfBoardsAreTheLabs(t *testing.T) {
	b, dir := bed(t), t.TempDir()
	b.Options.Devices = []string{dir}
	const text = "title: calibrated\npower: {idle_W: 3.25, cores: 1}\n"
	if err := os.WriteFile(filepath.Join(dir, "raspberry-pi-1.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ meter, responses, want string }{
		{"raspberry-pi-1", "energy", ""},
		{"raspberry-pi-2000", "energy", `unknown power profile "raspberry-pi-2000"; available: `},
		{"raspberry-pi-2000", "rtt", `unknown power profile "raspberry-pi-2000"; available: `},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+
			"client: {device: 'ssh://pi@board', meter: 'device:model:"+x.meter+"'}\nresponses: ["+x.responses+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (len(found) == 0) != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%v: got %s, want %q", x, got, x.want)
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.looking = true
		if a.openMeters(t.Context()); x.want != "" {
			continue
		}
		want := instrument.PowerModel{IdleW: 3.25, Cores: 1}
		if got := a.forReader("model:raspberry-pi-1", "ssh://pi@board"); got != want.Spec() {
			t.Errorf("the board is told %s", got)
		}
		if got := a.forReader("model:raspberry-pi-1", "local"); got != "model:raspberry-pi-1" {
			t.Errorf("this machine is told %s", got)
		}
		if got := a.forReader("hwmon", "ssh://pi@board"); got != "hwmon" {
			t.Errorf("a meter is called %s", got)
		}
	}
}
