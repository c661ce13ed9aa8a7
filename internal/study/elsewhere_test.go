package study

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/meant"
)

// Whoever writes a key in the wrong mapping is told where it belongs, unless it is nearly one of that mapping.
func TestKeysElsewhere(t *testing.T) {
	homes := map[string][]string{} // of a key's last word
	for _, whole := range append(Keys(), settingNames()...) {
		name := whole[strings.LastIndex(whole, ".")+1:]
		homes[name] = append(homes[name], whole)
	}
	told := 0
	for group, known := range map[string][]string{"design": keyNames(designKeys), "timeouts": keyNames(timeoutKeys),
		"limits": keyNames(limitKeys), "pin": keyNames(pinKeys), "request": requestKeyNames(),
		"outage": {"at", "for", "share"},
		"link":   append(linkKeys[:len(linkKeys):len(linkKeys)], "up", "down", "name", "profile", "shaper")} {
		for name, all := range homes {
			if meant.Nearest(name, known) != "" || slices.ContainsFunc(otherWords[name], func(w string) bool {
				return strings.HasPrefix(w, group+".")
			}) {
				continue
			}
			text := fmt.Sprintf("study: s\nservice: echo\nn: 5\nstack: s\n%s: {%s: 1}\n", group, name)
			_, err := Parse("s.yaml", []byte(text), Vocabulary{})
			if err == nil {
				t.Errorf("%s: {%s: 1} is taken", group, name)
				continue
			}
			says := false
			for _, home := range all {
				where := home
				if isTop(name) {
					home = name
				}
				if !strings.Contains(home, ".") {
					where = "write it at the top of the study: " + home
				}
				says = says || strings.Contains(err.Error(), fmt.Sprintf("has no key %q; ", name)) &&
					(strings.Contains(err.Error(), where) || strings.Contains(err.Error(), " or "))
			}
			if told++; !says {
				t.Errorf("%s: {%s: 1}: got %v, want one of %v", group, name, err, all)
			}
		}
	}
	if told < 100 {
		t.Errorf("%d keys were tried", told)
	}
}

// Words of other tools are understood wherever they stand.
func TestWordsOfOtherTools(t *testing.T) {
	for text, want := range map[string]string{
		"design: {requests: 5}":     `design has no key "requests"; write it at the top of the study: requests: …`,
		"design: {title: x}":        "did you mean study? write it at the top of the study: study: …",
		"design: {runs: 3}":         "did you mean replications?",
		"design: {threads: 3}":      "did you mean concurrency? write it at the top",
		"design: {url: x}":          "did you mean server.url?",
		"title: x":                  "did you mean study?",
		"count: 5":                  "did you mean requests?",
		"timeout: 5s":               "did you mean timeouts?",
		"uri: x":                    "did you mean server.url?",
		"client: {requests: 5}":     `no setting "client.requests"; write it at the top of the study: requests: …`,
		"factors: {threads: [1]}":   "did you mean concurrency?",
		"factors: {warmup: [1, 2]}": "design.warmup is the same in all treatments",
		"timeouts: {trail: 5s}":     "did you mean trial?",
	} {
		_, err := Parse("s.yaml", []byte("study: s\nservice: echo\nn: 5\nstack: s\n"+text+"\n"), Vocabulary{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
