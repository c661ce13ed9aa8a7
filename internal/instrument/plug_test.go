package instrument

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A plug's password comes from the address, the environment or a file; no error and
// no description shows it.
func TestAPlugsPassword(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "admin" || password != "s3cret:/@" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, shelly2)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("s3cret:/@\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLUG", "s3cret:/@")
	t.Setenv("WRONG", "s3cret too")
	host := strings.TrimPrefix(s.URL, "http://")
	for _, c := range []struct{ what, address, says string }{
		{"in the address", "admin:s3cret%3A%2F%40@HOST", ""},
		{"in the environment", "admin@HOST?password=env:PLUG", ""},
		{"without a name", "HOST/?password=env:PLUG", ""},
		{"in a file", "HOST?password=file:" + file, ""},
		{"none", "HOST", "requires a password; add ?password=env:"},
		{"a wrong one", "admin@HOST?password=env:WRONG", "does not take this password"},
		{"a wrong one in the address", "admin:s3cret@HOST", "does not take this password"},
		{"an empty variable", "HOST?password=env:NO_SUCH", "variable NO_SUCH, which should hold its password, is empty"},
		{"no such file", "HOST?password=file:/no/such", "no such file"},
		{"in the query", "HOST?password=s3cret", "must not contain a password"},
		{"another setting", "HOST?pass=s3cret", "takes only one setting"},
		{"given twice", "HOST?password=env:PLUG&password=env:PLUG", "takes only one setting"},
		{"no address", "admin:s3cret/@HOST", "invalid plug address"},
		{"kept with results", "admin:xxxxx@HOST", "not stored with results"},
	} {
		t.Run(c.what, func(t *testing.T) {
			m, err := Open(t.Context(), "shelly:http://"+strings.ReplaceAll(c.address, "HOST", host), Options{})
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(fmt.Sprintf("%+v", m.Describe()), "s3cret") {
					t.Errorf("%+v", m.Describe())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") &&
				c.what != "another setting" {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// Of what a plug is sent of this machine, whoever asks for consent is told the place, however its address is written.
func TestWhatIsSentToAPlugIsNamed(t *testing.T) {
	sent := make(chan string, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok && password != "" {
			sent <- password
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLUG", "of PLUG")
	t.Setenv("HARMLESS", "of HARMLESS")
	t.Setenv("PLUG;a", "of PLUG;a")
	places := map[string]string{"of a file": "file " + file, "of PLUG": "environment variable PLUG",
		"of HARMLESS": "environment variable HARMLESS", "of PLUG;a": "environment variable PLUG;a"}
	named := 0
	for _, address := range []string{"HOST?password=env:PLUG", "HOST/?password=file:FILE", "HOST?&password=env:PLUG&",
		"a@HOST?password=env:PLUG#b", "HOST?password=&password=file:FILE", "HOST?password=file:FILE&password=",
		"HOST?password=env:HARMLESS&password=file:FILE", "HOST?password=file:FILE&password=env:HARMLESS",
		"HOST?password=env%3APLUG", "HOST?pass%77ord=env:PLUG", "HOST?password=&pass%77ord=env:PLUG",
		"HOST?password=env:PLUG;a", "HOST?password=env:PLUG?password=", "HOST#?password=env:PLUG", "HOST?password=x",
		"HOST?+password=env:PLUG", "HOST?password=%zz&password=env:PLUG"} {
		spec := "shelly:http://" + strings.NewReplacer("HOST", strings.TrimPrefix(s.URL, "http://"), "FILE", file).
			Replace(address)
		_, err := Open(t.Context(), spec, Options{})
		place, plug, ok := PasswordOf(spec)
		for len(sent) > 0 {
			password := <-sent
			if !ok || place != places[password] || !strings.HasSuffix(s.URL, plug) {
				t.Errorf("%s sends %q, and is said to send the %q to %q (%t)", address, password, place, plug, ok)
			}
			named++
		}
		if err == nil {
			t.Errorf("%s: a plug that refuses was opened", address)
		}
	}
	if named < 5 {
		t.Errorf("only %d passwords were sent", named)
	}
}

// A plug that lets itself be connected to and says nothing is given up.
func TestSilentPlug(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections, and nobody accepts them
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	opened := make(chan error, 1)
	go func() {
		_, err := Open(t.Context(), "tasmota:http://"+l.Addr().String(), Options{})
		opened <- err
	}()
	select {
	case err := <-opened:
		if err == nil {
			t.Error("it is a meter")
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
