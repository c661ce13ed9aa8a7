package printable

import (
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
)

// Hidden stands where a password stood, in all that is kept or shown.
const Hidden = "xxxxx"

var (
	plugAddress   = lazy.Regexp(`(?:shelly|tasmota):https?://\S*`)
	queryPassword = lazy.Regexp(`([?&]password=)([^&\s"'\]}]*)`)
)

// Redact hides the passwords in addresses of plugs, wherever in a text they stand.
// The names of an environment variable and of a file are not hidden.
func Redact(text string) string {
	return plugAddress().ReplaceAllStringFunc(text, redactPlugs)
}

// redactPlugs redacts addresses that no white space parts.
func redactPlugs(text string) string {
	if next := plugAddress().FindStringIndex(text[1:]); next != nil {
		return redactPlug(text[:next[0]+1]) + redactPlugs(text[next[0]+1:])
	}
	return redactPlug(text)
}

func redactPlug(address string) string {
	kind, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 { // a password with a slash in it: this is no address, but it is a secret
		at = max(0, strings.LastIndexByte(rest, '@'))
	}
	if colon := strings.IndexByte(rest[:at], ':'); colon >= 0 && !strings.ContainsAny(rest[:colon], "/?#") {
		rest = rest[:colon+1] + Hidden + rest[at:]
	}
	return kind + "://" + queryPassword().ReplaceAllStringFunc(rest, redactQuery)
}

func redactQuery(setting string) string {
	name, value, _ := strings.Cut(setting, "=")
	if strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:") {
		return setting
	}
	return name + "=" + Hidden
}
