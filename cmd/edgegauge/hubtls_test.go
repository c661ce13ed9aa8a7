package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// hubProcess is a command that runs a hub in a folder.
func hubProcess(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", append([]string{"-child", "-store", "store", "-keys", "fleet/keys.json"},
		args...)...)
	cmd.Args[0], cmd.Dir = "edgegauge-hub", dir
	return cmd
}

// A hub in a process of its own lets in who speaks TLS to it, trusts its certificate, and has a key that it knows; and
// lets a bench's key do what is the bench's, whatever program holds it.
func TestHubOverTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir, other := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if err := hubCertificate(d, "127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	stolen := map[string]wire.Credentials{}
	for _, name := range []string{"one", "two"} {
		said, err := runHere(dir, "benches", "add", name, "--nats", "tls://"+address, "--ca", "hub.pem")
		if err != nil {
			t.Fatal(err)
		}
		text, err := pasted(said)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if stolen[name], err = wire.ReadCredentials(filepath.Join(dir, name+".json")); err != nil {
			t.Fatal(err)
		}
	}
	// Beyond loopback it does not even begin without a certificate.
	out, err := hubProcess(dir, "-listen", "0.0.0.0:0").CombinedOutput()
	if failed := new(exec.ExitError); !errors.As(err, &failed) || failed.ExitCode() != exitUnmeasured ||
		!bytes.Contains(out, []byte("can be reached from elsewhere")) {
		t.Errorf("a hub without a certificate on 0.0.0.0: got %v: %s", err, out)
	}
	hub := hubProcess(dir, "-listen", address, "-cert", "hub.pem", "-key", "hub.key")
	in, err := hub.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := hub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	defer hub.Wait()
	defer in.Close()
	if _, err := bufio.NewReader(said).ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}

	own, err := wire.ReadCredentials(filepath.Join(dir, "fleet", "coordinator.json"))
	if err != nil {
		t.Fatal(err)
	}
	board, err := wire.OpenBoard(own)
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	wrong, err := os.ReadFile(filepath.Join(other, "hub.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for what, ca := range map[string]string{"another CA": string(wrong), "the system's CAs": ""} {
		c := own
		c.CA = ca
		if _, err := wire.OpenBoard(c); !errors.As(err, new(*tls.CertificateVerificationError)) {
			t.Errorf("with %s: got %v", what, err)
		}
	}
	unencrypted(t, address)
	anyone := &tls.Config{InsecureSkipVerify: true}
	if _, err := nats.Connect(own.URL, nats.Secure(anyone)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without a key: got %v", err)
	}
	if _, err := nats.Connect(own.URL, nats.Secure(anyone), nats.UserInfo("a", "b")); !errors.Is(err,
		nats.ErrAuthorization) {
		t.Errorf("with a password: got %v", err)
	}
	if _, err := nats.Connect(own.URL, nats.Secure(&tls.Config{InsecureSkipVerify: true,
		MaxVersion: tls.VersionTLS12})); err == nil {
		t.Error("TLS 1.2 is taken")
	}
	thief(t, stolen["one"], filepath.Join(dir, "hub.pem"))
}

// unencrypted speaks the protocol without TLS.
func unencrypted(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	lines := bufio.NewReader(conn)
	info, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(info, `"tls_required":true`) {
		t.Errorf("the hub begins with %q, %v", info, err)
	}
	fmt.Fprint(conn, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n")
	for {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "PONG") {
			t.Error("the hub answers without TLS")
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the hub keeps a connection without TLS")
		}
		if err != nil {
			return
		}
	}
}

// thief has a bench's credentials, and tries to read another's orders and results, and to deliver in its name.
func thief(t *testing.T, c wire.Credentials, ca string) {
	t.Helper()
	refused := make(chan error, 64)
	nc, err := reach(c, c.Bench, nats.RootCAs(ca), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		refused <- err
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	tried := 0
	for _, subject := range []string{"$KV.assign.two", "$KV.assign.>", "fleet.result.two", "fleet.>", "$O.raw_two.>",
		">"} {
		nc.SubscribeSync(subject)
		tried++
	}
	for _, subject := range []string{"fleet.result.two", "fleet.alive.two", "fleet.drain.two", "fleet.conduct",
		"$KV.assign.two",
		"$KV.assign.one", "$O.raw_two.C.x", "$JS.API.STREAM.MSG.GET.OBJ_raw_two", "$JS.API.STREAM.DELETE.OBJ_raw_two"} {
		nc.Publish(subject, []byte("{}"))
		tried++
	}
	if err := nc.FlushTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	for i := range tried {
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("got %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("of %d things that a thief tries, %d are refused", tried, i)
		}
	}
	// What is its own goes through.
	if err := nc.Publish("fleet.alive.one", []byte("{}")); err != nil || nc.FlushTimeout(20*time.Second) != nil {
		t.Error(err)
	}
	select {
	case err := <-refused:
		t.Errorf("its own beat: got %v", err)
	case <-time.After(200 * time.Millisecond):
	}
}
