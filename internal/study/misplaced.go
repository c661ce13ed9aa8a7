package study

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/meant"
)

// keyAdvice says what an unknown key may stand for: a known one, one of other tools, or one that
// belongs inside a mapping.
func keyAdvice(key Word, value *node, known []string) string {
	names, ok := otherWords[strings.ToLower(key.Text)]
	if !ok {
		names = inside(key.Text)
	}
	if near := meant.Nearest(key.Text, known); names == nil && near != "" {
		return meant.Question(near)
	}
	if names == nil {
		names = nearlyInside(key.Text)
	}
	switch {
	case names == nil:
		return meant.Advice(key.Text, known, manual)
	case len(names) > 1:
		return meant.Question(names...)
	}
	group, name, nested := strings.Cut(names[0], ".")
	if !nested || isSetting(names[0]) {
		return meant.Question(names...)
	}
	if key.Pos.Line == 0 { // a --set
		return fmt.Sprintf("did you mean %s? write --set %[1]s=…", names[0])
	}
	text := "…"
	if value.kind == scalar && value.text != "" {
		text = value.text
	}
	question := meant.Question(names[0]) + " "
	if key.Text == names[0] {
		question = ""
	}
	return fmt.Sprintf("%swrite %s: {%s: %s}", question, group, name, text)
}

// adviceInside says what an unknown key of a group may stand for, in the words of other tools too.
func (r *reader) adviceInside(group, name string, known []string, listed string) string {
	for _, w := range otherWords[strings.ToLower(name)] {
		if k, ok := strings.CutPrefix(w, group+"."); ok {
			return meant.Question(k)
		}
	}
	if meant.Nearest(name, known) == "" {
		if where := r.elsewhere(name); where != "" {
			return where
		}
	}
	return meant.Advice(name, known, listed)
}

// elsewhere says where a key belongs that stands in the wrong mapping, or what other tools call so; empty: nowhere.
func elsewhere(name string) string {
	words := otherWords[strings.ToLower(name)]
	names := inside(name)
	for _, whole := range Keys() {
		if strings.HasSuffix(whole, "."+name) && !slices.Contains(names, whole) {
			names = append(names, whole)
		}
	}
	switch {
	case isTop(name):
		return "write it at the top of the study: " + name + ": …"
	case names != nil:
		return meant.Question(names...)
	case len(words) == 1 && isTop(words[0]) && !strings.Contains(words[0], "."):
		return fmt.Sprintf("did you mean %s? write it at the top of the study: %[1]s: …", words[0])
	case words != nil:
		return meant.Question(words...)
	}
	return ""
}

// isTop says whether a key stands at the top of a study.
func isTop(name string) bool {
	return indexKey(topKeys, name) >= 0 || isSetting(name) || slices.Contains(groups, name)
}

// insideKeys are all keys that stand inside a mapping, as GROUP.KEY.
func insideKeys() []string {
	var all []string
	for _, in := range []struct {
		group string
		keys  []string
	}{
		{"design", keyNames(designKeys)}, {"timeouts", keyNames(timeoutKeys)}, {"limits", keyNames(limitKeys)},
		{"link", linkKeys}, {"request", requestKeyNames()}, {"client", keysIn("client")}, {"server", keysIn("server")},
	} {
		for _, k := range in.keys {
			all = append(all, in.group+"."+k)
		}
	}
	return all
}

// inside are those keys that bear the name.
func inside(name string) []string {
	var found []string
	for _, whole := range insideKeys() {
		if whole == name || strings.HasSuffix(whole, "."+name) {
			found = append(found, whole)
		}
	}
	return found
}

// nearlyInside is the first of those keys that nearly bears the name; nil: there is none.
func nearlyInside(name string) []string {
	for _, whole := range insideKeys() {
		_, key, _ := strings.Cut(whole, ".")
		if strings.Contains(name, ".") {
			key = whole
		}
		if meant.Nearest(name, []string{key}) != "" {
			return []string{whole}
		}
	}
	return nil
}

// keysIn are the settings of a group, without its name.
func keysIn(group string) []string {
	var keys []string
	for _, name := range settingNames() {
		if k, ok := strings.CutPrefix(name, group+"."); ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// otherWords are what other tools, and papers, call keys of a study.
var otherWords = map[string][]string{
	"name": {"study"}, "title": {"study"}, "description": {"question"}, "goal": {"question"},
	"repetitions": {"design.replications"}, "repeats": {"design.replications"}, "repeat": {"design.replications"},
	"runs": {"design.replications"}, "trials": {"design.replications"}, "replicates": {"design.replications"},
	"iterations": {"requests", "design.replications"}, "samples": {"requests", "design.replications"},
	"metrics": {"responses"}, "measure": {"responses"}, "measurements": {"responses"}, "outputs": {"responses"},
	"variables": {"factors"}, "parameters": {"factors"}, "matrix": {"factors"}, "vary": {"factors"}, "levels": {"factors"},
	"protocol": {"stack", "transport"}, "protocols": {"factors.stack"}, "framework": {"stack"},
	"threads": {"concurrency"}, "connections": {"concurrency"}, "clients": {"concurrency"}, "users": {"concurrency"},
	"population": {"devices"}, "sensors": {"devices"}, "nodes": {"devices"}, "interval": {"period"},
	"backoff": {"reconnect"}, "subscribe": {"observe"}, "psm": {"sleep"}, "edrx": {"sleep"},
	"vus": {"concurrency"}, "rps": {"rate"}, "qps": {"rate"}, "throughput": {"rate"},
	"payload": {"service", "size"}, "message": {"service", "size"},
	"tls": {"security"}, "ssl": {"security"}, "dtls": {"security"}, "network": {"link"}, "latency": {"link.delay"},
	"bandwidth": {"link.rate"}, "jitter": {"link.delay_stddev"}, "packet_loss": {"link.loss"},
	"blocks": {"design.replications"}, "retry": {"retries"}, "attempts": {"retries"},
	"errors": {"failures"}, "error_rate": {"failures"}, "max_errors": {"failures"}, "failed_share": {"failures"},
	"cpus": {"pin"}, "affinity": {"pin"}, "endpoint": {"server.url"}, "host": {"server.url"},
	"target": {"server.url"}, "uri": {"server.url"}, "address": {"server.url"}, "count": {"requests"},
	"loops": {"requests"}, "workers": {"concurrency"}, "parallel": {"concurrency"}, "parallelism": {"concurrency"},
	"power": {"server.meter", "client.meter"},
}
