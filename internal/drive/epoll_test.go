package drive

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gated waits before its second request until the server has said all that it says to the first: the driver finds
// that together.
type gated struct {
	Fixed
	said chan struct{}
}

func (g gated) Encode(seq uint64, buf []byte) ([]byte, error) {
	if seq == 2 {
		<-g.said
	}
	return g.Fixed.Encode(seq, buf)
}

// wholeOf is an answer of so many bytes, its head included.
func wholeOf(t *testing.T, total int) string {
	t.Helper()
	head := func(n int) string { return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", n) }
	n := total - len(head(total))
	if len(head(n))+n != total {
		t.Fatalf("no answer has %d bytes", total)
	}
	return head(n) + strings.Repeat("x", n)
}

func sendUrgent(c net.Conn, text string) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	closed := raw.Control(func(fd uintptr) {
		_, err = unix.SendmsgN(int(fd), []byte(text), nil, nil, unix.MSG_OOB)
	})
	return errors.Join(closed, err)
}

// Of a stream epoll tells only what is new. Whatever one read leaves behind is told again: each of these answers is
// there as a whole when the driver looks.
func TestNoEventIsLost(t *testing.T) {
	const urgent = "!"
	closes := func(c net.Conn) { c.Close() }
	resets := func(c net.Conn) { reset(c); c.Close() }
	big, endless := wholeOf(t, 3*firstBuffer+17), "HTTP/1.1 200 OK\r\n\r\n"
	full := endless + strings.Repeat("x", firstBuffer-len(endless))
	for _, tt := range []struct {
		what string
		says []string
		then func(c net.Conn) // nil: it serves on
		want string           // failure of the first request
	}{
		{"fills the buffer", []string{wholeOf(t, firstBuffer)}, nil, ""},
		{"fills it, and a byte more", []string{wholeOf(t, firstBuffer+1)}, nil, ""},
		{"fills it twice", []string{wholeOf(t, 2*firstBuffer)}, nil, ""},
		{"fills it twice, and a byte more", []string{wholeOf(t, 2*firstBuffer+1)}, nil, ""},
		{"comes in pieces", []string{big[:1], big[1:firstBuffer], big[firstBuffer : 2*firstBuffer],
			big[2*firstBuffer:]}, nil, ""},
		{"goes on behind an urgent byte", []string{ok[:5], urgent, ok[5:]}, nil, ""},
		{"lasts until the end", []string{endless + "x"}, closes, ""},
		{"fills the buffer until the end", []string{full}, closes, ""},
		{"is followed by the end", []string{ok}, closes, ""},
		{"fills the buffer before the end", []string{wholeOf(t, firstBuffer)}, closes, ""},
		{"is cut short", []string{big[:500]}, closes, "connection closed in mid-response"},
		{"fills the buffer and is cut short", []string{big[:firstBuffer]}, closes,
			"connection closed in mid-response"},
		{"is cut short by a reset", []string{big[:500]}, resets, "connection reset in mid-response"},
	} {
		said := make(chan struct{})
		url := hostile(t, func(c net.Conn, before int) {
			in := bufio.NewReader(c)
			if before == 0 {
				_, err := http.ReadRequest(in)
				for _, part := range tt.says {
					if part == urgent {
						err = errors.Join(err, sendUrgent(c, part))
						continue
					}
					_, failed := io.WriteString(c, part)
					err = errors.Join(err, failed)
				}
				if err != nil {
					t.Error(err)
				}
				if tt.then != nil {
					tt.then(c)
				}
				close(said)
			}
			for answer(c, in, ok) {
			}
		})
		// GET: where the end comes behind the answer, the next request may have been sent already.
		_, xs := drive(t, Spec{URL: url, Method: "GET", Concurrency: 2, Timeout: 20 * time.Second},
			Load{Schedule: ClosedLoop(5, 0)}, gated{said: said})
		if len(xs) != 5 {
			t.Errorf("an answer that %s: %d requests", tt.what, len(xs))
		}
		for _, x := range xs {
			want := ""
			if x.Seq == 1 {
				want = tt.want
			}
			if x.Failure != want {
				t.Errorf("an answer that %s: request %d: failure %q, want %q", tt.what, x.Seq, x.Failure, want)
			}
		}
	}
}

// A connection that ends behind an answer is given up, though nothing more happens to it and no request follows.
func TestEndBehindAnAnswerIsSeen(t *testing.T) {
	said, given := make(chan struct{}), make(chan struct{})
	url := hostile(t, func(c net.Conn, before int) {
		in := bufio.NewReader(c)
		if before == 0 {
			answer(c, in, ok)
			c.(*net.TCPConn).CloseWrite()
			close(said)
			in.ReadByte()
			close(given)
			return
		}
		http.ReadRequest(in)
		<-given
		io.WriteString(c, ok)
	})
	_, xs := drive(t, Spec{URL: url, Concurrency: 2, Timeout: 20 * time.Second}, Load{Schedule: ClosedLoop(2, 0)},
		gated{said: said})
	sound(t, xs)
}
