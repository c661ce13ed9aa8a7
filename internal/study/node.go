package study

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

type kind int

const (
	scalar kind = iota
	list
	mapping
)

func (k kind) String() string { return [...]string{"a single value", "a list", "a mapping"}[k] }

// A node is a piece of YAML with its aliases resolved and its position known.
type node struct {
	pos   Pos
	kind  kind
	tag   string  // of a scalar: !!str, !!int, !!float, !!bool, !!null
	text  string  // of a scalar
	items []*node // of a list
	pairs []pair  // of a mapping, in the order of the file, keys unique
}

type pair struct {
	key   Word
	value *node
}

func (n *node) get(key string) *node {
	for _, p := range n.pairs {
		if p.key.Text == key {
			return p.value
		}
	}
	return nil
}

// maxNodes bounds what aliases can blow up ("billion laughs"); MostText, the text in them, each alias counted.
const maxNodes = 100_000

// parseYAML reads one YAML document. The position of what a --set says is the
// --set: inFile false.
func parseYAML(file string, data []byte, inFile bool, errs *faults) *node {
	at := func(line, col int) Pos {
		if !inFile {
			return Pos{File: file}
		}
		return Pos{file, max(1, line), max(1, col)}
	}
	if line, col, ok := oddCharacter(data); ok {
		errs.add(fault(at(line, col), "a character that is not text in UTF-8", "remove it, or save the file as UTF-8"))
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		e := yamlError(err, at)
		if strings.Contains(e.What, "found multiple") {
			e.Pos = at(secondDocument(data), 1)
		}
		errs.add(e)
		return nil
	}
	t := tree{at: at, errs: errs, open: map[*yaml.Node]bool{}}
	return t.node(&doc)
}

// secondDocument is the line where a second one begins: the library does not say it. No line of a document begins with
// three dashes or dots, not even one of a text.
func secondDocument(data []byte) int {
	seen, ended := false, false
	for i, line := range strings.Split(string(data), "\n") {
		word, _, _ := strings.Cut(strings.TrimRight(line, "\r"), " ")
		switch blank := word == "" || word[0] == '#' || word[0] == '%'; {
		case blank:
		case ended, seen && word == "---":
			return i + 1
		default:
			seen, ended = true, word == "..."
		}
	}
	return 1
}

// oddCharacter finds what YAML forbids, because the library refuses it without a position.
func oddCharacter(data []byte) (line, col int, found bool) {
	line, col = 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return line, col, true
		}
		col++
		if r == '\n' {
			line, col = line+1, 1
		}
		data = data[size:]
	}
	return 0, 0, false
}

func yamlError(err error, at func(line, col int) Pos) Error {
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &many) && len(many.Errors) > 0 {
		one = many.Errors[0]
	} else if !errors.As(err, &one) {
		return fault(at(1, 1), "not YAML: "+err.Error(), "correct it")
	}
	what := strings.TrimPrefix(one.Message, "yaml: ")
	if strings.Contains(what, "no documents") {
		return fault(at(1, 1), "the study is empty", "write at least study: NAME, service: and stack:")
	}
	if one.ContextMsg != "" {
		what += " " + one.ContextMsg
	}
	return fault(at(one.Mark.Line, one.Mark.Column), "not YAML: "+strings.ReplaceAll(what, "\n", " "), yamlAdvice(what))
}

func yamlAdvice(what string) string {
	for _, a := range [][2]string{
		{"tab character", "indent with spaces, not tabs"},
		{"found multiple", "keep one document, and remove the line ---"},
		{"mapping values", "indent the keys of a mapping alike, and put a text that holds a colon between quotes"},
		{"cannot start any token", "indent with spaces, not tabs, and put a text that starts with @, ` or % between quotes"},
		{"expected ',' or", "close the bracket, or put the comma between"},
		{"end of stream", "close the quote or bracket that was opened"},
		{"expected key", "check the indentation and the line before"},
		{"unknown anchor", "define it earlier with &, or quote the text"},
	} {
		if strings.Contains(what, a[0]) {
			return a[1]
		}
	}
	return "check the indentation, quotes and brackets of this line and the one before"
}

// A tree turns the library's nodes into ours.
type tree struct {
	at    func(line, col int) Pos
	errs  *faults
	open  map[*yaml.Node]bool // being read: an alias to one of these is a circle
	count int
	text  int  // B
	full  bool // that it is too large was reported
}

// node returns nil where it has reported an error.
func (t *tree) node(y *yaml.Node) *node {
	pos := t.at(y.Line, y.Column)
	t.count, t.text = t.count+1, t.text+len(y.Value)
	if t.count >= maxNodes || t.text > MostText {
		what := fmt.Sprintf("more than %d values", maxNodes)
		if t.count < maxNodes {
			what = fmt.Sprintf("more than %d MiB of text, each alias counted", MostText>>20)
		}
		if !t.full {
			t.errs.add(fault(pos, what, "write a smaller study, with fewer aliases (*)"))
		}
		t.full = true
		return nil
	}
	switch y.Kind {
	case yaml.DocumentNode:
		return t.node(y.Content[0])
	case yaml.AliasNode:
		if t.open[y.Alias] {
			t.errs.add(fault(pos, "alias *"+y.Value+" is inside the value it refers to", "write the value out"))
			return nil
		}
		n := t.node(y.Alias)
		if n != nil {
			n.pos = pos // where it is used
		}
		return n
	case yaml.MappingNode, yaml.SequenceNode:
		t.open[y] = true
		defer delete(t.open, y)
		if y.Kind == yaml.SequenceNode {
			return t.list(y, pos)
		}
		return t.mapping(y, pos)
	}
	return &node{pos: pos, kind: scalar, tag: y.ShortTag(), text: y.Value}
}

func (t *tree) list(y *yaml.Node, pos Pos) *node {
	n := &node{pos: pos, kind: list}
	for _, c := range y.Content {
		if item := t.node(c); item != nil {
			n.items = append(n.items, item)
		}
	}
	return n
}

func (t *tree) mapping(y *yaml.Node, pos Pos) *node {
	n := &node{pos: pos, kind: mapping}
	first := map[string]Pos{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := t.node(y.Content[i]), t.node(y.Content[i+1])
		switch {
		case key == nil || value == nil:
		case key.kind != scalar || key.tag == "!!null":
			t.errs.add(fault(key.pos, "a key that is not a name", "write NAME: value"))
		case key.tag == "!!merge":
			t.errs.add(fault(key.pos, "merge keys (<<) are not supported", "write the keys out"))
		case first[key.text] != (Pos{}):
			t.errs.add(fault(key.pos, fmt.Sprintf("%q is given twice, first %s", key.text, where(first[key.text], key.pos)),
				"remove one"))
		default:
			first[key.text] = key.pos
			n.pairs = append(n.pairs, pair{Word{key.text, key.pos}, value})
		}
	}
	return n
}

// where names a position for a reader who looks at another one.
func where(p, from Pos) string {
	if p.Line == 0 || p.File != from.File {
		return "at " + p.String()
	}
	return fmt.Sprintf("at line %d", p.Line)
}

// scalars are a list's values as they may be written, or what stands for them.
func (n *node) scalars() string {
	var words []string
	for _, x := range n.items {
		if x.kind != scalar || len(words) == 4 {
			words = append(words, "…")
			break
		}
		words = append(words, x.text)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
