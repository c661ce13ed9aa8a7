package reference

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	broker5 "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"edgegauge.example/edgegauge/internal/stack"
)

// An embedded broker is mochi's, in this process.
type embedded struct {
	server *broker5.Server
	at     string
}

func openEmbedded(_ *program, s stack.Serve, limit int, socket string) (broker, error) {
	l, err := mqttListen(s)
	if err != nil {
		return nil, err
	}
	beside, err := net.Listen("unix", socket)
	if err != nil {
		l.Close()
		return nil, err
	}
	// Everything it would log is a client's doing, which the client is told.
	server := broker5.New(&broker5.Options{Logger: slog.New(slog.NewTextHandler(io.Discard,
		&slog.HandlerOptions{Level: slog.Level(math.MaxInt)}))})
	server.Options.Capabilities.MaximumPacketSize = uint32(limit)
	server.Options.Capabilities.RetainAvailable = 0 // nothing here needs it, and it would be kept without bound
	e := &embedded{server, l.Addr().String()}
	err = server.AddHook(new(openToAll), nil)
	if err == nil {
		err = server.AddListener(listeners.NewNet("wire", l))
	}
	if err == nil {
		err = server.AddListener(listeners.NewNet("beside", beside))
	}
	if err == nil {
		err = server.Serve()
	}
	if err != nil {
		server.Close()
		l.Close()
		return nil, err
	}
	return e, nil
}

// openToAll lets everyone in: the lab's brokers are alone with its programs.
type openToAll struct{ broker5.HookBase }

func (*openToAll) ID() string { return "open" }
func (*openToAll) Provides(b byte) bool {
	return b == broker5.OnConnectAuthenticate || b == broker5.OnACLCheck
}
func (*openToAll) OnConnectAuthenticate(*broker5.Client, packets.Packet) bool { return true }

// OnACLCheck refuses what is no filter: the broker itself takes a+b for one.
func (*openToAll) OnACLCheck(_ *broker5.Client, topic string, _ bool) bool {
	levels := strings.Split(topic, "/")
	for i, level := range levels {
		if len(level) > 1 && strings.ContainsAny(level, "+#") || level == "#" && i < len(levels)-1 {
			return false // section 4.7.1
		}
	}
	return true
}

func (e *embedded) address() string { return e.at }
func (e *embedded) close()          { e.server.Close() }

// mosquitto is Debian's broker, a child process with a configuration of its own.
type mosquitto struct {
	at   string
	cmd  *exec.Cmd
	gone chan error // how it ended
}

const mosquittoProgram = "/usr/sbin/mosquitto" // not in the path of ordinary users

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
	config := filepath.Join(filepath.Dir(socket), "mosquitto.conf")
	if err := os.WriteFile(config, []byte(mosquittoConfig(s, port, limit, socket)), 0o600); err != nil {
		return nil, err
	}
	m := &mosquitto{at: net.JoinHostPort(s.Host, fmt.Sprint(port)), cmd: exec.Command(mosquittoProgram, "-c", config),
		gone: make(chan error, 1)}
	m.cmd.Stderr = p.log.Writer()
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
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return m, nil
		}
		if time.Now().After(deadline) {
			m.close()
			return nil, errNoBroker
		}
	}
}

// mosquittoConfig keeps nothing on disk and sets TCP_NODELAY, as all stacks here do.
func mosquittoConfig(s stack.Serve, port, limit int, socket string) string {
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
		say("certfile", s.Credentials["cert"])
		say("keyfile", s.Credentials["key"])
		say("tls_version", "tlsv1.3")
	}
	say("listener", "0 "+socket)
	return b.String()
}

func (m *mosquitto) address() string { return m.at }

func (m *mosquitto) close() {
	_ = m.cmd.Process.Kill() // it has nothing to save
	<-m.gone
}
