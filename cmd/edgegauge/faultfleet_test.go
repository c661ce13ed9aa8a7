package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/store"
)

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

// newFaulty makes a fleet for a study and starts its processes.
func newFaulty(t *testing.T, seed uint64, study string) *faulty {
	f := &faulty{t: t, seed: seed, dir: t.TempDir(), ns: map[string]*os.File{}, cables: map[string]*cable{},
		procs: map[string]*process{}, met: map[string]int{}, skews: map[string]time.Duration{}, began: time.Now()}
	var err error
	f.log, err = os.Create(filepath.Join(f.dir, "faults.log"))
	f.must(err)
	t.Cleanup(func() { f.log.Close() })
	f.out = filepath.Join(f.dir, "shared")
	f.must(os.WriteFile(filepath.Join(f.dir, "s.yaml"), []byte(study), 0o644))
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
	t.Cleanup(mourn(t, f.dir))
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
