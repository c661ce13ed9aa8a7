// Package sshtest runs a real sshd for tests: an ordinary process with its own
// keys on a loopback port, and a HOME from which it is reached as "board".
package sshtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Server is a running sshd.
type Server struct {
	Dir  string // everything of it
	Home string // HOME of who reaches it: .ssh/config, key, known_hosts
	Port string
	User string

	cmd *exec.Cmd
	log *os.File
}

// Missing says what a machine lacks to run one; empty: nothing.
func Missing() string {
	for _, f := range []string{sshd, keygen} {
		if _, err := os.Stat(f); err != nil {
			return f + " is missing; run: apt-get install openssh-server openssh-client"
		}
	}
	return ""
}

const (
	sshd   = "/usr/sbin/sshd"
	keygen = "/usr/bin/ssh-keygen"
)

// Start starts one below dir. Lines are added to sshd's configuration.
func Start(dir string, lines ...string) (*Server, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: filepath.Join(dir, "sshd"), Home: filepath.Join(dir, "home"), User: me.Username}
	if me.Uid == "0" {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd's empty folder
			return nil, err
		}
	}
	for _, d := range []string{s.Dir, s.path(".ssh")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{filepath.Join(s.Dir, "host"), filepath.Join(s.Dir, "other"), s.path(".ssh/id_ed25519")} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f",
			key).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
	}
	if s.Port, err = freePort(); err != nil {
		return nil, err
	}
	pub, err := os.ReadFile(s.path(".ssh/id_ed25519.pub"))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir, "authorized_keys"), pub, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if err := s.Know("host"); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("Host board board-*\n  HostName 127.0.0.1\n  Port %s\n  User %s\n  IdentityFile %s\n  "+
		"IdentityAgent none\n  UserKnownHostsFile %s\n",
		s.Port, s.User, s.path(".ssh/id_ed25519"), s.path(".ssh/known_hosts"))
	if err := os.WriteFile(s.path(".ssh/config"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return s, s.Run("host", lines...)
}

func (s *Server) path(name string) string { return filepath.Join(s.Home, name) }

// Know makes the server's key known: "host" is its own, "other" is not.
func (s *Server) Know(key string) error {
	pub, err := os.ReadFile(filepath.Join(s.Dir, key+".pub"))
	if err != nil {
		return err
	}
	f := strings.Fields(string(pub))
	return os.WriteFile(s.path(".ssh/known_hosts"),
		[]byte(fmt.Sprintf("[127.0.0.1]:%s %s %s\n", s.Port, f[0], f[1])), 0o600)
}

// Run starts sshd, again after Stop.
func (s *Server) Run(key string, lines ...string) error {
	config := filepath.Join(s.Dir, "sshd_config")
	text := fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM "+
		"no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nPrintMotd no\nMaxStartups 100\n%s\n",
		s.Port, filepath.Join(s.Dir, key), filepath.Join(s.Dir, "authorized_keys"), strings.Join(lines, "\n"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	var err error
	if s.log, err = os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	s.cmd = exec.Command(sshd, "-D", "-e", "-f", config)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 500 {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", s.Port))
		if err == nil {
			c.Close()
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	said, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	s.Stop()
	return fmt.Errorf("sshd does not answer; it said: %s", said)
}

// Stop ends the server; sessions go on.
func (s *Server) Stop() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.log.Close()
		s.cmd = nil
	}
}

// Sessions are the sshd processes that serve somebody: the server's descendants
// named sshd.
func (s *Server) Sessions() []int { return filter(s.below(), true) }

// Programs are what runs in the sessions: what is below sshd and is not it.
func (s *Server) Programs() []int { return filter(s.below(), false) }

// Runs says whether a program runs in a session with that word among its arguments.
func (s *Server) Runs(word string) bool {
	for _, p := range s.Programs() {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		for arg := range strings.SplitSeq(string(b), "\x00") {
			if arg == word {
				return true
			}
		}
	}
	return false
}

// below lists the server's descendants.
func (s *Server) below() []int {
	if s.cmd == nil {
		return nil
	}
	children := map[int][]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name may hold spaces
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, _ := strconv.Atoi(f[1])
		if f[0] != "Z" {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for todo := children[s.cmd.Process.Pid]; len(todo) > 0; todo = todo[1:] {
		found = append(found, todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return found
}

func filter(pids []int, isSSHD bool) []int {
	var out []int
	for _, p := range pids {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p))
		if err == nil && bytes.HasPrefix(comm, []byte("sshd")) == isSSHD {
			out = append(out, p)
		}
	}
	return out
}

// Cut kills the sessions, as a lost network does sooner or later.
func (s *Server) Cut() { kill(s.Sessions()) }

// Reboot kills all there is in the sessions, at once and without a word.
func (s *Server) Reboot() { kill(append(s.Programs(), s.Sessions()...)) }

func kill(pids []int) {
	for _, p := range pids {
		syscall.Kill(p, syscall.SIGKILL)
	}
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
