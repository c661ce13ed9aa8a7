package testbed

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/store"
)

// plugWithPassword answers like a Shelly, if asked with the password.
func plugWithPassword(t *testing.T, password string) (host string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); given != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"apower":8.9,"voltage":237.5,"current":0.069}`)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// No file of a results directory holds a plug's password, nor does what a lab
// prints from; the plug gets it all the same, and again on resuming.
func TestResultsKeepNoPassword(t *testing.T) {
	const secret = "s3cret"
	host := plugWithPassword(t, secret)
	spec := "shelly:http://admin:" + secret + "@" + host
	for _, c := range []struct {
		what, text string
		sets       []string
		says       string
	}{
		{"in the study", "client: {meter: '" + spec + "'} # " + spec, nil, ""},
		{"a factor", "factors: {client.meter: ['" + spec + "', '" + spec + "/']}", nil, ""},
		{"by --set", "", []string{"client.meter=" + spec}, ""},
		{"hidden from a search", `client: {meter: "` + strings.Replace(spec, ":", `\u003a`, 1) + `"}`, nil,
			"would be stored with the results"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			recorder(t, filepath.Join(dir, "stacks", "recorder"), filepath.Join(dir, "told"))
			b := bed(t, filepath.Join(dir, "stacks"))
			text := []byte("study: s\nservice: monitor\nstack: recorder\ndesign: {replications: 1}\nresponses: [energy]\n" +
				c.text + "\n")
			for range 2 { // and resumed
				p, err := b.Read(t.Context(), "s.yaml", text, c.sets...)
				if err != nil {
					t.Fatal(err)
				}
				e, err := b.Open(t.Context(), Request{Plan: p, Text: text, Out: out})
				if c.says != "" {
					if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
						t.Errorf("got %v, want %q", err, c.says)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(keys(e.Lab.Meters)); !strings.Contains(got, ":xxxxx@"+host) || strings.Contains(got, secret) {
					t.Errorf("meters %s", got)
				}
				if err := e.Lab.Store.Close(); err != nil {
					t.Fatal(err)
				}
				e.Close()
			}
			holdsNo(t, out, secret)
		})
	}
}

func holdsNo(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := store.OpenReadOnly(dir); err != nil {
		t.Error(err)
	} else {
		s.Close()
	}
}

// A stranger's study cannot send a password of this machine to whom it likes.
func TestAPasswordIsSentOnTrust(t *testing.T) {
	t.Setenv("PLUG", "s3cret")
	host := plugWithPassword(t, "s3cret")
	dir := t.TempDir()
	recorder(t, filepath.Join(dir, "stacks", "recorder"), filepath.Join(dir, "told"))
	b := bed(t, filepath.Join(dir, "stacks"))
	text := []byte("study: s\nservice: monitor\nstack: recorder\ndesign: {replications: 1}\nresponses: [energy]\n" +
		"client: {meter: 'shelly:http://" + host + "?password=env:PLUG'}\n")
	p, err := b.Read(t.Context(), "s.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Plan: p, Text: text, Out: filepath.Join(dir, "out")}
	_, err = b.Open(t.Context(), r)
	if foreign := new(Untrusted); !errors.As(err, &foreign) ||
		!strings.Contains(err.Error(), "client.meter sends the environment variable PLUG to "+host) {
		t.Fatalf("got %v", err)
	}
	r.Trust = true
	e, err := b.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	holdsNo(t, r.Out, "s3cret")
}

// Nor does looking send it, however the address is written.
func TestLookingSendsNoPassword(t *testing.T) {
	t.Setenv("PLUG", "s3cret")
	t.Setenv("HARMLESS", "harmless")
	host := plugWithPassword(t, "s3cret")
	dir := t.TempDir()
	recorder(t, filepath.Join(dir, "stacks", "recorder"), filepath.Join(dir, "told"))
	b := bed(t, filepath.Join(dir, "stacks"))
	for _, address := range []string{"HOST?password=env:PLUG", "HOST?password=&password=env:PLUG",
		"HOST?password=env:HARMLESS&password=env:PLUG", "HOST:?password=env:PLUG#@", "HOST?password=env:PLUG#@"} {
		whole := strings.Replace(address, "HOST", host, 1)
		if strings.HasPrefix(address, "HOST:") { // the port is empty: no plug of this test, but no looking either
			whole = strings.Replace(address, "HOST", "127.0.0.1", 1)
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: recorder\nresponses: [energy]\n"+
			"client: {meter: 'shelly:http://"+whole+"'}\n"))
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		foreign, found := b.Foreign(p), b.Obstacles(t.Context(), p)
		refused := found != nil && strings.Contains(found.Error(), "takes only one setting")
		if !refused && (found != nil || foreign == nil || !strings.Contains(foreign.Error(), "environment variable PLUG")) {
			t.Errorf("%s: asks for %v; looking finds %v", address, foreign, found)
		}
	}
}
