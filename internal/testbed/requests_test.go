package testbed

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A service is looked for where the client will send: in the version of IP that the study asks for, and at no other
// address of its host.
func TestServicesAreLookedForWhereTheyAreAsked(t *testing.T) {
	b := bed(t)
	here, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	go func() { // ends with the listener
		for {
			c, err := here.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(here.Addr().String())
	for _, x := range []struct {
		study, want string
		machine     bool // that lacks it
	}{
		{"server: {url: 'http://127.0.0.1:" + port + "/'}", "", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nip: ipv4", "", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nip: ipv6", "s.yaml:3:5: http://127.0.0.1:" + port +
			"/: 127.0.0.1 is not an IPv6 address; write one, or remove the IP version", false},
		{"server: {url: 'http://127.0.0.1:" + port + "/'}\nfactors: {ip: [ipv4, ipv6]}", "exclude: [{ip: ipv6}]", false},
		{"server: {url: 'http://127.0.0.2:" + port + "/'}", "s.yaml:2:15: nothing listens at 127.0.0.2:" + port +
			": connect: connection refused; start the service", true},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (len(found) == 0) != (x.want == "") || !strings.Contains(got, x.want) ||
			len(found) > 0 && found.Here() != x.machine {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}

// Results keep a study but no file beside it. Where the study is read from them, a body is looked for beside it and
// then where the user works; a file from there did not come with the study, and is sent on trust.
func TestBodiesOfAStudyThatIsKept(t *testing.T) {
	b := bed(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("kept/ledger.sqlite", "")
	write("plain/s.yaml", "")
	const text = "study: s\nserver: {url: 'http://127.0.0.1:1/'}\nrequest: {body_file: body.json}\n"
	sends := func(file string) (body, trust string, err error) {
		t.Helper()
		p, err := b.Read(t.Context(), file, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		x := b.assemble(p, b.Exe, b.Temp)
		for tr := range x.treatments() {
			job, err := x.job(tr.Setup)
			return string(job.Body), fmt.Sprint(b.Foreign(p)), err
		}
		return
	}
	const kept = "kept/study.yaml"
	if _, _, err := sends(kept); !strings.Contains(fmt.Sprint(err), "--set request.body_file=PATH") {
		t.Errorf("there is none, and results do not keep it: %v", err)
	}
	write("body.json", "here")
	body, trust, err := sends(kept)
	if body != "here" || !strings.Contains(trust, "sends the file body.json") || err != nil {
		t.Errorf("got %q, %q, %v, want that which is here, on trust", body, trust, err)
	}
	if _, _, err := sends("plain/s.yaml"); err == nil || strings.Contains(err.Error(), "--set") {
		t.Errorf("a study of its own takes none from here: %v", err)
	}
	write("kept/body.json", "beside")
	if body, trust, err := sends(kept); body != "beside" || strings.Contains(trust, "body.json") || err != nil {
		t.Errorf("got %q, %q, %v, want that beside the study", body, trust, err)
	}
}
