package californium

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A round trip begins with the first datagram of the request and ends with the
// last of its response: not with a notification (RFC 7641) that follows, nor with
// a second copy of the response, which a retransmission brings.
func TestRoundTripEndsWithTheResponse(t *testing.T) {
	d, classes := stacktest.Built(t, "."), t.TempDir()
	javac := exec.Command("javac", "-d", classes, "-cp", "build/app.jar:build/lib/*",
		"test/edgegauge/californium/Stamps.java")
	javac.Dir = d.Dir
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cases := []struct {
		what, transport string
		steps           []string // a message, and what is known after it
	}{
		{"a notification follows, and a copy", "udp", []string{
			"sent 4202 0001 aabb ff61: 1", "received 6244 0001 aabb: 100", "received 4245 0009 1234: 100",
			"received 6244 0001 aabb: 100"}},
		{"a notification of before is acknowledged first", "udp", []string{
			"sent 6000 0009: 0", "sent 4202 0001 aabb: 1", "received 6244 0001 aabb: 100"}},
		{"a response of its own after the acknowledgement", "udp", []string{
			"sent 4202 0001 aabb: 1", "received 6000 0001: 0", "received 4244 0007 aabb: 101", "sent 6000 0007: 1"}},
		{"blocks with one token, and a retransmission", "udp", []string{
			"sent 4202 0001 aabb: 1", "sent 4202 0001 aabb: 1", "received 625f 0001 aabb: 100",
			"received 625f 0001 aabb: 100", "sent 4202 0002 aabb: 1", "received 6244 0002 aabb: 102"}},
		{"blocks with a token each", "udp", []string{
			"sent 4202 0001 aabb: 1", "received 625f 0001 aabb: 100", "sent 4202 0002 ccdd: 1",
			"received 6244 0002 ccdd: 101"}},
		{"an empty datagram, and a cut one", "udp", []string{
			"sent 4202 0001 aabb: 1", "received : 0", "received 62: 0", "received 6244 0001 aa: 0"}},
		{"over TCP", "tcp", []string{
			"sent 2202 aabb ff61: 1", "received 0245 1234: 0", "received 0244 aabb: 101"}},
		{"over TCP, longer", "tcp", []string{
			"sent d200 02 aabb ff61: 1", "received d2 00: 0", "received e2 0000 45 1234: 0",
			"received f2 00000000 44 aabb: 102"}},
	}
	args, want := []string{"-cp", classes + ":build/app.jar:build/lib/*", "edgegauge.californium.Stamps"}, []string{}
	for _, x := range cases {
		args = append(args, x.transport)
		at, line := 100, ""
		for _, step := range x.steps {
			message, known, _ := strings.Cut(step, ": ")
			what, hex, _ := strings.Cut(message, " ")
			arg := what + " " + strings.ReplaceAll(hex, " ", "")
			if what == "received" {
				arg += " " + strconv.Itoa(at)
				at++
			}
			args, line = append(args, arg), line+known+" "
		}
		want = append(want, line)
	}
	cmd := exec.Command("java", args...)
	cmd.Dir = d.Dir
	out, err := cmd.Output()
	got := strings.Split(string(out), "\n")
	if err != nil || len(got) != len(cases)+1 {
		t.Fatalf("it says %q: %v", out, err)
	}
	for i, x := range cases {
		if got[i] != want[i] {
			t.Errorf("%s: got %s, want %s", x.what, got[i], want[i])
		}
	}
}
