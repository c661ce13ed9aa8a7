package reference

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// grpcPeer is a command that speaks gRPC by grpcio. CI must have it.
func grpcPeer(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	python := os.Getenv("EDGEGAUGE_PYTHON")
	if python == "" {
		python = "python3"
	}
	dir := t.TempDir()
	out, err := exec.Command(python, "-m", "grpc_tools.protoc", "-I../contract", "--python_out="+dir,
		"--grpc_python_out="+dir,
		"services.proto", "grpc.proto").CombinedOutput()
	if err != nil {
		advice := strings.TrimSpace(string(out)) +
			"; python3 -m venv V && V/bin/pip install grpcio-tools, then EDGEGAUGE_PYTHON=V/bin/python"
		if os.Getenv("CI") == "true" {
			t.Fatal(advice)
		}
		t.Skip(advice)
	}
	c := exec.Command(python, append([]string{"testdata/grpc_peer.py", dir}, args...)...)
	c.Stderr = os.Stderr
	return c
}

func TestGRPCCallsOurServer(t *testing.T) {
	k, _ := find("grpc")
	p := &program{kind: k}
	srv, err := serveHTTP(p, stack.Serve{Service: "monitor", Encoding: "protobuf", Host: "127.0.0.1",
		Limits: stack.Limits{Body: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.close()
	u, err := url.Parse(srv.url())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := grpcPeer(t, "call", u.Port()).Output(); err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%s, %v", out, err)
	}
	if n := srv.take().n; n != 20 {
		t.Errorf("%d requests recorded, want 20", n)
	}
}

func TestWeCallGRPCServer(t *testing.T) {
	peer := grpcPeer(t, "serve")
	in, _ := peer.StdinPipe()
	out, _ := peer.StdoutPipe()
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	defer peer.Wait()
	defer in.Close()
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	// the second: some 500 kB, over the windows
	for name, n := range map[service.Name]int{service.Monitor: 16, service.Concat: 30_000} {
		for _, concurrency := range []int{1, 3} {
			c := &caller{name: name, encoding: codec.Protobuf}
			service.Make(name, 7, n, service.Width{}, &c.request)
			if c.check, err = service.NewChecker(name, &c.request); err != nil {
				t.Fatal(err)
			}
			d, err := drive.Dial(t.Context(), drive.Spec{URL: "http://127.0.0.1:" + strings.TrimSpace(port) + grpcService +
				string(name), Protocol: drive.GRPC,
				// with three connections, the driver's own
				ContentType: map[int]string{1: "application/grpc+proto"}[concurrency], Concurrency: concurrency,
				Timeout: 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			record, err := d.Run(t.Context(), drive.Load{Schedule: drive.ClosedLoop(25, 0), Record: true}, c)
			if err != nil {
				t.Fatal(err)
			}
			for x := range record.Exchanges() {
				if x.Failure != "" {
					t.Errorf("%s, %d connections, request %d: %s", name, concurrency, x.Seq, x.Failure)
				}
			}
			if record.Quality.Reconnects > 0 {
				t.Errorf("%d connections made anew", record.Quality.Reconnects)
			}
			d.Close()
		}
	}
	d, err := drive.Dial(t.Context(), drive.Spec{URL: "http://127.0.0.1:" + strings.TrimSpace(port) + grpcService + "sort",
		Protocol:    drive.GRPC,
		ContentType: "application/grpc+proto"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	record, err := d.Run(t.Context(), drive.Load{Schedule: drive.ClosedLoop(1, 0), Record: true}, drive.Fixed(""))
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		if !strings.HasPrefix(x.Failure, "gRPC status 12 (UNIMPLEMENTED)") { // and what the server says of it
			t.Errorf("a method that is not there: %q", x.Failure)
		}
	}
}
