package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startNginx serves one small file, and gives its URL and its access log.
func startNginx(t *testing.T) (url, log string) {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx"
	}
	_, err = os.Stat(program)
	needs(t, err == nil, "nginx; run: apt-get install nginx-light")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	for _, p := range []string{dir, filepath.Dir(dir)} { // the test's own; its worker may be another user
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log = filepath.Join(dir, "access.log")
	conf := fmt.Sprintf(`worker_processes 1; daemon off; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http { access_log %[1]s/access.log; client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s;
uwsgi_temp_path %[1]s; scgi_temp_path %[1]s; server { listen %[2]s; root %[1]s; } }`, dir, at)
	for name, text := range map[string]string{"nginx.conf": conf, "index.html": "hello"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", filepath.Join(dir, "nginx.conf"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	for range 100 {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return "http://" + at, log
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("nginx does not listen")
	return "", ""
}

// 200 devices ask nginx, which knows nothing of edgegauge: its access log has as many lines as the
// devices counted requests, with connections that last and with one for each request.
func TestDevicesAskNginx(t *testing.T) {
	if testing.Short() {
		t.Skip("needs nginx")
	}
	for _, connection := range []string{"keep-alive", "per-request"} {
		url, log := startNginx(t)
		o := newOwn(t)
		o.write(t, "s.yaml", fmt.Sprintf("study: s\nserver: {url: %q}\nrequest: {path: /}\nconnection: %s\ndevices: 200\n"+
			"period: 1s\nduration: 3s\nlateness: 20s\ndesign: {replications: 1, warmup: 0}\n"+
			"responses: [response_time, sent_rate, failed_share]\n", url, connection))
		if out, code := o.run(t, "run", "s.yaml", "--out", "out"); code != 0 {
			t.Fatalf("%s: %d: %s", connection, code, out)
		}
		out, _ := o.run(t, "report", "out", "--format", "json")
		var told struct {
			Cells []struct {
				Response string
				Mean     float64
			}
		}
		if err := json.Unmarshal([]byte(out), &told); err != nil {
			t.Fatalf("%v: %.300s", err, out)
		}
		figures := map[string]float64{}
		for _, c := range told.Cells {
			figures[c.Response] = c.Mean
		}
		lines, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		logged := bytes.Count(lines, []byte("\n"))
		right := strings.Count(string(lines), `"GET / HTTP/1.1" 200 5 `)
		if logged != 600 || right != logged || figures["sent_rate"] != 200 || figures["failed_share"] != 0 {
			t.Errorf("%s: nginx logged %d requests, %d of them as they should be; got %v", connection, logged, right, figures)
		}
	}
}
