package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/study"
)

// A formRow is a value of the text on a line of the form.
type formRow struct {
	Path, Value, Says, List string
	Line                    int
}

// A wordList is what a value may be.
type wordList struct {
	ID   string
	From []string
}

// form gives a line to each value of the text that fits on one.
func (s *Server) form(ctx context.Context, v *newView) {
	words := s.vocabulary(ctx)
	seen := map[string]bool{}
	add := func(path, value string, n *yaml.Node, in []word, key string) {
		row := formRow{Path: path, Value: value, Line: n.Line}
		if i := slices.IndexFunc(in, func(w word) bool { return w.Key == key }); i >= 0 {
			row.Says = in[i].Says
			if len(in[i].Options) > 0 {
				row.List = "list-" + plainName().ReplaceAllString(path, "-")
				v.Lists = append(v.Lists, wordList{row.List, in[i].Options})
			}
		}
		if value == "" && n.Kind != yaml.ScalarNode {
			v.Others = append(v.Others, row)
		} else {
			v.Rows = append(v.Rows, row)
		}
	}
	eachEntry(v.Text, func(key, value *yaml.Node) {
		seen[key.Value] = true
		inside := insideOf(words, key.Value)
		if value.Kind != yaml.MappingNode || inside == nil {
			add(key.Value, onLine(value), value, words, key.Value)
			return
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			k, x := value.Content[i], value.Content[i+1]
			seen[key.Value+"."+k.Value] = true
			add(key.Value+"."+k.Value, onLine(x), x, inside, k.Value)
		}
	})
	for _, w := range words {
		switch {
		case w.Inside == nil && !seen[w.Key]:
			v.More = append(v.More, w)
		case w.Key == "client" || w.Key == "server": // client.device and so on stand for them
		default:
			for _, x := range w.Inside {
				if x.Key = w.Key + "." + x.Key; !seen[x.Key] {
					v.More = append(v.More, x)
				}
			}
		}
	}
}

// eachEntry visits the entries of a text's mapping, if it is one.
func eachEntry(text string, visit func(key, value *yaml.Node)) {
	var doc yaml.Node
	if len(text) > study.MostText || yaml.Load([]byte(text), &doc) != nil || len(doc.Content) != 1 ||
		doc.Content[0].Kind != yaml.MappingNode {
		return
	}
	for i, m := 0, doc.Content[0]; i+1 < len(m.Content); i += 2 {
		visit(m.Content[i], m.Content[i+1])
	}
}

// onLine is a value as the form shows it; empty: it has none, or is left to the text.
func onLine(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if !strings.Contains(n.Value, "\n") && n.Style&(yaml.FoldedStyle|yaml.LiteralStyle) == 0 {
			return n.Value
		}
	case yaml.SequenceNode:
		items := make([]string, len(n.Content))
		for i, x := range n.Content {
			if x.Kind != yaml.ScalarNode || x.HeadComment+x.LineComment+x.FootComment != "" || onLine(x) == "" {
				return ""
			}
			items[i] = study.Scalar(x.Value)
			if strings.ContainsAny(items[i], ",[]{}") && items[i][0] != '"' {
				return ""
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return ""
}

// applied puts the changed lines of the form into the text.
func applied(text string, f url.Values) (string, string, error) {
	b, n := []byte(text), 0
	edit := func(path, value string) (err error) {
		n++
		b, err = study.Edit(b, study.Scalar(value), keysOf(string(b), path)...)
		return err
	}
	for _, path := range f["path"] {
		if now := f.Get("set." + path); now != f.Get("was."+path) {
			if err := edit(path, now); err != nil {
				return text, "", fault{http.StatusConflict, err.Error()}
			}
		}
	}
	if path := f.Get("add"); path != "" && f.Get("value") != "" {
		if err := edit(path, f.Get("value")); err != nil {
			return text, "", fault{http.StatusConflict, err.Error()}
		}
	}
	return string(b), fmt.Sprintf("%s changed in the text", plural.Count(n, "value")), nil
}

// keysOf are the keys that a path of the form stands for: client.device is one key, or two.
func keysOf(text, path string) []string {
	head, rest, two := strings.Cut(path, ".")
	if !two {
		return []string{path}
	}
	inside := head != "client" && head != "server" && len(insideOf(schemaWords(), head)) > 0
	eachEntry(text, func(key, value *yaml.Node) {
		inside = inside || key.Value == head && value.Kind == yaml.MappingNode
	})
	if inside {
		return []string{head, rest}
	}
	return []string{path}
}
