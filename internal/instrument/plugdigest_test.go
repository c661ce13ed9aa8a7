package instrument

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What curl 7.88.1 sends in answer to these challenges, by the same numbers of its own; the second is of its tests
// (tests/data/test2061).
func TestDigestIsCurls(t *testing.T) {
	for _, x := range []struct{ challenge, name, password, uri, cnonce, response string }{
		{`Digest qop="auth", realm="shellyplugsg3-84fce63ad204", nonce="60dc2c2e", algorithm=SHA-256`, "admin", "s3cret:/@",
			"/rpc/Switch.GetStatus?id=0", "ZTc5ZGI0MjJkZTk1MjViZmJjYzc3Zjc0MzBmZDgzMzE=",
			"7fabdffd28ec883bee63dde4939869ce2c3eee3c1f812573a8f4305bc170e935"},
		{`Digest realm="testrealm", nonce="1053604145", algorithm="SHA-256"`, "testuser", "testpass", "/2061", "",
			"9dc55255f1a2537b838311674b621d45346b862a81631bb20e4ce356ef25062d"},
	} {
		d := digestOf([]string{"Basic realm=x", x.challenge})
		if d == nil {
			t.Errorf("%s: not understood", x.challenge)
			continue
		}
		d.used = 1
		got := parameters(strings.TrimPrefix(d.shown(url.UserPassword(x.name, x.password), x.uri, x.cnonce), "Digest "))
		want := map[string]string{"response": x.response, "uri": x.uri, "username": x.name, "nonce": d.nonce,
			"realm": d.realm, "algorithm": "SHA-256"}
		if x.cnonce != "" {
			want["nc"], want["qop"], want["cnonce"] = "00000001", "auth", x.cnonce
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", x.challenge, got, want)
		}
	}
}

func TestChallengesThatCannotBeMet(t *testing.T) {
	for _, text := range []string{"", "Basic realm=x", `Digest realm="a", nonce="b"`, `Digest nonce="", algorithm=SHA-256`,
		`Digest nonce="b", algorithm=SHA-256, qop="auth-int"`, `Digest algorithm=SHA-256, nonce`, `Digest "`} {
		if d := digestOf([]string{text}); d != nil {
			t.Errorf("%q: got %+v", text, d)
		}
	}
	d := digestOf([]string{`digest realm="a \"b\", c", Nonce=n,opaque="o", algorithm=sha-256,qop="auth-int, auth"`})
	if d == nil || d.realm != `a "b", c` || d.nonce != "n" || d.opaque != "o" || !d.qop {
		t.Errorf("got %+v", d)
	}
	shown := d.answer(url.UserPassword(`x"y`, "z"), "/")
	got := parameters(shown[len("Digest "):])
	if got["realm"] != d.realm || got["username"] != `x"y` || got["opaque"] != "o" {
		t.Errorf("got %s", shown)
	}
}

// A plug of the second generation takes a password by its digest alone: each nonce once, or a thousand times, by its
// firmware. The password is not sent.
func TestAPlugThatTakesADigest(t *testing.T) {
	for _, good := range []int{1, 1000} { // times that a nonce is good for
		nonce, used, refused := 0, map[string]int{}, 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := r.Header.Get("Authorization")
			got := parameters(strings.TrimPrefix(text, "Digest "))
			n := got["nonce"]
			d := digest{realm: "plug", nonce: n, qop: true, used: uint32(used[n] + 1)}
			if strings.HasPrefix(text, "Basic") {
				t.Error("the password itself was sent")
			}
			if n == "" || n != fmt.Sprint(nonce) || used[n] == good ||
				d.shown(url.UserPassword("admin", "s3cret"), r.URL.RequestURI(), got["cnonce"]) != text {
				nonce++
				refused++
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest qop="auth", realm="plug", nonce="%d", algorithm=SHA-256`,
					nonce))
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			used[n]++
			fmt.Fprint(w, shelly2)
		}))
		defer s.Close()
		t.Setenv("PLUG", "s3cret")
		at := "shelly:" + s.URL + "?password=env:"
		m, err := Open(t.Context(), at+"PLUG", Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := m.(*poller)
		for range 5 {
			if r, err := p.read(t.Context()); err != nil || !(r.watts > 0) {
				t.Errorf("got %v, %v", r, err)
			}
		}
		if want := map[int]int{1: 6, 1000: 1}[good]; refused != want {
			t.Errorf("a nonce is good %d times: it refused %d times, want %d", good, refused, want)
		}
		t.Setenv("PLUG", "wrong")
		if _, err := Open(t.Context(), at+"PLUG", Options{}); err == nil ||
			!strings.Contains(err.Error(), "does not take this password") {
			t.Errorf("got %v", err)
		}
	}
}
