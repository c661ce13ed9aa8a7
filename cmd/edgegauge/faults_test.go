package main

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/store"
)

// A fleet of real processes, each in a network of its own, which are killed, frozen, cut off and deceived at instants
// that are drawn from a seed. Then they are let alone, and the results are compared with those of the study run alone.

var (
	faultRuns  = flag.Int("faultruns", 1, "how many fleets TestFaults runs, each with faults of its own")
	faultSeed  = flag.Uint64("faultseed", 3020, "the first fleet's seed, the others follow; 0: any")
	faultsWide = flag.Int("faultswide", 1, "how many fleets run at once")
	faultSpan  = flag.Duration("faultspan", 20*time.Second, "for how long faults begin")
	faultCount = flag.Int("faultcount", 10, "how many faults a fleet meets")
	faultLog   = flag.String("faultlog", "", "file to which a line is added for each fleet")
)

const (
	faultLease  = 4 * time.Second
	faultEnds   = 10 * time.Minute // a study is over by then, or never
	hubDisk     = 48 << 20         // B that the hub's file system has
	faultsHub   = "hub"
	faultsBoss  = "coordinator"
	faultsLiar  = "liar"
	faultsThird = "stranger" // the end of whoever repeats what was said
)

var faultBenches = []string{"one", "two"}

// A fault is one that is to happen.
type fault struct {
	at    time.Duration
	kind  string
	who   string
	lasts time.Duration
	dice  uint64
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s %s %v", f.at.Round(time.Millisecond), f.kind, f.who, f.lasts.Round(time.Millisecond))
}

// drawFaults draws what a fleet is to meet, by the instant.
func drawFaults(random *rand.Rand) []fault {
	kinds := []string{"kill", "kill", "kill", "freeze", "freeze", "empty", "shorten", "set back", "fill", "cut", "cut",
		"cut", "slow", "move", "other version"}
	if clocksCanBeSet {
		kinds = append(kinds, "clock")
	}
	anyone := append([]string{faultsHub, faultsBoss}, faultBenches...)
	var all []fault
	for range *faultCount {
		f := fault{at: time.Duration(random.Int64N(int64(*faultSpan))), kind: kinds[random.IntN(len(kinds))],
			who: anyone[random.IntN(len(anyone))], lasts: time.Duration(random.Int64N(int64(2 * faultLease))),
			dice: random.Uint64()}
		switch f.kind {
		case "empty", "shorten", "set back", "fill":
			f.who = faultsHub
		case "move":
			f.who = faultsBoss
		case "other version":
			f.who = faultBenches[random.IntN(len(faultBenches))]
		case "cut", "slow":
			f.who = anyone[1:][random.IntN(len(anyone)-1)]
		}
		if f.kind == "kill" { // it is away for a moment only
			f.lasts /= 4
		}
		if f.kind == "cut" {
			f.kind = []string{"cut to the hub", "cut from the hub", "cut both ways"}[random.IntN(3)]
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	return all
}

// A faulty is a fleet that meets faults.
type faulty struct {
	t      *testing.T
	seed   uint64
	dir    string
	out    string // results directory, which may move
	moved  int
	ns     map[string]*os.File
	cables map[string]*cable
	procs  map[string]*process
	met    map[string]int
	skews  map[string]time.Duration // of wall clocks
	log    *os.File
	began  time.Time
}

// A process is one of a fleet that is started again and again.
type process struct {
	program string
	args    func() []string
	cmd     *exec.Cmd // nil: it is not there
	in      io.Closer
	ended   chan struct{}
	err     error // once ended is closed
	held    bool  // by a fault: it is not to be started
}

func (f *faulty) say(format string, args ...any) {
	fmt.Fprintf(f.log, "%8.3f "+format+"\n", append([]any{time.Since(f.began).Seconds()}, args...)...)
}

func (f *faulty) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("seed %d: %v", f.seed, err)
	}
}

