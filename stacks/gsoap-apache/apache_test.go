// Package apache_test tests gsoap-apache from outside: what the conformance kit does not know of its options and its
// end.
package apache_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

func start(t *testing.T, argv ...string) (*exec.Cmd, io.Closer, *stack.Conn) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return cmd, in, stack.NewConn(in, r)
}

// open is a directory that another user may enter, which t.TempDir is not.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "apache-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// running counts the processes that name dir on their command line.
func running(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && strings.Contains(string(line), dir) {
			n++
		}
	}
	return n
}

func TestDeployments(t *testing.T) {
	stacktest.Built(t, "../gsoap")
	stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, mpm := range []string{"prefork", "event"} {
		for _, security := range []string{"none", "tls", "tls12"} {
			t.Run(mpm+" "+security, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
				defer cancel()
				dir := open(t)
				server, in, srv := start(t, "build/gsoap-apache", "serve")
				ready, err := srv.Serve(ctx, stack.Serve{Service: "sum", Encoding: "soap11", Security: security, Transport: "http",
					Host:   "127.0.0.1",
					Limits: stack.Limits{Body: 1e6}, Credentials: credentials, Directory: dir, Options: map[string]string{"mpm": mpm}})
				if err != nil {
					t.Fatal(err)
				}
				client, clientIn, cl := start(t, "../gsoap/build/gsoap", "call")
				_, err = cl.Call(ctx, stack.Call{URL: ready.URL, Service: "sum", Encoding: "soap11", Security: security,
					Message:    stack.Message{Seed: 7, N: 50},
					Connection: "per-request", Timeout: int64(5 * time.Second), Credentials: credentials})
				if err != nil {
					t.Fatal(err)
				}
				const want = 101
				var in1, out1, in2, out2 int64
				_, err = cl.Run(ctx, stack.Run{Requests: want, Record: true, Concurrency: 4}, func(x measure.Exchange) {
					in1, out1 = in1+x.In, out1+x.Out
					if x.Failure != "" {
						t.Errorf("request %d: %s", x.Seq, x.Failure)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				end, err := srv.Report(ctx, false, func(x measure.Exchange) { in2, out2 = in2+x.In, out2+x.Out })
				if err != nil || end.Count != want || in1 != out2 || out1 != in2 {
					t.Errorf("server has %d records of %d/%d B, client %d of %d/%d: %v", end.Count, in2, out2, want, out1, in1, err)
				}
				clientIn.Close()
				in.Close()
				if err := client.Wait(); err != nil {
					t.Error(err)
				}
				if err := server.Wait(); err != nil {
					t.Error(err)
				}
				left, err := os.ReadDir(dir)
				if n := running(t, dir); err != nil || len(left) > 0 || n > 0 {
					t.Errorf("left behind: %v and %d processes: %v", left, n, err)
				}
			})
		}
	}
}

// Apache resumes no session and has the group and the suite of all stacks, with TLS 1.2 as well, which no stack inside
// edgegauge speaks.
func TestHandshakes(t *testing.T) {
	gsoap, d := stacktest.Built(t, "../gsoap"), stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stacktest.Between(t, d, gsoap, credentials, "handshakes are whole")
}

// A connection that is to be kept lasts while nothing is asked for a minute, and for longer.
func TestIdleConnectionIsKept(t *testing.T) {
	stacktest.Built(t, ".")
	for _, mpm := range []string{"prefork", "event"} {
		t.Run(mpm, func(t *testing.T) {
			t.Parallel()
			server, in, srv := start(t, "build/gsoap-apache", "serve")
			ready, err := srv.Serve(t.Context(), stack.Serve{Service: "echo", Encoding: "soap11", Security: "none",
				Transport: "http", Host: "127.0.0.1", Limits: stack.Limits{Body: 1e6}, Directory: open(t),
				Options: map[string]string{"mpm": mpm}})
			if err != nil {
				t.Fatal(err)
			}
			client := http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := range 2 {
				const echo = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>` +
					`<echo xmlns="urn:edgegauge:services:1"><text>four</text></echo></e:Body></e:Envelope>`
				kept := false
				request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
					GotConn: func(c httptrace.GotConnInfo) { kept = c.Reused }}), http.MethodPost, ready.URL,
					strings.NewReader(echo))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "text/xml")
				answer, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != 200 || kept != (i == 1) {
					t.Errorf("request %d: %s, kept %v: %v", i+1, answer.Status, kept, err)
				}
				if i == 0 {
					time.Sleep(63 * time.Second)
				}
			}
			in.Close()
			if err := server.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A killed server takes its Apache along.
func TestKilled(t *testing.T) {
	stacktest.Built(t, ".")
	for _, mpm := range []string{"prefork", "event"} {
		t.Run(mpm, func(t *testing.T) {
			dir := open(t)
			server, in, srv := start(t, "build/gsoap-apache", "serve")
			defer in.Close()
			_, err := srv.Serve(t.Context(), stack.Serve{Service: "echo", Encoding: "soap11", Security: "none",
				Transport: "http", Host: "127.0.0.1",
				Directory: dir, Options: map[string]string{"mpm": mpm}})
			if err != nil {
				t.Fatal(err)
			}
			if running(t, dir) == 0 {
				t.Fatal("Apache does not run")
			}
			server.Process.Kill()
			server.Wait()
			deadline := time.Now().Add(time.Minute)
			for running(t, dir) > 0 && time.Now().Before(deadline) {
				time.Sleep(20 * time.Millisecond)
			}
			if n := running(t, dir); n > 0 {
				t.Errorf("%d processes of Apache are left a minute after its server was killed", n)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	stacktest.Built(t, ".")
	server, in, srv := start(t, "build/gsoap-apache", "serve")
	_, err := srv.Serve(t.Context(), stack.Serve{Service: "echo", Encoding: "soap11", Security: "none", Host: "127.0.0.1",
		Directory: open(t),
		Options:   map[string]string{"mpm": "worker"}})
	if err == nil || !strings.Contains(err.Error(), "prefork") {
		t.Errorf("mpm worker: got %v, want an error that says what there is", err)
	}
	in.Close()
	if err := server.Wait(); err == nil {
		t.Error("ended with status 0 after an error")
	}
}
