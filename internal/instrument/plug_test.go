package instrument

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
