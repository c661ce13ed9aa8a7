package instrument

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// A digest is what a plug asked for to see that its password is known, which is not sent (RFC 7616). Shelly plugs of
// the second generation and later take nothing else.
type digest struct {
	realm, nonce, opaque string
	qop                  bool // it counts how often a nonce is used
	used                 uint32
}

// digestOf finds a challenge that can be met in the values of WWW-Authenticate; nil: there is none.
func digestOf(challenges []string) *digest {
	for _, text := range challenges {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		if !strings.EqualFold(scheme, "Digest") {
			continue
		}
		set := parameters(rest)
		d := &digest{realm: set["realm"], nonce: set["nonce"], opaque: set["opaque"]}
		for q := range strings.SplitSeq(set["qop"], ",") {
			d.qop = d.qop || strings.TrimSpace(q) == "auth"
		}
		if strings.EqualFold(set["algorithm"], "SHA-256") && d.nonce != "" && (d.qop || set["qop"] == "") {
			return d
		}
	}
	return nil
}

// parameters parts name=value, name="value", …; a backslash stands before a quoted character.
func parameters(text string) map[string]string {
	set := map[string]string{}
	for text != "" {
		name, rest, found := strings.Cut(text, "=")
		if !found {
			break
		}
		var value strings.Builder
		quoted, i := false, 0
		for ; i < len(rest) && (quoted || rest[i] != ','); i++ {
			switch c := rest[i]; {
			case c == '"':
				quoted = !quoted
			case c == '\\' && quoted && i+1 < len(rest):
				i++
				value.WriteByte(rest[i])
			default:
				value.WriteByte(c)
			}
		}
		text = strings.TrimPrefix(rest[i:], ",")
		set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value.String())
	}
	return set
}

// answer is the value of Authorization for a GET of a path with its query.
func (d *digest) answer(login *url.Userinfo, uri string) string {
	d.used++
	return d.shown(login, uri, rand.Text())
}

func (d *digest) shown(login *url.Userinfo, uri, cnonce string) string {
	sum := func(parts ...string) string {
		s := sha256.Sum256([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(s[:])
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	password, _ := login.Password()
	known, asked := sum(login.Username(), d.realm, password), sum("GET", uri)
	response, count := sum(known, d.nonce, asked), ""
	if d.qop {
		n := fmt.Sprintf("%08x", d.used)
		response = sum(known, d.nonce, n, cnonce, "auth", asked)
		count = fmt.Sprintf(`, qop=auth, nc=%s, cnonce="%s"`, n, cnonce)
	}
	if d.opaque != "" {
		count += fmt.Sprintf(`, opaque="%s"`, quoted(d.opaque))
	}
	return fmt.Sprintf(`Digest username="%s", realm="%s", nonce="%s", uri="%s", algorithm=SHA-256, response="%s"%s`,
		quoted(login.Username()), quoted(d.realm), quoted(d.nonce), quoted(uri), response, count)
}
