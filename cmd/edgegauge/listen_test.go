package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// cmdListen starts a server that lasts as long as its script, and puts its
// address into an environment variable: listen KIND HOST VARIABLE.
func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: listen KIND HOST VARIABLE")
	}
	kind, host := args[0], net.JoinHostPort(args[1], "0")
	if kind == "coap" {
		ts.Setenv(args[2], listenCoAP(ts, host))
		return
	}
	l, err := net.Listen("tcp", host)
	ts.Check(err)
	ts.Setenv(args[2], l.Addr().String())
	ts.Defer(func() { l.Close() })
	switch kind {
	case "nobody":
		l.Close()
	case "http":
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	case "failing":
		go http.Serve(l, failing())
	case "resetting":
		go listenResetting(l)
	default:
		say, ok := hostile[kind]
		if !ok {
			ts.Fatalf("no server %q", kind)
		}
		go listenHostile(l, say)
	}
}

// failing answers, but for every tenth request of /failing.
func failing() http.HandlerFunc {
	var asked atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failing" && asked.Add(1)%10 == 0 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		io.WriteString(w, "21.5")
	}
}

// hostile servers say a beginning once and the rest for ever, whatever they are asked.
var hostile = map[string][2]string{
	"mail":           {"220 mail ESMTP\r\n", ""},
	"silent":         {"", ""},
	"endless header": {"HTTP/1.1 200 OK\r\n", "X: y\r\n"},
	"one long line":  {"HTTP/1.1 200 ", strings.Repeat("x", 1<<16)},
	"endless body": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"},
	"huge body":    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "x"},
	"wrong length": {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "x"},
}

func listenHostile(l net.Listener, say [2]string) {
	serveEach(l, func(c net.Conn) {
		if say[1] == "" {
			io.WriteString(c, say[0])
			io.Copy(io.Discard, c)
			return
		}
		go io.Copy(io.Discard, c)
		for _, err := io.WriteString(c, say[0]); err == nil; _, err = io.WriteString(c, say[1]) {
		}
	})
}

// serveEach has each connection served, and closed then, until the listener is closed.
func serveEach(l net.Listener, serve func(c net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}

// listenResetting answers four requests of a connection, and resets it at the fifth. It counts all that arrive, by
// their methods, and tells how many those were at /asked/METHOD.
func listenResetting(l net.Listener) {
	var mu sync.Mutex
	asked := map[string]int{}
	answer := func(r *http.Request, before int) string {
		mu.Lock()
		defer mu.Unlock()
		if method, ok := strings.CutPrefix(r.URL.Path, "/asked/"); ok {
			return fmt.Sprint(asked[method])
		}
		if asked[r.Method]++; before < 4 {
			return "here"
		}
		return ""
	}
	serveEach(l, func(c net.Conn) {
		from := bufio.NewReader(c)
		for n := 0; ; n++ {
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			text := answer(r, n)
			if text == "" {
				c.(*net.TCPConn).SetLinger(0)
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
}

// cmdAsked checks how many requests a resetting server has counted: asked ADDRESS METHOD NUMBER.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: asked ADDRESS METHOD NUMBER")
	}
	r, err := http.Get("http://" + args[0] + "/asked/" + args[1])
	ts.Check(err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	ts.Check(err)
	if string(text) != args[2] {
		ts.Fatalf("the server counted %s requests with %s, want %s", text, args[1], args[2])
	}
}

func listenCoAP(ts *testscript.TestScript, host string) string {
	at, err := net.ResolveUDPAddr("udp", host)
	ts.Check(err)
	conn, err := net.ListenUDP("udp", at)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := &coap.Server{Handler: func(req *coap.Request, resp *coap.Response) { resp.Body = fmt.Append(resp.Body, "21.5") }}
	go func() { ended <- s.Serve(ctx, conn) }()
	ts.Defer(func() { cancel(); <-ended })
	return conn.LocalAddr().String()
}
