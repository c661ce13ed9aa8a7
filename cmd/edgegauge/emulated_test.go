package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/store"
)

// machineInCI is the machine that the tests build and boot: of those without a
// kernel of our own to compile, which takes minutes, the one that boots quickest.
const machineInCI = "cortex-a53"

// needTUN is what a machine among others needs.
func needTUN(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 || !exists("/dev/net/tun") {
		t.Skip("an emulated machine among others needs root and /dev/net/tun")
	}
}

// machine builds the tests' machine, unless it is built. It returns its name.
func machine(t *testing.T) string {
	t.Helper()
	machineNamed(t, machineInCI)
	return machineInCI
}

// machineNamed builds a machine, unless it is built, in the project's cache, with
// Debian's present packages where the pinned ones are gone.
func machineNamed(t *testing.T, name string) (qemu.Board, qemu.Builder) {
	t.Helper()
	b, _ := qemu.Find(name)
	if _, err := exec.LookPath(b.Program); err != nil {
		t.Skipf("%s is missing; run: apt-get install qemu-system-arm", b.Program)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("machines are made of Debian packages, and apt-get is missing")
	}
	cache, err := filepath.Abs("../../.cache/edgegauge")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EDGEGAUGE_CACHE", cache)
	u := qemu.Builder{Cache: cache, Tell: func(s string) { t.Log(s) }}
	if _, err := qemu.OpenImage(b, u.Dir(b)); err == nil {
		return b, u
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err = u.Build(t.Context(), b); err != nil {
		t.Logf("with the pinned versions: %v", err)
		u.Newest = true
		_, err = u.Build(t.Context(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, u
}

// edgegauge runs the test binary as the program, in the project's folder.
func edgegauge(t *testing.T, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...)
	stacks, err := filepath.Abs("../../stacks")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Args[0] = "../..", "edgegauge"
	cmd.Env = append(os.Environ(), "EDGEGAUGE_STACKS="+stacks) // the test binary lies elsewhere: they are not beside it
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("edgegauge %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return said.String()
}

const countedStudy = `
study: counted
service: monitor
time: instructions
stack: reference/rest-json
client: {device: cortex-a53}
server: {device: cortex-a53}
requests: 20
design: {replications: 2, seed: 1, warmup: 5}
timeouts: {trial: 5m}
`

// A trial is equal to the nanosecond alone, and beside another trial and another's work; two
// replications are not, or they would be one.
func TestCountedTimeIsTheSame(t *testing.T) {
	machine(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "counted.yaml")
	if err := os.WriteFile(file, []byte(countedStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var sums [2][]string
	for i, set := range []string{"design.replications=1", "at_once=2"} {
		if i == 1 {
			go busy(&stop)
		}
		out := filepath.Join(dir, set)
		table := edgegauge(t, "run", file, "--out", out, "--set", set)
		if !strings.Contains(strings.ReplaceAll(table, "\n", " "), "counted instructions at 1000 million a second") {
			t.Errorf("the report does not say what its time is:\n%s", table)
		}
		sums[i] = timings(t, out)
	}
	stop.Store(true)
	if len(sums[0]) != 1 || len(sums[1]) != 2 || sums[0][0] != sums[1][0] {
		t.Fatalf("got %v and %v, want the same at first", sums[0], sums[1])
	}
	if sums[1][0] == sums[1][1] {
		t.Errorf("got %v, want two replications that differ", sums[1])
	}
}

// busy takes a CPU again and again, for a twentieth of the time, until stop is set: what runs beside it is interrupted
// more often than by work without a pause.
func busy(stop *atomic.Bool) {
	for !stop.Load() {
		for began := time.Now(); time.Since(began) < time.Millisecond; {
		}
		time.Sleep(19 * time.Millisecond)
	}
}

// timings is a checksum of each trial's figures.
func timings(t *testing.T, dir string) []string {
	t.Helper()
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	byTrial := map[int][]byte{}
	for row, err := range s.Results() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Method != store.Counted {
			t.Errorf("%s %s is %s, want counted", row.Side, row.Response, row.Method)
		}
		line, err := json.Marshal([]any{row.Response, row.Side, row.N, row.Mean, row.Min, row.Max, row.Median})
		if err != nil {
			t.Fatal(err)
		}
		byTrial[row.ID] = append(byTrial[row.ID], line...)
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(byTrial)) {
		sum := sha256.Sum256(byTrial[id])
		out = append(out, hex.EncodeToString(sum[:8]))
	}
	return out
}

const freeStudy = `
study: free
service: monitor
stack: phantom
options: {processing: 20ms}
factors:
  sides:
    - {name: client, client.device: cortex-a53, server.device: local}
    - {name: server, client.device: local, server.device: cortex-a53}
    - {name: both, client.device: cortex-a53, server.device: cortex-a53/icount}
ip: ipv6
requests: 10
design: {replications: 1, seed: 1, warmup: 2}
timeouts: {ready: 60s, request: 30s, trial: 5m}
`

// A machine that others speak with, from either side: what takes 20 ms takes
// 20 ms on its clock and on ours. The second run restores the state after boot.
func TestMachineAmongOthers(t *testing.T) {
	needTUN(t)
	machine(t)
	dir := t.TempDir()
	ownTemp(t)
	file := filepath.Join(dir, "free.yaml")
	if err := os.WriteFile(file, []byte(freeStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"one", "two"} {
		edgegauge(t, "run", file, "--out", filepath.Join(dir, out))
		s, err := store.OpenReadOnly(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range s.Results() {
			if err != nil {
				t.Fatal(err)
			}
			// the server is paced, which loses some of each wait
			if row.Response == "rtt" && row.Treatment[0].Text == "both" && row.Median < 0.015 {
				t.Errorf("%s %v: rtt is %v s; want 0.02", out, row.Treatment, row.Median)
			} else if row.Response == "rtt" && row.Treatment[0].Text != "both" &&
				(row.Method != store.Measured || row.Min < 0.0199) {
				t.Errorf("%s %v: rtt is at least %v s, %s; want 0.02, measured", out, row.Treatment, row.Min, row.Method)
			}
		}
		s.Close()
	}
}

// ownTemp gives the labs of a test a folder for temporary files of their own, which
// must be empty at its end.
func ownTemp(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "t") // short, since sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("EDGEGAUGE_TOGETHER", dir)
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v was left behind", left)
		}
		os.RemoveAll(dir)
	})
}

const linkedStudy = `
study: linked
service: monitor
stack: rest-json
factors:
  sides:
    - {name: the client, client.device: cortex-a53, server.device: local}
    - {name: the server, client.device: local, server.device: cortex-a53}
    - {name: both, client.device: cortex-a53, server.device: cortex-a53}
  ip: [ipv4, ipv6]
link: {up: {delay: 150ms}, down: {delay: 50ms}}
requests: 5
packets: keep
responses: [rtt, delay, wire_bytes, packets]
design: {replications: 1, seed: 1, warmup: 1}
timeouts: {ready: 60s, request: 30s, trial: 5m}
retries: 40
`

// A link lies before a machine, on either side, and between two: a round trip
// takes both of its delays, and its packets are seen, each as small as the wire's.
func TestLinkBeforeMachines(t *testing.T) {
	needTUN(t)
	machine(t)
	dir := t.TempDir()
	ownTemp(t)
	file := filepath.Join(dir, "linked.yaml")
	if err := os.WriteFile(file, []byte(linkedStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	edgegauge(t, "run", file, "--out", out)
	s, err := store.OpenReadOnly(out)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := map[string]int{}
	for row, err := range s.Results() {
		if err != nil {
			t.Fatal(err)
		}
		seen[row.Response]++
		if (row.Response == "rtt" || row.Response == "delay") && (row.Min < 0.1999 || row.Median > 1) {
			t.Errorf("%v: %s is %v to %v s; want the link's 0.2 and what an emulated machine adds", row.Treatment, row.Response,
				row.Min, row.Median)
		}
		if row.Response == "wire_bytes" && (row.Min < 300 || row.Max > 3000) {
			t.Errorf("%v: %v to %v B on the wire", row.Treatment, row.Min, row.Max)
		}
	}
	for _, response := range []string{"rtt", "delay", "wire_bytes"} {
		if seen[response] != 6 {
			t.Errorf("%s was measured in %d of 6 treatments", response, seen[response])
		}
	}
}

// A killed lab's machine ends with it. Its folder is left, and the next lab removes
// that, but not the folder of one at work.
func TestKilledLabsMachine(t *testing.T) {
	needTUN(t)
	machine(t)
	dir := t.TempDir()
	ownTemp(t)
	file := filepath.Join(dir, "linked.yaml")
	if err := os.WriteFile(file, []byte(linkedStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lab := exec.Command(exe, "run", file, "--out", filepath.Join(dir, "out"))
	lab.Dir, lab.Args[0] = "../..", "edgegauge"
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	folders := func() []string {
		all, _ := filepath.Glob(filepath.Join(os.TempDir(), "*", "edgegauge-machine-*"))
		return all
	}
	for end := time.Now().Add(2 * time.Minute); len(folders()) == 0 ||
		len(processesBelow(folders()[0])) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			lab.Process.Kill()
			t.Fatal("no machine was started")
		}
	}
	lab.Process.Kill()
	lab.Wait()
	left := folders()
	if len(left) == 0 {
		t.Fatal("a killed lab cannot remove its folder")
	}
	for end := time.Now().Add(time.Minute); len(processesBelow(left[0])) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v runs on", processesBelow(left[0]))
		}
	}
	quick := filepath.Join(dir, "quick.yaml")
	if err := os.WriteFile(quick,
		[]byte("study: quick\nservice: monitor\nstack: phantom\nrequests: 2\ndesign: {replications: 1}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if said := edgegauge(t, "run", quick, "--out", filepath.Join(dir, "quick")); !strings.Contains(said,
		"left by a killed lab") {
		t.Errorf("the next lab said:\n%s", said)
	}
}

// Limits under cgroup v2, for real and on another architecture: as root and in a
// delegated group. The tests of internal/device go into the machine by its agent.
func TestConstrainedUnderCgroup2(t *testing.T) {
	needTUN(t)
	b, _ := qemu.Find(machine(t))
	ownTemp(t)
	dir := t.TempDir()
	build := exec.Command("go", "test", "-c", "-o", filepath.Join(dir, "device.test"), "./internal/device")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+b.GOARCH,
		"GOFLAGS=-trimpath -buildvcs=false -ldflags=-s") // as make cross builds, so that nothing is compiled twice
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := localBed(t).OpenDevice(t.Context(), b.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer d.(*qemu.Interactive).Close()
	r, err := d.(*qemu.Interactive).Remote(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, err := r.PutAll(t.Context(), dir, []string{"device.test"}, "tests")
	if err != nil {
		t.Fatal(err)
	}
	said, code, err := r.Run(t.Context(), at, []string{"DEVICE_TEST_CGROUP2=all"}, at+"/device.test")
	if err != nil || code != 0 || !strings.Contains(said, "all fine") {
		t.Errorf("status %d, %v: %s", code, err, said)
	}
}

const servingStudy = `
study: serving
service: monitor
stack: phantom
server: {device: cortex-a53}
requests: 2
design: {replications: 1, seed: 1, warmup: 0}
timeouts: {ready: 60s, request: 30s, trial: 5m}
`

// A cache in which nothing can be written costs time only, if what is needed is
// there, and is named if it is not.
func TestMachineWithAClosedCache(t *testing.T) {
	needTUN(t)
	machine(t)
	ownTemp(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "free.yaml")
	if err := os.WriteFile(file, []byte(servingStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	edgegauge(t, "run", file, "--out", filepath.Join(dir, "before")) // its program is made now
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `exec 2>&1
mount -t tmpfs -o size=300m tmpfs "$1/small" && mkdir "$1/small/guest" "$1/small/devices" && cp -a "$EDGEGAUGE_CACHE/devices/cortex-a53" "$1/small/devices/" && cp "$EDGEGAUGE_CACHE"/guest/*arm64 "$1/small/guest/" || exit 1
mount -o remount,size=$(($(du -sk "$1/small" | cut -f1) + 2000))k "$1/small"
export EDGEGAUGE_CACHE="$1/small"
"$2" run "$3" --out "$1/full"; echo "full: $?"
ls "$1/small/states"
rm "$1/small/guest/"*
mount -o remount,ro "$1/small"
"$2" run "$3" --out "$1/closed"; echo "closed: $?"
"$2" devices build cortex-a7; echo "build: $?"
`
	os.Mkdir(filepath.Join(dir, "small"), 0o755)
	named := filepath.Join(dir, "edgegauge") // under which the test binary is the program
	if err := os.Symlink(exe, named); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-m", "sh", "-c", script, "sh", dir, named, file)
	cmd.Dir, cmd.WaitDelay = "../..", time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	facts, _ := os.ReadFile(filepath.Join(dir, "full/facts.json"))
	for _, want := range []string{"full: 0", "closed: 3", "build: 3",
		"read-only file system; free space there, or set EDGEGAUGE_CACHE to another folder"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if !strings.Contains(string(facts), "its state after boot could not be saved") ||
		strings.Contains(string(out), ".state") {
		t.Errorf("the state: %s", facts)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// The same packages make the same machine, byte for byte.
func TestMachineIsReproducible(t *testing.T) {
	b, _ := qemu.Find(machine(t))
	first := qemu.Builder{Cache: os.Getenv("EDGEGAUGE_CACHE")}
	one, err := qemu.OpenImage(b, first.Dir(b))
	if err != nil {
		t.Fatal(err)
	}
	again := qemu.Builder{Cache: t.TempDir(), Tell: func(s string) { t.Log(s) }}
	// what was fetched
	if err := os.Symlink(filepath.Join(first.Cache, "apt-"+b.Debian),
		filepath.Join(again.Cache, "apt-"+b.Debian)); err != nil {
		t.Fatal(err)
	}
	two, err := again.Build(t.Context(), b)
	if err != nil {
		t.Logf("with the pinned versions: %v", err)
		again.Newest = true
		two, err = again.Build(t.Context(), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.Made.Packages, two.Made.Packages) {
		t.Fatalf("got packages %v and %v", one.Made.Packages, two.Made.Packages)
	}
	if !maps.Equal(one.Made.Files, two.Made.Files) || len(two.Made.Files) < 2 {
		t.Errorf("got %v and %v", one.Made.Files, two.Made.Files)
	}
}
