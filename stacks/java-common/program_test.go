package java_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// calling starts a client that has the right answer at once.
func calling(t *testing.T, classes string, n int, options map[string]string) (context.Context, *stack.Conn) {
	t.Helper()
	client := stacktest.Start(t, "", "java", "-Xshare:auto", "-cp", classes, "edgegauge.adapter.CallProbe")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	_, err := client.Call(ctx, stack.Call{URL: "none", Service: "sort", Encoding: "none", Security: "none",
		Transport: "none", Message: stack.Message{Seed: 7, N: n}, Connection: "per-request", Timeout: 1e9, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, client
}

// called are the records of such a client.
func called(t *testing.T, classes string, n int, options map[string]string) (all []measure.Exchange) {
	t.Helper()
	ctx, client := calling(t, classes, n, options)
	_, err := client.Run(ctx, stack.Run{Requests: 20, Record: true}, func(x measure.Exchange) { all = append(all, x) })
	if err != nil || len(all) != 20 {
		t.Fatalf("%d records, want 20: %v", len(all), err)
	}
	return all
}

// between are the times from the end of one request's total to when the next one
// is due, sorted.
func between(all []measure.Exchange) (d []time.Duration) {
	for i, x := range all[1:] {
		d = append(d, x.Due-all[i].Due-all[i].Total)
	}
	slices.Sort(d)
	return d
}

func middle(all []measure.Exchange) time.Duration {
	var d []time.Duration
	for _, x := range all {
		d = append(d, x.Total)
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// The answer is there at once; to compare a million numbers takes much longer.
func TestTotalHasNoCheck(t *testing.T) {
	all := called(t, compiled(t), 1_000_000, nil)
	after := between(all)
	if got, check := middle(all), after[len(after)/2]; got > check {
		t.Errorf("total is %v, and %v lie between two requests: it contains the check", got, check)
	}
}

func TestTotalHasNoClosing(t *testing.T) {
	const closing = 20 * time.Millisecond
	classes := compiled(t)
	all := called(t, classes, 1, map[string]string{"closing": fmt.Sprint(closing.Nanoseconds())})
	if got, least := middle(all), between(all)[0]; got > closing/2 || least < closing {
		t.Errorf("total is %v, and %v or more lie between two requests, with a closing of %v", got, least, closing)
	}
	for _, x := range called(t, classes, 1, map[string]string{"closing": "-1"}) {
		if !strings.Contains(x.Failure, "does not close") {
			t.Errorf("request %d: failure %q", x.Seq, x.Failure)
		}
	}
}

// Threads are kept between the runs, as what the framework keeps for each is: the warm-up warms the measured run.
func TestThreadsAreKept(t *testing.T) {
	options := map[string]string{"closing": fmt.Sprint(int64(20 * time.Millisecond))} // each of them gets a request
	ctx, client := calling(t, compiled(t), 1, options)
	for range 2 {
		_, err := client.Run(ctx, stack.Run{Requests: 20, Record: true, Concurrency: 2}, func(x measure.Exchange) {
			if x.Failure != "" {
				t.Errorf("request %d: %s", x.Seq, x.Failure)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A thread that ends, as for want of memory, is no run of one thread less.
func TestRunWithoutOneOfItsThreads(t *testing.T) {
	classes := compiled(t)
	its, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", "-Xshare:auto", "-cp", classes, "edgegauge.adapter.CallProbe")
	cmd.Stdin = its
	fmt.Fprintln(ours, `{"type":"call","protocol":1,"service":"echo","encoding":"none",`+
		`"message":{"seed":7,"n":1},"options":{"closing":"20000000","fatal":"1"}}`)
	fmt.Fprintln(ours, `{"type":"run","requests":20,"concurrency":2}`)
	said, err := cmd.Output()
	its.Close()
	ours.Close()
	if want := `{"type":"error","message":"java.lang.OutOfMemoryError: no heap is left"}`; err == nil ||
		!bytes.Contains(said, []byte(want)) {
		t.Errorf("it said %s and ended with %v, want %s", said, err, want)
	}
}

// Connecting counts once, also in a program that has every URL open a timed connection, as the conformance kit has one
// of jaxws-rt do both.
func TestConnectingCountsOnce(t *testing.T) {
	classes := compiled(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	said, err := exec.CommandContext(t.Context(), "java", "-Xshare:auto", "-cp", classes, "edgegauge.adapter.ConnectProbe",
		"http://"+listener.Addr().String()+"/").Output()
	if err != nil || string(said) != "once" {
		t.Errorf("connecting counts %s: %v", said, err)
	}
}

// The lab reads the client's CPU time when the first record arrives, so that one
// comes before the others are made. On a socket of this kind one write is one read.
func TestFirstRecordComesAlone(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, its := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "its")
	defer ours.Close()
	classes := compiled(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "java", "-Xshare:auto", "-cp", classes, "edgegauge.adapter.CallProbe")
	cmd.Stdout, cmd.Stderr = its, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	its.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	said := make([]byte, 1<<20)
	read := func() []byte {
		n, err := ours.Read(said)
		if err != nil {
			t.Fatal(err)
		}
		return said[:n]
	}
	fmt.Fprintln(in, `{"type":"call","protocol":1,"service":"echo","encoding":"none","message":{"seed":7,"n":1}}`)
	if got := read(); !bytes.Contains(got, []byte(`"ready"`)) {
		t.Fatalf("it said %s", got)
	}
	fmt.Fprintln(in, `{"type":"run","requests":1000,"record":true}`)
	if got := read(); bytes.Count(got, []byte("\n")) != 1 || !bytes.Contains(got, []byte(`"seq":1,`)) {
		t.Errorf("%d B came at once, with %d lines; want the first record alone", len(got), bytes.Count(got, []byte("\n")))
	}
	for !bytes.Contains(read(), []byte(`"end"`)) {
	}
}
