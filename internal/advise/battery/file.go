package battery

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/named"
)

// A Kind is what a file describes.
type Kind string

// The kinds of files.
const (
	Radio   Kind = "radio"
	Battery Kind = "battery"
)

func (k Kind) folder() string {
	if k == Radio {
		return "radios"
	}
	return "batteries"
}

// A Profile is a radio or a battery as its file describes it, with the source of each figure.
type Profile struct {
	Kind        Kind
	Name, Title string
	Note        string   // what whoever forecasts with it should know; empty: nothing
	Figures     []Figure // in the order of the file
}

// Says is the note with the file that it is of; empty: there is none.
func (p Profile) Says() string {
	if p.Note == "" {
		return ""
	}
	return p.Kind.folder() + "/" + p.Name + ".yaml: " + p.Note
}

// Load reads every *.yaml of the folders into profiles by name, which is the file's;
// a later folder hides an earlier one's profile. Broken files are all in the error,
// with the line of each mistake; the others are loaded.
func Load(kind Kind, folders ...fs.FS) (map[string]Profile, error) {
	return named.Load(func(name string, text []byte) (Profile, error) { return Read(kind, name, text) }, folders...)
}

// Read reads one file. All of its mistakes are in the error.
func Read(kind Kind, name string, text []byte) (Profile, error) {
	p := Profile{Kind: kind, Name: name}
	file := kind.folder() + "/" + name + ".yaml"
	var doc yaml.Node
	if err := named.InWords(yaml.Unmarshal(text, &doc)); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return p, fmt.Errorf("%s: it has no figures; write KEY: {value: …, source: …} for each of %s", file,
			strings.Join(namesOf(string(kind)), ", "))
	}
	var errs []error
	wrong := func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s:%d: %w", file, n.Line, fmt.Errorf(format, args...)))
	}
	seen := map[string]bool{}
	for at, value := range pairs(doc.Content[0]) {
		k, known := findKey(string(kind) + "." + at.Value)
		switch {
		case seen[at.Value]:
			wrong(at, "%s is there twice; remove one", at.Value)
		case at.Value == "title":
			p.Title = value.Value
		case at.Value == "note":
			p.Note = value.Value
		case !known:
			names := namesOf(string(kind))
			wrong(at, "unknown key %q; %s", at.Value, meant.Advice(at.Value, names,
				"the keys are title, note, "+strings.Join(names, ", ")))
		default:
			f, err := readFigure(k, value, wrong)
			if err != nil {
				wrong(value, "%s: %w", at.Value, err)
			}
			p.Figures = append(p.Figures, f)
		}
		seen[at.Value] = true
	}
	if p.Title == "" {
		wrong(doc.Content[0], "the title is missing")
	}
	for _, k := range keys {
		if rest, ok := strings.CutPrefix(k.name, string(kind)+"."); ok && k.need && !seen[rest] {
			wrong(doc.Content[0], "%s is missing: %s", rest, k.says)
		}
	}
	return p, errors.Join(errs...)
}

// pairs are the keys and values of a mapping.
func pairs(m *yaml.Node) func(func(k, v *yaml.Node) bool) {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i], m.Content[i+1]) {
				return
			}
		}
	}
}

// readFigure reads {value: …, low: …, high: …, source: …}.
func readFigure(k key, n *yaml.Node, wrong func(*yaml.Node, string, ...any)) (Figure, error) {
	if n.Kind != yaml.MappingNode {
		return Figure{}, errors.New("write {value: …, source: …}, and the limits low and high where they are known")
	}
	texts := map[string]string{}
	for at, value := range pairs(n) {
		switch at.Value {
		case "value", "low", "high", "source":
			texts[at.Value] = value.Value
		default:
			wrong(at, "unknown key %q of a figure; the keys are value, low, high, source", at.Value)
		}
	}
	if texts["source"] == "" {
		return Figure{}, errors.New("it names no source; write {value: …, source: …}")
	}
	f, err := figureOf(k, texts["value"], texts["low"], texts["high"])
	f.Source = texts["source"]
	return f, err
}
