// Package ssh reaches a board over SSH: it copies the agent there, starts it, and
// speaks with it over the session's stdin and stdout. It opens no port and
// leaves nothing behind.
package ssh

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Scheme begins the name of a board in a study: ssh://user@host:port/folder.
const Scheme = "ssh://"

// A Target is a board as a study names it. What is empty, ~/.ssh/config says.
type Target struct {
	User, Host, Port string
	Dir              string // the folder to work in there; empty: its TMPDIR, or /tmp
}

// ParseTarget reads ssh://[user@]host[:port][/folder]. An IPv6 address stands between brackets.
func ParseTarget(s string) (Target, error) {
	if err := addressed(s); err != nil {
		return Target{}, err
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || !strings.HasPrefix(s, Scheme) || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return Target{}, fmt.Errorf("invalid board %q; write ssh://user@host, with :port and /folder if needed", s)
	case strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-"):
		return Target{}, fmt.Errorf("invalid board %q: names cannot begin with -", s)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return Target{}, fmt.Errorf("board %q has an invalid port; write 1 to 65535, or none", s)
		}
	}
	if _, secret := u.User.Password(); secret {
		return Target{}, fmt.Errorf("a password does not belong in a study; create a key: ssh-keygen, then ssh-copy-id %s@%s",
			u.User.Username(), u.Hostname())
	}
	t := Target{User: u.User.Username(), Host: u.Hostname(), Port: u.Port(), Dir: u.Path}
	if t.Dir == "/" {
		t.Dir = ""
	}
	return t, nil
}

// addressed refuses IPv6 addresses that are not written as in a URL (RFC 3986, section 3.2.2; RFC 6874), and says how.
func addressed(s string) error {
	host, _, _ := strings.Cut(strings.TrimPrefix(s, Scheme), "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	inside, bracketed := strings.CutPrefix(host, "[")
	if !bracketed {
		if strings.Count(host, ":") > 1 {
			return fmt.Errorf("board %q: write an IPv6 address between brackets, such as ssh://pi@[2001:db8::7]:22", s)
		}
		return nil
	}
	inside, _, _ = strings.Cut(inside, "]")
	inside, zone, zoned := strings.Cut(inside, "%")
	at, err := netip.ParseAddr(inside)
	switch {
	case err != nil || !at.Is6():
		return fmt.Errorf("board %q: between brackets stands an IPv6 address, such as ssh://pi@[2001:db8::7]", s)
	case zoned && !strings.HasPrefix(zone, "25"):
		return fmt.Errorf("board %q: a link-local address reaches nothing but the board itself, since each machine must be "+
			"told an interface of its own; write another address, or with both sides on the board %%25 for the %%", s)
	}
	return nil
}
