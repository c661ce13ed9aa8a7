package lab

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// slowToReach is a device that is long prepared, as one on which a stack is built.
type slowToReach struct {
	attachment
	takes time.Duration
}

func (s slowToReach) before(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return s.attachment.before(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A trial's limit begins when what it runs on is there: a build on a board would use it up in
// each attempt.
func TestTheLimitOfATrialSparesWhatIsBrought(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l, _ := fakeLab(t, soundStack(), 1)
		defer l.Store.Close()
		one, fakes, _ := attachedTrial(t, l)
		one.attachments.devices = slowToReach{fakes["devices"], 10 * l.Plan.Study.Timeouts.Trial}
		if err := alone(t, one, func(string) {}); err != nil {
			t.Error(err)
		}
	})
}

// slowBuild is an agent where a stack's build takes that long.
type slowBuild struct {
	fakeAgent
	takes time.Duration
}

func (a *slowBuild) Err() error { return nil }

func (a *slowBuild) Run(ctx context.Context, _ string, _ []string, _ ...string) (string, int, error) {
	select {
	case <-time.After(a.takes):
		return "", 0, nil
	case <-ctx.Done():
		return "", 0, context.Cause(ctx)
	}
}

// A build on a board that never ends is named, and ends the run: it would not end in the next trial.
func TestABuildWithoutEndIsNamed(t *testing.T) {
	d := stack.Description{Name: "gsoap", Dir: t.TempDir(),
		Build: stack.Build{Native: true, Command: []string{"./build.sh"}}}
	synctest.Test(t, func(t *testing.T) {
		for takes, want := range map[time.Duration]string{time.Hour: "",
			24 * time.Hour: "build stack gsoap on board: it took"} {
			s := &stage{agent: &slowBuild{takes: takes}, name: "board", stacks: map[string]string{},
				brought: map[crossing]bool{}}
			err := s.blame(t.Context(), s.bring(t.Context(), d, crossing{}))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v: got %v, want %q", takes, err, want)
			}
		}
	})
}

// away is a machine at an address.
type away struct {
	device.Away
	at netip.Addr
}

func (a away) Addresses(context.Context) (board, lab netip.Addr, err error) { return a.at, a.at, nil }

func (away) Target() string { return "armel" }

func TestAddressesThatNobodyCanListenOn(t *testing.T) {
	for _, tt := range []struct {
		at, ip  string
		onBoard bool
		want    string
	}{
		{"fe80::1", "ipv6", true, "the board is reached at fe80::1, a link-local address"},
		{"2001:db8::7", "ipv6", true, ""},
		{"2001:db8::7", "ipv6", false, ""},
		{"192.0.2.7", "ipv4", true, ""},
		{"169.254.1.1", "ipv6", true, "the study asks for ipv6, but the board is reached at 169.254.1.1; write ip: ipv4"},
		{"192.0.2.7", "ipv6", false, "the study asks for ipv6, but this machine is reached at 192.0.2.7"},
		{"2001:db8::7", "ipv4", true, "write ip: ipv6, or name the board by another address, such as " +
			"ssh://192.0.2.7, or by a name of which"},
		{"", "ipv4", true, "board is behind a jump host; put both sides on it"},
	} {
		at, _ := netip.ParseAddr(tt.at)
		board := place{device: away{}, away: away{at: at}, stage: &stage{name: "board"}}
		p := &placement{task: task{setup: &study.Setup{IP: tt.ip}}, at: [2]place{atServer: board}}
		if !tt.onBoard {
			p.at = [2]place{atClient: board}
		}
		got, err := p.between(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) ||
			!errors.Is(err, errLab)) || err == nil && got != tt.at {
			t.Errorf("%+v: got %s, %v", tt, got, err)
		}
	}
}

// Other benches come to the address that a worker was told, which is of one IP version.
func TestAddressesForOtherBenches(t *testing.T) {
	for _, tt := range []struct{ address, ip, want string }{
		{"192.0.2.1", "ipv4", ""}, {"2001:db8::1", "ipv6", ""},
		{"192.0.2.1", "ipv6", "the study asks for ipv6, but other benches reach this one at 192.0.2.1"},
		{"2001:db8::1", "ipv4", "the study asks for ipv4, but other benches reach this one at 2001:db8::1"},
		{"", "ipv4", `other benches reach this one at "", which is not an address`},
	} {
		one := &task{lab: &Lab{Address: tt.address}}
		got, err := one.addressFor(tt.ip)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) ||
			!errors.Is(err, errLab)) || err == nil && got != tt.address {
			t.Errorf("%+v: got %s, %v", tt, got, err)
		}
	}
}

// What a machine runs is the program that was made for it, and never the stack's other files.
func TestProgramsMadeForAMachine(t *testing.T) {
	dir := t.TempDir()
	d := stack.Description{Name: "x", Dir: dir, Serve: stack.Program{Command: []string{"build/server"}},
		Call: stack.Program{Command: []string{"build/bin/client"}}}
	for _, side := range []int{atClient, atServer} {
		made, err := crossed(away{}, d, side)
		if err == nil || !strings.Contains(err.Error(), "build the same source with a compiler for armel") {
			t.Errorf("side %d: got %v, %v", side, made, err)
		}
	}
	for _, file := range []string{"build/armel/server", "build/bin/armel/client"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := new(fakeAgent)
	s := &stage{agent: a, name: "board", stacks: map[string]string{}, brought: map[crossing]bool{}}
	for _, tt := range []struct {
		side int
		want crossing
	}{{atServer, crossing{filepath.Join(dir, "build/armel"), "build", "server"}},
		{atClient, crossing{filepath.Join(dir, "build/bin/armel"), "build/bin", "client"}}} {
		made, err := crossed(away{}, d, tt.side)
		if made != tt.want || err != nil {
			t.Errorf("side %d: got %v, %v", tt.side, made, err)
		}
		for range 2 {
			if err := s.bring(t.Context(), d, made); err != nil || s.stacks["x"] != "/agent/stacks/x" {
				t.Errorf("side %d: got %v, staged %v", tt.side, err, s.stacks)
			}
		}
	}
	// Each side's program is there, whatever the stack calls its products, and once.
	if want := []string{"stacks/x/build/server", "stacks/x/build/bin/client"}; !slices.Equal(a.files, want) {
		t.Errorf("copied %q, want %q", a.files, want)
	}
	d.Serve.Command = []string{"java"}
	if made, err := crossed(away{}, d, atServer); made != (crossing{}) || err != nil {
		t.Errorf("java: got %v, %v", made, err)
	}
}
