package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// A host is how a machine is reached, as ssh_config(5) says it.
type host struct {
	asked            Target // as the user gave it: an alias of the configuration, maybe
	name, user, port string
	keys             []string // identity files named, as they are tried
	onlyKeys         bool     // IdentitiesOnly
	agent            string   // socket; empty: none
	known            []string // files of host keys
	alias            string   // the name in them, if another
	jump             []string // to go through, one after the other
}

// lookup reads what ~/.ssh/config and /etc/ssh/ssh_config say of t. Of each
// keyword the first value counts, except that identity files add up.
func lookup(t Target) (host, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return host{}, fmt.Errorf("ssh: %w; set HOME", err)
	}
	r := configReader{home: home, asked: t.Host, user: t.User, got: map[string][]string{}}
	for _, file := range []string{filepath.Join(home, ".ssh", "config"), "/etc/ssh/ssh_config"} {
		if err := r.read(file, 0); err != nil {
			return host{}, err
		}
	}
	return r.host(t)
}

// At is the address of a board as far as its name and the configuration of ssh say it, without asking anybody: not
// valid where a name has to be looked up. Direct: there is no jump host before it.
func At(name string) (at netip.Addr, direct bool, err error) {
	t, err := ParseTarget(name)
	if err != nil {
		return at, false, err
	}
	h, err := lookup(t)
	if err != nil {
		return at, false, err
	}
	if a, err := netip.ParseAddr(h.name); err == nil {
		at = a.Unmap().WithZone("")
	}
	return at, len(h.jump) == 0, nil
}

type configReader struct {
	home, asked, user string
	got               map[string][]string
}

// add up, or the first counts.
var addsUp = []string{"identityfile"}

func (r *configReader) read(file string, depth int) error {
	const deepest = 16
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || depth > deepest {
		return fmt.Errorf("%s: it cannot be read, or includes itself: %w", file, err)
	}
	applies := true
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		key, args, err := splitLine(line)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
		switch {
		case key == "":
		case key == "host":
			applies = matchAny(args, r.asked)
		case key == "match":
			applies = r.match(args)
		case !applies || len(args) == 0:
		case key == "include":
			for _, pattern := range args {
				if err := r.include(pattern, file, depth); err != nil {
					return err
				}
			}
		case r.got[key] == nil || slices.Contains(addsUp, key):
			r.got[key] = append(r.got[key], args...)
		}
	}
	return nil
}

func (r *configReader) include(pattern, from string, depth int) error {
	pattern = r.expand(pattern, nil)
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(filepath.Dir(from), pattern)
	}
	files, err := filepath.Glob(pattern)
	for _, f := range files {
		if err := r.read(f, depth+1); err != nil {
			return err
		}
	}
	return err
}

// match knows the criteria that need nothing to be run; a block with others
// does not apply.
func (r *configReader) match(args []string) bool {
	if len(args) == 1 && strings.EqualFold(args[0], "all") {
		return true
	}
	if len(args)%2 != 0 || len(args) == 0 {
		return false
	}
	for i := 0; i < len(args); i += 2 {
		var value string
		switch strings.ToLower(args[i]) {
		case "host", "originalhost":
			value = r.asked
		case "user":
			value = r.user
		default:
			return false
		}
		if !matchAny(strings.Split(args[i+1], ","), value) {
			return false
		}
	}
	return true
}

// matchAny says whether a pattern matches and none that is negated does.
func matchAny(patterns []string, s string) bool {
	found := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if matches(strings.TrimPrefix(p, "!"), s) {
			if negated {
				return false
			}
			found = true
		}
	}
	return found
}

// matches knows * and ?, nothing else.
func matches(pattern, s string) bool {
	for len(pattern) > 0 {
		if pattern[0] == '*' {
			for i := range len(s) + 1 {
				if matches(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		}
		if s == "" || pattern[0] != '?' && pattern[0] != s[0] {
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}

// splitLine parts a line into its keyword, in lower case, and arguments, which
// may stand between quotes.
func splitLine(line string) (key string, args []string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return strings.ToLower(line), nil, nil
	}
	if i == 0 {
		return "", nil, errors.New("a value without a keyword")
	}
	key, rest := strings.ToLower(line[:i]), strings.TrimLeft(line[i:], " \t")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
	for rest != "" {
		end := strings.IndexAny(rest, " \t")
		if rest[0] == '"' {
			rest = rest[1:]
			if end = strings.IndexByte(rest, '"'); end < 0 {
				return "", nil, errors.New("an unclosed quote")
			}
		} else if rest[0] == '#' {
			break
		}
		if end < 0 {
			end = len(rest)
		}
		args = append(args, rest[:end])
		rest = strings.TrimLeft(rest[min(end+1, len(rest)):], " \t")
	}
	return key, args, nil
}

func (r *configReader) first(key, otherwise string) string {
	if v := r.got[key]; len(v) > 0 {
		return v[0]
	}
	return otherwise
}

// expand fills in ~ and the tokens.
func (r *configReader) expand(s string, tokens map[string]string) string {
	if s == "~" || strings.HasPrefix(s, "~/") {
		s = r.home + s[1:]
	}
	pairs := []string{"%%", "%"}
	for k, v := range tokens {
		pairs = append(pairs, k, v)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func (r *configReader) host(t Target) (host, error) {
	h := host{asked: t, user: t.User, port: t.Port}
	h.name = r.expand(r.first("hostname", t.Host), map[string]string{"%h": t.Host})
	if h.port == "" {
		h.port = r.first("port", "22")
	}
	if h.user == "" {
		h.user = r.first("user", "")
	}
	me, err := user.Current()
	if h.user == "" {
		if err != nil {
			return h, fmt.Errorf("ssh: %w; write the user: ssh://user@%s", err, t.Host)
		}
		h.user = me.Username
	}
	local := ""
	if err == nil {
		local = me.Username
	}
	tokens := map[string]string{"%h": h.name, "%n": t.Host, "%p": h.port, "%r": h.user, "%u": local, "%d": r.home}
	files := func(key string, otherwise ...string) []string {
		list := r.got[key]
		if list == nil {
			list = otherwise
		}
		var out []string
		for _, f := range list {
			if f != "none" {
				out = append(out, r.expand(f, tokens))
			}
		}
		return out
	}
	h.keys = files("identityfile", "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
	h.onlyKeys = strings.EqualFold(r.first("identitiesonly", "no"), "yes")
	h.known = append(files("userknownhostsfile", "~/.ssh/known_hosts", "~/.ssh/known_hosts2"),
		files("globalknownhostsfile", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")...)
	h.alias = r.first("hostkeyalias", "")
	switch a := r.first("identityagent", "SSH_AUTH_SOCK"); {
	case a == "none":
	case a == "SSH_AUTH_SOCK":
		h.agent = os.Getenv(a)
	default:
		h.agent = r.expand(os.ExpandEnv(a), tokens)
	}
	if j := r.first("proxyjump", "none"); j != "none" {
		h.jump = strings.Split(j, ",")
	} else if c := r.first("proxycommand", "none"); c != "none" {
		return h,
			fmt.Errorf("ssh: the configuration of %s has a ProxyCommand, which is not supported; use ProxyJump instead",
				t.Host)
	}
	return h, nil
}
