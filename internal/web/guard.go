package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// NewToken is a secret of 256 bits.
func NewToken() string { return rand.Text() + rand.Text() }

// mostBody is what a request may send, in B.
const mostBody = 1 << 20

// plotStyle is the one style element that a script adds: Plot's own, word for word.
const plotStyle = ":where(.plot-d6a7b5) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n" +
	"  height: intrinsic;\n  max-width: 100%;\n}\n:where(.plot-d6a7b5 text),\n:where(.plot-d6a7b5 tspan) {\n" +
	"  white-space: pre;\n}"

// policy allows what this server sends and nothing else: no inline script or style.
var policy = func() string {
	sum := sha256.Sum256([]byte(plotStyle))
	return "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; style-src 'self' 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}()

// guard refuses requests that no page of ours makes, and puts on every answer what
// browsers are to hold to.
func (s *Server) guard(next http.Handler) http.Handler {
	inner := http.NewCrossOriginProtection().Handler(s.entered(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		s.ready(w)
		switch {
		case !s.knows(r.Host):
			http.Error(w, "unknown host name; use the address that edgegauge web printed",
				http.StatusMisdirectedRequest)
		case r.ContentLength > mostBody:
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, mostBody)
			inner.ServeHTTP(w, r)
		}
	})
}

// ready gives a reader its time: a slow one holds a connection for so long. Streams set their own deadlines.
func (s *Server) ready(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience)) // an answer into memory has none
}

// knows says whether a request's Host is a name of this server: a page of a stranger
// whose name leads here (DNS rebinding) sends the stranger's.
func (s *Server) knows(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return IsLoopback(name) || slices.ContainsFunc(s.Hosts, func(own string) bool { return strings.EqualFold(own, name) })
}

// IsLoopback says whether a name or address is this machine's own.
func IsLoopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.IsLoopback()
}

// entered lets in who has shown the token. A token in the address is exchanged for a
// cookie, and leaves the address.
func (s *Server) entered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch c, err := r.Cookie(cookieName(r)); {
		case s.Token == "", r.URL.Path == "/enter", strings.HasPrefix(r.URL.Path, "/assets/"):
			next.ServeHTTP(w, r)
		case q.Has("token") && same(q.Get("token"), s.Token):
			s.letIn(w, r)
		case err == nil && same(c.Value, s.pass()):
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusForbidden)
			_ = pages().ExecuteTemplate(w, "enter", s.frame(r, "Token")) // the browser went away
		}
	})
}

// enter takes the token from a form.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "not a form of this page", http.StatusRequestEntityTooLarge)
		return
	}
	if s.Token == "" || !same(r.PostForm.Get("token"), s.Token) {
		http.Error(w, "this is not the token that edgegauge web printed", http.StatusForbidden)
		return
	}
	r.URL.Path, r.URL.RawQuery = "/", ""
	s.letIn(w, r)
}

// letIn sets the cookie and sends the browser to the same page without the token.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.pass(), Path: "/", HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode})
	q := r.URL.Query()
	q.Del("token")
	// Subtle: a path that begins with two slashes would lead to another host.
	to := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/\\")
	if rest := q.Encode(); rest != "" {
		to += "?" + rest
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// pass is what the cookie holds: not the token, which is in the address.
func (s *Server) pass() string {
	sum := sha256.Sum256([]byte("edgegauge web\n" + s.Token))
	return hex.EncodeToString(sum[:])
}

// cookieName has the port in it: browsers do not keep the cookies of two ports apart.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "0"
	}
	return "edgegauge-" + port
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
