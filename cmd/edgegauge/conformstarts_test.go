package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
	"edgegauge.example/edgegauge/stacks/reference"
)

// startPatient starts a program that takes another line of its verb, as those of virtual machines do: behind it is a
// program of a reference stack for each line, in this process.
func startPatient(name, verb string) (conform.Running, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer in.Close()
		defer out.Close()
		end := func() {}
		defer func() { end() }()
		var to io.Writer
		for lines := bufio.NewReader(in); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if typeOf(line) == verb {
				end()
				to, end = behind(name, verb, out)
			}
			to.Write(line)
		}
	}()
	return &peer{stack.NewConn(stdin, stdout), stdin, stdout}, nil
}

// behind starts a program that says to out what it says, and that it takes another line.
func behind(name, verb string, out io.Writer) (to io.Writer, end func()) {
	in, stdin := io.Pipe()
	stdout, said := io.Pipe()
	var both sync.WaitGroup
	both.Go(func() {
		reference.Tapped([]string{name, verb}, in, said, io.Discard, nil)
		in.Close()
		said.Close()
	})
	both.Go(func() {
		for lines := bufio.NewReader(stdout); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if typeOf(line) == "ready" {
				line = bytes.Replace(line, []byte("{"), []byte(`{"again":true,`), 1)
			}
			out.Write(line)
		}
	})
	return stdin, func() {
		stdin.Close()
		both.Wait()
	}
}

func typeOf(line []byte) string {
	var l struct{ Type string }
	_ = json.Unmarshal(line, &l) // what is no object has no type
	return l.Type
}

// To start a virtual machine costs more than most checks: programs that take another line of their verb are started
// anew where a check needs it, and not for each.
func TestKitStartsFewPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	t.Parallel()
	const soap = "reference/soap"
	d := stack.Description{Name: "patient", Serves: []stack.Offer{{Services: []string{"echo", "monitor", "sort"},
		Encodings: []string{"soap11", "soap12"}, Security: []string{"none", "tls"}, Transports: []string{"http"},
		Sides: []string{"server", "client"}, Connections: []string{"keep-alive", "per-request"}}}}
	kit, err := newKit("", t.TempDir(), nil, d)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	started := map[string]int{}
	kit.Parallel = 2
	kit.Start = func(_ context.Context, _ stack.Description, verb string) (conform.Running, error) {
		mu.Lock()
		defer mu.Unlock()
		started[verb]++
		return startPatient(soap, verb)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	conform.Run(ctx, d, kit, func(check string, err error) {
		if err != nil {
			t.Errorf("%s: %v", check, err)
		}
	})
	// Each of two lanes has two servers and two clients; one server and two clients more are asked what they do not do. A
	// lane that runs out of work of its security takes another's. Of TLS, a client of Go that is to give up does so before
	// it is ready, and ends.
	t.Logf("started %v", started)
	if serve, call := started["serve"], started["call"]; serve > 6 || call > 7 {
		t.Errorf("started %d servers and %d clients, want at most 6 and 7", serve, call)
	}
}
