package web

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"edgegauge.example/edgegauge/internal/study"
)

// A word is a key of a study as its schema has it, with what its value may be, or the keys
// that stand under it.
type word struct {
	Key     string   `json:"key"`
	Says    string   `json:"says,omitempty"`
	Options []string `json:"options,omitempty"`
	Inside  []word   `json:"inside,omitempty"`
}

// A schemaNode is what is read of a JSON Schema.
type schemaNode struct {
	Ref         string                     `json:"$ref"`
	Description string                     `json:"description"`
	Enum        []any                      `json:"enum"`
	Const       any                        `json:"const"`
	Default     any                        `json:"default"`
	AnyOf       []schemaNode               `json:"anyOf"`
	Items       *schemaNode                `json:"items"`
	Properties  map[string]schemaNode      `json:"properties"`
	Defs        map[string]json.RawMessage `json:"$defs"`
}

// schemaWords are the keys of the schema, in the order of their names but for the first.
var schemaWords = sync.OnceValue(func() []word {
	var top schemaNode
	if err := json.Unmarshal(study.Schema, &top); err != nil {
		return nil // a test says so
	}
	return top.words(top.Defs)
})

// follow gives the definition that a node refers to, with the node's own description.
func (n schemaNode) follow(defs map[string]json.RawMessage) schemaNode {
	path := strings.Split(strings.TrimPrefix(n.Ref, "#/$defs/"), "/")
	raw, ok := defs[path[0]]
	for _, key := range path[1:] {
		var inside map[string]json.RawMessage
		if json.Unmarshal(raw, &inside) != nil {
			return n
		}
		raw = inside[key]
	}
	var to schemaNode
	if n.Ref == "" || !ok || json.Unmarshal(raw, &to) != nil {
		return n
	}
	to = to.follow(defs)
	if n.Description != "" {
		to.Description = n.Description
	}
	if n.Default != nil {
		to.Default = n.Default
	}
	return to
}

func (n schemaNode) words(defs map[string]json.RawMessage) []word {
	var all []word
	for _, key := range slices.SortedFunc(maps.Keys(n.Properties), func(a, b string) int {
		first := []string{"service", "question", "study"} // the others behind them
		if at := slices.Index(first, b) - slices.Index(first, a); at != 0 {
			return at
		}
		return strings.Compare(a, b)
	}) {
		x := n.Properties[key].follow(defs)
		w := word{Key: key, Says: x.Description, Options: x.options(), Inside: x.words(defs)}
		if text, ok := x.Default.(string); ok {
			w.Says += " Default: " + text + "."
		} else if b, err := json.Marshal(x.Default); err == nil && x.Default != nil {
			w.Says += " Default: " + string(b) + "."
		}
		all = append(all, w)
	}
	return all
}

// options are the texts that a value may be.
func (n schemaNode) options() []string {
	var out []string
	for _, x := range append(slices.Clone(n.Enum), n.Const) {
		if text, ok := x.(string); ok {
			out = append(out, text)
		}
	}
	for _, x := range n.AnyOf {
		out = append(out, x.options()...)
	}
	return out
}

func insideOf(words []word, key string) []word {
	for _, w := range words {
		if w.Key == key {
			return w.Inside
		}
	}
	return nil
}

// vocabulary are the words of the schema with the names of this machine.
func (s *Server) vocabulary(ctx context.Context) []word {
	v := s.Bed.Vocabulary(ctx)
	names := map[string][]string{"stack": v.StackNames, "device": v.Devices, "link": append(slices.Clone(v.Links), "none"),
		"service": slices.Sorted(maps.Keys(v.Services)), "responses": v.Responses}
	var named func(list []word) []word
	named = func(list []word) []word {
		list = slices.Clone(list)
		for i, w := range list {
			last := w.Key[strings.LastIndexByte(w.Key, '.')+1:]
			if w.Options == nil {
				list[i].Options = names[last]
			}
			list[i].Inside = named(w.Inside)
			if len(list[i].Inside) == 0 {
				list[i].Inside = nil
			}
		}
		return list
	}
	return named(schemaWords())
}

// words gives them to the editor.
func (s *Server) words(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.vocabulary(r.Context())) // the browser went away
}
