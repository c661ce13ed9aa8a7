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
		{"a wrong one", "admin@HOST?password=env:WRONG", "requires a password"},
		{"a wrong one in the address", "admin:s3cret@HOST", "requires a password"},
		{"an empty variable", "HOST?password=env:NO_SUCH", "variable NO_SUCH, which should hold its password, is empty"},
		{"no such file", "HOST?password=file:/no/such", "no such file"},
		{"in the query", "HOST?password=s3cret", "must not contain a password"},
		{"another setting", "HOST?pass=s3cret", "takes only one setting"},
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