// start starts a process in its network, on a host of its own name.
func (f *faulty) start(name string) {
	p := f.procs[name]
	if p.cmd != nil || p.held {
		return
	}
	cmd := exec.Command("/proc/self/exe", p.args()...)
	cmd.Args[0], cmd.Dir = p.program, f.dir
	cmd.Env = append(os.Environ(), "HOME="+f.dir, "XDG_CACHE_HOME="+filepath.Join(f.dir, "cache"))
	log, err := os.OpenFile(filepath.Join(f.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	f.must(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	p.in, err = cmd.StdinPipe()
	f.must(err)
	host := name
	if name == faultsBoss {
		host = fmt.Sprint(name, f.moved)
	}
	f.must(kernel.InNetwork(f.ns[name], func() error {
		if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
			return err
		}
		if err := unix.Sethostname([]byte(host)); err != nil {
			return err
		}
		return cmd.Start()
	}))
	ended := make(chan struct{})
	p.cmd, p.ended = cmd, ended
	go func() {
		p.err = cmd.Wait()
		close(ended)
	}()
	if by := f.skews[name]; by != 0 {
		f.setClock(name, by)
	}
}

func (f *faulty) setClock(name string, by time.Duration) {
	f.skews[name] = by
	if p := f.procs[name]; p.cmd != nil {
		if err := setClock(p.cmd.Process.Pid, by); err != nil {
			f.say("clock of %s: %v", name, err)
		}
	}
}

// kill ends a process with SIGKILL.
func (f *faulty) kill(name string) {
	p := f.procs[name]
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGCONT)
	p.cmd.Process.Kill()
	<-p.ended
	p.in.Close()
	p.cmd = nil
}

// keep starts what has ended by itself. It says whether the study is done.
func (f *faulty) keep() bool {
	for _, name := range slices.Sorted(maps.Keys(f.procs)) {
		p := f.procs[name]
		if p.cmd == nil {
			f.start(name)
			continue
		}
		select {
		case <-p.ended:
		default:
			continue
		}
		if name == faultsBoss && (p.err == nil || f.measured()) {
			return true
		}
		f.say("%s has ended: %v", name, p.err)
		f.met[name+" ended by itself"]++
		p.in.Close()
		p.cmd = nil
		if name == faultsHub && f.met[name+" ended by itself"] > 20 { // it does not open its store: a person would empty it
			f.met["store given up"]++
			f.must(f.emptyStore())
		}
		f.wait(300 * time.Millisecond)
		f.start(name)
	}
	return false
}

// measured says whether all blocks are measured though the coordinator has failed: a machine under load may give a
// trial of which no report can be made.
func (f *faulty) measured() bool {
	s, err := store.OpenReadOnly(f.out)
	if err != nil {
		return false
	}
	defer s.Close()
	trials, err := s.Trials()
	if err != nil || slices.ContainsFunc(trials, func(t store.TrialState) bool { return t.State != store.Valid }) {
		return false
	}
	f.met["measured, and no report"]++
	return true
}

func (f *faulty) wait(d time.Duration) { time.Sleep(d) }

// begin makes a fault, and returns how it ends.
func (f *faulty) begin(x fault) func() {
	p := f.procs[x.who]
	kill := func() func() {
		f.kill(x.who)
		p.held = true
		return func() { p.held = false; f.start(x.who) }
	}
	dice := rand.New(rand.NewPCG(x.dice, 0))
	switch x.kind {
	case "kill":
		return kill()
	case "freeze":
		if p.cmd == nil {
			return func() {}
		}
		frozen := p.cmd.Process
		frozen.Signal(syscall.SIGSTOP)
		return func() { frozen.Signal(syscall.SIGCONT) }
	case "empty":
		back := kill()
		f.must(f.emptyStore())
		return back
	case "shorten":
		back := kill()
		f.must(f.shortenStore(dice))
		return back
	case "set back":
		copied := filepath.Join(f.dir, "earlier")
		f.must(os.RemoveAll(copied))
		if err := os.CopyFS(copied, os.DirFS(f.store())); err != nil {
			f.say("a copy of the store: %v", err) // it changes meanwhile
		}
		return func() {
			f.kill(x.who)
			f.must(f.emptyStore())
			// On a full disk (another fault) what fits is restored: a store that was cut short.
			if err := os.CopyFS(f.store(), os.DirFS(copied)); !errors.Is(err, syscall.ENOSPC) {
				f.must(err)
			}
			f.start(x.who)
		}
	case "fill":
		filler := filepath.Join(f.dir, "disk", "filler")
		if file, err := os.Create(filler); err == nil {
			io.Copy(file, &zeros{})
			file.Close()
		}
		return func() { os.Remove(filler) }
	case "cut to the hub", "cut from the hub", "cut both ways":
		c := f.cables[x.who]
		var ways []int
		if x.kind != "cut from the hub" {
			ways = append(ways, toHub)
		}
		if x.kind != "cut to the hub" {
			ways = append(ways, fromHub)
		}
		for _, way := range ways {
			c.cut[way].Add(1)
		}
		return func() {
			for _, way := range ways {
				c.cut[way].Add(-1)
			}
		}
	case "slow":
		c := f.cables[x.who]
		by := int64(time.Second) + dice.Int64N(int64(2*time.Second))
		c.late.Add(by)
		return func() { c.late.Add(-by) }
	case "move":
		f.kill(x.who)
		p.held = true
		f.moved++
		to := filepath.Join(f.dir, fmt.Sprint("moved", f.moved))
		if _, err := os.Stat(f.out); err == nil {
			f.must(os.CopyFS(to, os.DirFS(f.out)))
			f.must(os.RemoveAll(f.out))
		}
		f.out = to
		return func() { p.held = false; f.start(x.who) }
	case "other version":
		f.kill(x.who)
		p.program = "edgegauge-other"
		f.start(x.who)
		return func() {
			f.kill(x.who)
			p.program = "edgegauge"
			f.start(x.who)
		}
	case "clock":
		f.setClock(x.who, time.Hour*time.Duration(1-2*dice.IntN(2)))
		return func() { f.setClock(x.who, -f.skews[x.who]) } // an hour the other way, and so it stays
	}
	f.t.Fatalf("no fault is called %s", x.kind)
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (f *faulty) store() string { return filepath.Join(f.dir, "disk", "store") }

func (f *faulty) emptyStore() error { return os.RemoveAll(f.store()) }

// shortenStore cuts files of the hub off somewhere, as a disk that lies about what it has written may.
func (f *faulty) shortenStore(dice *rand.Rand) error {
	return filepath.WalkDir(f.store(), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || dice.IntN(3) > 0 {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		return os.Truncate(path, dice.Int64N(info.Size()))
	})
}

// faultStudy is small, and ends in spite of a busy machine: a trial that is disturbed is repeated.
const faultStudy = `study: faults
service: monitor
factors:
  stack: [phantom, reference/rest-json]
requests: 20
retries: 20
responses: [rtt]
design: {replications: 24, warmup: 5}
`

// hubCertificate makes a certificate for addresses, which vouches for itself. Clocks are an hour off.
func hubCertificate(dir string, addresses ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		return err
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	for _, a := range addresses {
		c.IPAddresses = append(c.IPAddresses, net.ParseIP(a))
	}
	der, err := x509.CreateCertificate(crand.Reader, &c, &c, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "hub.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(filepath.Join(dir, "hub.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
			0o600))
}

// runHere runs edgegauge in a folder, and returns what it prints.
func runHere(dir string, args ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0], cmd.Dir = "edgegauge", dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("edgegauge %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return out.String(), nil
}

const hubPort = "4222"

// newFaulty makes a fleet and starts its processes.
func newFaulty(t *testing.T, seed uint64) *faulty {
	f := &faulty{t: t, seed: seed, dir: t.TempDir(), ns: map[string]*os.File{}, cables: map[string]*cable{},
		procs: map[string]*process{}, met: map[string]int{}, skews: map[string]time.Duration{}, began: time.Now()}
	var err error
	f.log, err = os.Create(filepath.Join(f.dir, "faults.log"))
	f.must(err)
	t.Cleanup(func() { f.log.Close() })
	f.out = filepath.Join(f.dir, "shared")
	f.must(os.WriteFile(filepath.Join(f.dir, "s.yaml"), []byte(faultStudy), 0o644))
	f.ns[faultsHub] = newNetwork(t)
	var far []string
	for i, name := range append([]string{faultsBoss, faultsThird}, faultBenches...) {
		f.ns[name] = newNetwork(t)
		f.cables[name] = lay(t, f.ns[faultsHub], f.ns[name], i)
		far = append(far, f.cables[name].far)
	}
	f.must(hubCertificate(f.dir, far...))
	for _, name := range append([]string{faultsLiar}, faultBenches...) {
		at := f.cables[name]
		if at == nil {
			at = f.cables[faultsThird]
		}
		said, err := runHere(f.dir, "benches", "add", name, "--ca", "hub.pem", "--nats",
			"tls://"+net.JoinHostPort(at.far, hubPort))
		f.must(err)
		text, err := pasted(said)
		f.must(err)
		f.must(os.WriteFile(filepath.Join(f.dir, name+".json"), text, 0o600))
	}
	disk := filepath.Join(f.dir, "disk")
	f.must(os.Mkdir(disk, 0o755))
	f.must(unix.Mount("hub", disk, "tmpfs", 0, fmt.Sprint("size=", hubDisk)))
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	f.procs[faultsHub] = &process{program: "edgegauge-hub", args: func() []string {
		return []string{"-child", "-store", "disk/store", "-keys", "fleet/keys.json", "-listen", "0.0.0.0:" + hubPort,
			"-cert", "hub.pem", "-key", "hub.key"}
	}}
	f.procs[faultsBoss] = &process{program: "edgegauge", args: func() []string {
		return []string{"run", "s.yaml", "--out", f.out, "--benches", "any", "--creds", "fleet/coordinator.json", "--nats",
			"tls://" + net.JoinHostPort(f.cables[faultsBoss].far, hubPort), "--lease", faultLease.String()}
	}}
	for _, name := range faultBenches {
		f.procs[name] = &process{program: "edgegauge", args: func() []string {
			return []string{"worker", "--creds", name + ".json", "--dir", "work-" + name, "--lease", faultLease.String(),
				"--turn", "turn", "--child"}
		}}
	}
	t.Cleanup(func() {
		for name := range f.procs {
			f.kill(name)
		}
	})
	for _, name := range append([]string{faultsHub, faultsBoss}, faultBenches...) {
		f.start(name)
	}
	return f
}

// meet lets faults happen until the study is done or all are over.
func (f *faulty) meet(all []fault) (done bool) {
	type instant struct {
		at time.Duration
		do func()
	}
	var next []instant
	for _, x := range all {
		next = append(next, instant{x.at, func() {
			f.say("%v", x)
			end := f.begin(x)
			f.met[x.kind]++
			if x.lasts > faultLease && x.kind != "kill" {
				f.met["beyond the lease"]++
			}
			next = append(next, instant{x.at + x.lasts, func() { f.say("end of %s %s", x.kind, x.who); end() }})
			slices.SortStableFunc(next, func(a, b instant) int { return cmp.Compare(a.at, b.at) })
		}})
	}
	for !done && len(next) > 0 {
		if wait := next[0].at - time.Since(f.began); wait > 0 {
			time.Sleep(min(wait, 100*time.Millisecond))
			done = f.keep()
			continue
		}
		now := next[0]
		next = next[1:]
		now.do()
	}
	return done
}

// heal ends what may not have ended.
func (f *faulty) heal() {
	os.Remove(filepath.Join(f.dir, "disk", "filler"))
	for _, c := range f.cables {
		c.cut[toHub].Store(0)
		c.cut[fromHub].Store(0)
		c.late.Store(0)
	}
	for _, p := range f.procs {
		if p.held = false; p.cmd != nil {
			p.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// finish waits until the study is done.
func (f *faulty) finish() error {
	for end := time.Now().Add(faultEnds); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if f.keep() {
			return nil
		}
	}
	return fmt.Errorf("the study did not end within %v", faultEnds)
}

// judge compares the results with those of the study run alone, and counts blocks with other than exactly one valid
// result.
func (f *faulty) judge(alone string) (blocks, wrong int, err error) {
	want, err := os.ReadFile(filepath.Join(alone, "plan.csv"))
	if err != nil {
		return 0, 0, err
	}
	got, err := os.ReadFile(filepath.Join(f.out, "plan.csv"))
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("plan.csv is another than that of the study run alone")
	}
	if err != nil {
		return 0, 0, err
	}
	s, err := store.OpenReadOnly(f.out)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	if found := s.Verify(); len(found) > 0 {
		return 0, 0, fmt.Errorf("the results are not whole: %v", found)
	}
	blocks, wrong, states, err := countBlocks(s)
	for state, n := range states {
		f.met["attempts "+string(state)] = n
	}
	return blocks, wrong, err
}

// countBlocks counts blocks, and those of which not each trial has exactly one valid attempt, all on one bench.
func countBlocks(s *store.Store) (blocks, wrong int, states map[store.State]int, err error) {
	trials, err := s.Trials()
	if err != nil {
		return 0, 0, nil, err
	}
	attempts, err := s.Attempts(0)
	if err != nil {
		return 0, 0, nil, err
	}
	states = map[store.State]int{}
	valid, places := map[int]int{}, map[int]store.Bench{}
	for _, a := range attempts {
		if states[a.State]++; a.State == store.Valid {
			valid[a.Trial]++
			places[a.Trial] = a.Bench
		}
	}
	first, bad := map[int]store.Bench{}, map[int]bool{}
	for _, t := range trials {
		if t.State == store.Lacking { // its bench cannot run it, and need not
			bad[t.Block] = bad[t.Block] || valid[t.ID] != 0
			continue
		}
		if _, ok := first[t.Block]; !ok {
			first[t.Block] = places[t.ID]
		}
		bad[t.Block] = bad[t.Block] || valid[t.ID] != 1 || places[t.ID] != first[t.Block]
	}
	for _, b := range bad {
		if blocks++; b {
			wrong++
		}
	}
	return blocks, wrong, states, nil
}

// Whatever happens to a fleet of real processes, each block counts exactly once.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	needs(t, os.Geteuid() == 0 && link.Able() == nil, "root, for networks and file systems of its own")
	alone := t.TempDir()
	if err := os.WriteFile(filepath.Join(alone, "s.yaml"), []byte(faultStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := runHere(alone, "run", "s.yaml", "--out", "alone"); err != nil {
		t.Fatal(err)
	}
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) >> 20
	}
	seeds := make(chan uint64)
	var running sync.WaitGroup
	var logging sync.Mutex
	for range *faultsWide {
		running.Go(func() {
			for seed := range seeds {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					line := faultRun(t, seed, filepath.Join(alone, "alone"))
					t.Log(line)
					logging.Lock()
					defer logging.Unlock()
					if err := logFaults(line); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	for i := range *faultRuns {
		seeds <- seed + uint64(i)
	}
	close(seeds)
	running.Wait()
}

func logFaults(line string) error {
	if *faultLog == "" {
		return nil
	}
	file, err := os.OpenFile(*faultLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, line)
	return errors.Join(err, file.Close())
}

// faultRun is one fleet's life. Its seed gives the same faults at the same instants again.
func faultRun(t *testing.T, seed uint64, alone string) string {
	random := rand.New(rand.NewPCG(seed, 0))
	all := drawFaults(random)
	f := newFaulty(t, seed)
	who, err := wire.ReadCredentials(filepath.Join(f.dir, "fleet", "coordinator.json"))
	f.must(err)
	end := f.repeat(who, rand.New(rand.NewPCG(seed, 1)))
	defer end()
	if random.IntN(2) == 0 {
		lies := f.lie(rand.New(rand.NewPCG(seed, 2)), alone)
		defer lies()
	}
	done := f.meet(all)
	f.heal()
	if !done {
		err = f.finish()
	}
	blocks, wrong := 0, 0
	if err == nil {
		blocks, wrong, err = f.judge(alone)
	}
	line := fmt.Sprintf("seed %d: %.0f s, %d blocks, %d wrong, error %v, met %v", seed,
		time.Since(f.began).Seconds(), blocks, wrong, err, f.met)
	if err != nil || wrong > 0 {
		kept := filepath.Join(os.TempDir(), fmt.Sprint("edgegauge-faults-", seed))
		for name := range f.procs {
			f.kill(name)
		}
		os.CopyFS(kept, os.DirFS(f.dir))
		t.Errorf("%s; what it left is in %s", line, kept)
	}
	return line
}
