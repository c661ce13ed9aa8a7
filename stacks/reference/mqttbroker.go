package reference

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
)

// mosquitto is Debian's broker, a child process with a configuration of its own.
type mosquitto struct {
	at   string
	cmd  *exec.Cmd
	gone chan error // how it ended
}

const (
	mosquittoProgram = "/usr/sbin/mosquitto" // not in the path of ordinary users
	mosquittoFile    = "mosquitto.conf"
)

var mosquittoNeeds = []stack.Need{{File: mosquittoProgram, Install: "sudo apt-get install mosquitto"}}

// openMosquitto picks a free port; another program may take it before Mosquitto does, so it
// tries again.
func openMosquitto(p *program, s stack.Serve, limit int, socket string) (broker, error) {
	for try := 0; ; try++ {
		port := s.Port
		l, err := net.Listen("tcp", net.JoinHostPort(s.Host, fmt.Sprint(port)))
		if err != nil {
			return nil, err
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		m, err := startMosquitto(p, s, port, limit, socket)
		if err == nil || try == 3 {
			return m, err
		}
	}
}

func startMosquitto(p *program, s stack.Serve, port, limit int, socket string) (broker, error) {
	dir := filepath.Dir(socket)
	config, err := mosquittoConfig(s, port, limit, filepath.Base(socket))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, mosquittoFile), []byte(config), 0o600); err != nil {
		return nil, err
	}
	m := &mosquitto{at: net.JoinHostPort(s.Host, fmt.Sprint(port)),
		cmd: exec.Command(mosquittoProgram, "-c", mosquittoFile), gone: make(chan error, 1)}
	m.cmd.Dir, m.cmd.Stderr = dir, p.log.Writer()
	if err := inheritDescriptors(); err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Mosquitto: %w; install it: %s", err, mosquittoNeeds[0].Install)
	}
	go func() { m.gone <- m.cmd.Wait() }()
	for deadline := time.Now().Add(mqttPatience); ; {
		select {
		case err := <-m.gone:
			return nil, fmt.Errorf("the broker Mosquitto exited: %v; its output is in the log", err)
		case <-time.After(5 * time.Millisecond):
		}
		if conn, err := kernel.DialUnix(context.Background(), socket); err == nil {
			conn.Close()
			return m, nil
		}
		if time.Now().After(deadline) {
			m.close()
			return nil, errNoBroker
		}
	}
}

// inheritDescriptors lets the broker open as many files as this program may. Go raises its own
// limit when it starts, and gives a child the one of before, 1024 on most systems, unless
// the program sets it itself.
func inheritDescriptors() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

// mosquittoConfig keeps nothing on disk and sets TCP_NODELAY, as all stacks here do. The socket is named as in the
// broker's folder, where it works: by its whole path, which may be longer than a socket's address and have spaces, it
// would not start.
func mosquittoConfig(s stack.Serve, port, limit int, socket string) (string, error) {
	var b strings.Builder
	say := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }
	if os.Getuid() == 0 {
		say("user", "root") // else it would become one who may not read the key
	}
	say("persistence", false)
	say("log_dest", "stderr")
	say("log_type", "error")
	say("allow_anonymous", true)
	say("set_tcp_nodelay", true)
	say("max_inflight_messages", 1024)
	say("max_queued_messages", 8192)
	say("retain_available", false) // nothing here needs it, and it would be kept without bound
	if limit > 0 {
		say("max_packet_size", limit)
	}
	say("listener", fmt.Sprint(port, " ", s.Host))
	if s.Security == "tls" {
		for _, name := range []string{"cert", "key"} {
			file, err := filepath.Abs(s.Credentials[name])
			if err != nil {
				return "", err
			}
			say(name+"file", file)
		}
		say("tls_version", "tlsv1.3")
		say("ciphers_tls1.3", "TLS_AES_128_GCM_SHA256") // as Go's TLS and gSOAP's
	}
	say("listener", "0 "+socket)
	return b.String(), nil
}

func (m *mosquitto) address() string { return m.at }

func (m *mosquitto) close() {
	_ = m.cmd.Process.Kill() // it has nothing to save
	<-m.gone
}
