package coap

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests talk to libcoap's programs, which were written by others.

const secret = "correct horse"

// libcoap finds a program of libcoap's. Where CI is true it must be there.
func libcoap(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		const advice = "needs %s: apt-get install libcoap3-bin"
		if os.Getenv("CI") == "true" {
			t.Fatalf(advice, name)
		}
		t.Skipf(advice, name)
	}
	return path
}

// ask runs coap-client and returns what it received.
func ask(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"-B", "30", "-o", out}, args...)...)
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, said)
	}
	body, err := os.ReadFile(out)
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return body
}

// startDTLS serves DTLS on a free port of a loopback address until the test ends.
func startDTLS(t testing.TB, s *Server, host string, k PSK) string {
	t.Helper()
	l, err := ListenDTLS("udp", &net.UDPAddr{IP: net.ParseIP(host)}, k)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.ServeListener(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestTheirClientOurServer(t *testing.T) {
	var mu sync.Mutex
	kept := map[string][]byte{}
	store := func(req *Request, resp *Response) {
		mu.Lock()
		defer mu.Unlock()
		switch req.Method {
		case PUT:
			kept[string(req.Path)] = bytes.Clone(req.Body)
		case POST:
			resp.Format, resp.Body = OctetStream, append(resp.Body, req.Body...)
		case GET:
			resp.Format, resp.Body = OctetStream, append(resp.Body, kept[string(req.Path)]...)
		}
	}
	file := func(n int) (name string, body []byte) {
		name, body = filepath.Join(t.TempDir(), "in"), pattern(n)
		if err := os.WriteFile(name, body, 0o600); err != nil {
			t.Fatal(err)
		}
		return name, body
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, way := range []string{"notls", "openssl"} {
			program := libcoap(t, "coap-client-"+way)
			scheme, address, extra := "coap", "", []string(nil)
			if way == "notls" {
				address = start(t, &Server{Handler: store}, host)
			} else {
				address = startDTLS(t, &Server{Handler: store}, host, PSK{Identity: "lab", Key: []byte(secret)})
				scheme, extra = "coaps", []string{"-k", secret, "-u", "lab"}
			}
			for _, n := range []int{1, 1000, 1024, 1025, 100_000, 500_000} {
				in, body := file(n)
				url := fmt.Sprintf("%s://%s/files/%d", scheme, address, n)
				ask(t, program, append(extra, "-m", "put", "-f", in, url)...)
				if got := ask(t, program, append(extra, url)...); !bytes.Equal(got, body) {
					t.Errorf("%s, %s, %d bytes put, got %d bytes", way, host, n, len(got))
				}
				if got := ask(t, program, append(extra, "-m", "post", "-f", in, url)...); !bytes.Equal(got, body) {
					t.Errorf("%s, %s, %d bytes posted, got %d bytes", way, host, n, len(got))
				}
			}
			in, body := file(10_000)
			url := fmt.Sprintf("%s://%s/small", scheme, address)
			for _, size := range []string{"16", "64", "512"} {
				if got := ask(t, program, append(extra, "-b", size, "-m", "post", "-f", in, url)...); !bytes.Equal(got, body) {
					t.Errorf("%s, %s, blocks of %s: got %d bytes", way, host, size, len(got))
				}
			}
			if got := ask(t, program, append(extra, "-N", "-m", "post", "-e", "hello", url)...); string(got) != "hello" {
				t.Errorf("%s, %s, non-confirmable: got %q", way, host, got)
			}
		}
	}
}

func TestTheirClientOurServerInSmallBlocks(t *testing.T) {
	program := libcoap(t, "coap-client-notls")
	address := start(t, &Server{Handler: echo, BlockSize: 64}, "127.0.0.1")
	in, body := filepath.Join(t.TempDir(), "in"), pattern(5000)
	if err := os.WriteFile(in, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, program, "-m", "post", "-f", in, "coap://"+address+"/echo"); !bytes.Equal(got, body) {
		t.Errorf("got %d bytes, want %d", len(got), len(body))
	}
}

// theirs starts coap-server on a free port of a loopback address. It says
// nothing when it is ready, so it is asked until it answers.
func theirs(t testing.TB, way, host string, args ...string) string {
	t.Helper()
	program := libcoap(t, "coap-server-"+way)
	port := freePort(t)
	address := net.JoinHostPort(host, fmt.Sprint(port))
	cmd := exec.Command(program, append([]string{"-A", host, "-p", fmt.Sprint(port), "-d", "50"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c, err := Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(t.Context(), &Call{Method: GET})
		c.Close()
		if err == nil {
			if way != "notls" {
				return net.JoinHostPort(host, fmt.Sprint(port+1))
			}
			return address
		}
	}
	t.Fatalf("%s does not answer on %s", program, address)
	return ""
}

func TestOurClientTheirServer(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, way := range []string{"notls", "openssl"} {
			t.Run(way+" "+host, func(t *testing.T) {
				for _, size := range []int{1024, 64} {
					for _, n := range []int{1, 1024, 1025, 100_000, 500_000} {
						var extra []string
						if way == "openssl" {
							extra = []string{"-k", secret, "-h", "lab"}
						}
						if n > 5000 && size < 1024 {
							continue
						}
						c := dial(t, theirs(t, way, host, extra...), way == "openssl", Params{BlockSize: size})
						body := pattern(n)
						reply := must(t, c, &Call{Method: PUT, Path: "new/thing", Format: OctetStream, Body: body})
						if reply.Code != Created {
							t.Errorf("PUT of %d bytes in blocks of %d: got %v %q", n, size, reply.Code, reply.Body)
						}
						reply = must(t, c, &Call{Method: GET, Path: "new/thing"})
						if reply.Code != Content || !bytes.Equal(reply.Body, body) || reply.Format != OctetStream {
							t.Errorf("GET of %d bytes in blocks of %d: got %v, %d bytes, format %d", n, size, reply.Code,
								len(reply.Body), reply.Format)
						}
						reply = must(t, c, &Call{Method: GET, Path: "nothing/here"})
						if reply.Code != NotFound {
							t.Errorf("GET of nothing: got %v", reply.Code)
						}
						c.Close()
					}
				}
			})
		}
	}
}

func dial(t testing.TB, address string, secure bool, p Params) *Client {
	t.Helper()
	var c *Client
	conn, err := net.Dial("udp", address)
	if err == nil {
		c = NewClient(conn, p)
	}
	if secure {
		conn.Close()
		c, err = DialDTLS(t.Context(), address, PSK{Identity: "lab", Key: []byte(secret)}, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must(t testing.TB, c *Client, call *Call) Reply {
	t.Helper()
	reply, err := c.Do(t.Context(), call)
	if err != nil {
		t.Error(err)
	}
	return reply
}

// Their client loses datagrams and repeats them: our handler must run once for each request.
func TestTheirClientOnBadDays(t *testing.T) {
	program := libcoap(t, "coap-client-notls")
	s := &Server{Handler: echo}
	address := start(t, s, "127.0.0.1")
	in, body := filepath.Join(t.TempDir(), "in"), pattern(5000)
	if err := os.WriteFile(in, body, 0o600); err != nil {
		t.Fatal(err)
	}
	// Its fourth and sixth datagram, so that it waits some seconds and no more.
	if got := ask(t, program, "-l", "4,6", "-m", "post", "-f", in, "coap://"+address+"/echo"); !bytes.Equal(got, body) {
		t.Errorf("got %d bytes, want %d", len(got), len(body))
	}
	if n := s.Counts.Requests.Load(); n != 1 {
		t.Errorf("handler ran %d times, want 1", n)
	}
}

// coap-server's /async answers separately, after seconds; a request with a
// body gets both directions with -e; -l makes it lose every fifth datagram.
func TestTheirServerOnBadDays(t *testing.T) {
	c := dial(t, theirs(t, "notls", "127.0.0.1"), false, Params{})
	defer c.Close()
	if reply := must(t, c, &Call{Method: GET, Path: "async", Query: "1"}); string(reply.Body) != "done" {
		t.Errorf("separate response: got %v %q", reply.Code, reply.Body)
	}
	if reply := must(t, c, &Call{Method: GET, NON: true, Path: "time"}); reply.Code != Content || len(reply.Body) == 0 {
		t.Errorf("non-confirmable: got %v %q", reply.Code, reply.Body)
	}
	both := dial(t, theirs(t, "notls", "127.0.0.1", "-e"), false, Params{})
	defer both.Close()
	body := pattern(30_000)
	if reply := must(t, both, &Call{Method: PUT, Path: "new/thing", Body: body}); !bytes.Equal(reply.Body, body) {
		t.Errorf("block-wise both ways: got %v, %d bytes", reply.Code, len(reply.Body))
	}
	// The body goes up in one piece: libcoap 4.3.1 takes a repeated last block for a whole body.
	address := theirs(t, "notls", "127.0.0.1", "-l", "20%")
	hurried := Params{AckTimeout: 50 * time.Millisecond, MaxRetransmit: 8}
	up := dial(t, address, false, hurried)
	defer up.Close()
	must(t, up, &Call{Method: PUT, Path: "new/thing", Body: body[:1000]})
	hurried.BlockSize = 16
	down := dial(t, address, false, hurried)
	defer down.Close()
	if reply := must(t, down, &Call{Method: GET, Path: "new/thing"}); !bytes.Equal(reply.Body, body[:1000]) {
		t.Errorf("with losses: got %v, %d bytes", reply.Code, len(reply.Body))
	}
	if down.Retransmissions() == 0 {
		t.Error("nothing was lost")
	}
}
