package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
	"edgegauge.example/edgegauge/stacks/reference"
)

// A client that ignores the widths of messages is found. One that knows them passes, and one that says it does not.
func TestClientsThatIgnoreWidthsAreFound(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := referencePeer(stack.Wish{Service: "sum", Encoding: "json", Security: "none", Transport: "http"})
	if !ok {
		t.Fatal("no stack inside this binary speaks JSON over HTTP")
	}
	theirs := rest
	theirs.Name = "theirs"
	theirs.Serves = []stack.Offer{{Services: []string{"concat", "sum"}, Encodings: []string{"json"},
		Security: []string{"none"}, Transports: []string{"http"}, Sides: []string{"client"},
		Connections: []string{"keep-alive"}}}
	width := regexp.MustCompile(`,"(letters|max)":[1-9][0-9]*`)
	for _, tt := range []struct {
		what   string
		hears  func(line []byte) []byte
		faults int
	}{
		{"knows widths", func(line []byte) []byte { return line }, 0},
		{"ignores widths", func(line []byte) []byte { return width.ReplaceAll(line, nil) }, 2},
		{"refuses widths", func(line []byte) []byte {
			if width.Match(line) {
				return []byte(`{"type":"a line that it does not know"}`)
			}
			return line
		}, 0},
	} {
		kit, err := newKit(exe, t.TempDir(), nil, theirs)
		if err != nil {
			t.Fatal(err)
		}
		kit.Only = "as wide as told"
		kit.Start = func(_ context.Context, _ stack.Description, verb string) (conform.Running, error) {
			return startHearing(rest.Name, verb, tt.hears)
		}
		checks, faults := 0, 0
		conform.Run(t.Context(), theirs, kit, func(check string, err error) {
			if checks++; err != nil {
				faults++
				t.Logf("%s: %s: %v", tt.what, check, err)
			}
		})
		if checks != 2 || faults != tt.faults {
			t.Errorf("a client that %s: %d of %d checks failed, want %d of 2", tt.what, faults, checks, tt.faults)
		}
	}
}

// startHearing starts a program of a stack inside this binary that hears something else than it is told.
func startHearing(name, verb string, hears func(line []byte) []byte) (conform.Running, error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	heard, told := io.Pipe()
	go func() {
		defer in.Close()
		for lines := bufio.NewScanner(in); lines.Scan(); {
			fmt.Fprintf(told, "%s\n", hears(lines.Bytes()))
		}
		told.Close()
	}()
	go func() {
		reference.Main([]string{name, verb}, heard, out, io.Discard)
		heard.Close()
		out.Close()
	}()
	return &peer{stack.NewConn(stdin, stdout), stdin, stdout}, nil
}
