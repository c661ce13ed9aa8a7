package battery

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of a kind's files, for editors. Read finds
// more: limits in the wrong order, shares above 1.
func Schema(kind Kind) []byte {
	properties := map[string]any{"title": map[string]any{"type": "string", "minLength": 1},
		"note": map[string]any{"type": "string", "description": "what whoever forecasts with it should know"}}
	required := []string{"title"}
	for _, k := range keys {
		name, ok := strings.CutPrefix(k.name, string(kind)+".")
		if !ok {
			continue
		}
		properties[name] = map[string]any{"description": k.says, "$ref": "#/$defs/" + defName(k.unit)}
		if k.need {
			required = append(required, name)
		}
	}
	defs := map[string]any{}
	for unit, names := range unitNames {
		quantity := map[string]any{"type": []string{"string", "number"}, "pattern": pattern(names)}
		defs[defName(unit)] = map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"value", "source"},
			"properties": map[string]any{"value": quantity, "low": quantity, "high": quantity,
				"source": map[string]any{"type": "string", "minLength": 1}},
		}
	}
	text, _ := json.MarshalIndent(map[string]any{ // of strings and maps: it cannot fail
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "edgegauge: a file in " + kind.folder(),
		"type":    "object", "additionalProperties": false, "required": required, "properties": properties, "$defs": defs,
	}, "", "  ")
	return append(text, '\n')
}

// pattern is what a quantity looks like.
func pattern(names []unitName) string {
	units := make([]string, 0, len(names))
	for _, n := range names {
		units = append(units, regexp.QuoteMeta(n.name))
	}
	return `^[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)? ?(` + strings.Join(units, "|") + ")$"
}

// defName is a unit as a reference may name it: a slash would part its path.
func defName(unit string) string { return strings.ReplaceAll(unit, "/", "-per-") }
