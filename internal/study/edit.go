package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// ErrEdit means that a text is not YAML that Edit could change.
var ErrEdit = errors.New("the text is not YAML whose values can be edited one by one; correct it first")

// Edit gives one value in the text of a study, or removes it where value is empty. The
// path are the keys that lead to it, such as design, seed; the value is as YAML has it on
// one line. All else stays as it stands: comments, order, and if possible every byte.
func Edit(text []byte, value string, path ...string) ([]byte, error) {
	before, err := loadTree(text)
	if err != nil || len(path) == 0 || len(path) > 2 {
		return nil, ErrEdit
	}
	var put *yaml.Node
	if value != "" {
		if put, err = oneLine(value); err != nil {
			return nil, err
		}
	}
	changed := func() (*yaml.Node, error) { // anew each time: aliases make copying hard, and a dump changes tags
		tree, err := loadTree(text)
		if err != nil {
			return nil, ErrEdit
		}
		return tree, change(tree.Content[0], put, path)
	}
	want, err := changed()
	if err != nil {
		return nil, err
	}
	if sameTree(before, want) {
		return text, nil
	}
	e := edit{text: text, lines: lineStarts(text), value: value, path: path}
	for _, candidate := range e.candidates(before.Content[0]) {
		if after, err := loadTree(candidate); err == nil && sameTree(want, after) {
			return candidate, nil
		}
	}
	var b bytes.Buffer
	d, err := yaml.NewDumper(&b, yaml.WithIndent(2), yaml.WithUnicode(true))
	if dumped, failed := changed(); err == nil && failed == nil {
		err = errors.Join(d.Dump(dumped), d.Close())
	}
	if after, failed := loadTree(b.Bytes()); err != nil || failed != nil || !sameTree(want, after) {
		return nil, ErrEdit
	}
	return b.Bytes(), nil
}

// Scalar writes a text as a value on one line: as it stands where YAML reads it as that,
// and else between quotes. Lists and mappings between brackets stay such.
func Scalar(text string) string {
	text = strings.TrimSpace(text)
	if n, err := oneLine(text); err == nil && (n.Kind != yaml.ScalarNode || n.Value == text) || text == "" {
		return text
	}
	quoted, _ := json.Marshal(text) // a string always can be
	return string(quoted)
}

// loadTree reads one document whose root is a mapping, or nothing at all.
func loadTree(text []byte) (*yaml.Node, error) {
	if _, _, odd := oddCharacter(text); odd {
		return nil, ErrEdit
	}
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, ErrEdit
	}
	return &doc, nil
}

// oneLine reads a value that stands on one line.
func oneLine(value string) (*yaml.Node, error) {
	var doc yaml.Node
	err := yaml.Load([]byte(value), &doc)
	if err != nil || strings.ContainsAny(value, "\n\r") || len(doc.Content) != 1 {
		return nil, fmt.Errorf("%q is not a value on one line; put it between quotes", value)
	}
	n := doc.Content[0]
	block := n.Kind != yaml.ScalarNode && n.Style&yaml.FlowStyle == 0
	if block || n.Kind == yaml.AliasNode || comments(&doc) != "" {
		return nil, fmt.Errorf("%q is not a value on one line; put it between quotes", value)
	}
	return n, nil
}

// entryOf is the index of a key in a mapping's content; -1: it has none.
func entryOf(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Kind == yaml.ScalarNode && m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// change edits the tree. A mapping that becomes empty goes, too.
func change(m, put *yaml.Node, path []string) error {
	i := entryOf(m, path[0])
	if len(path) == 1 {
		switch {
		case put == nil && i >= 0:
			m.Content = slices.Delete(m.Content, i, i+2)
		case put != nil && i >= 0:
			old, now := m.Content[i+1], *put
			now.HeadComment, now.LineComment, now.FootComment = old.HeadComment, old.LineComment, old.FootComment
			m.Content[i+1] = &now
		case put != nil:
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0]}, put)
		}
		return nil
	}
	if i < 0 && put == nil {
		return nil
	}
	if i < 0 {
		inside := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0]}, inside)
		i = len(m.Content) - 2
	}
	inside := m.Content[i+1]
	if inside.Kind != yaml.MappingNode {
		return ErrEdit
	}
	if err := change(inside, put, path[1:]); err != nil {
		return err
	}
	if len(inside.Content) == 0 {
		m.Content = slices.Delete(m.Content, i, i+2)
	}
	return nil
}

// sameTree says whether two trees say the same, in the same order and with the same comments.
func sameTree(a, b *yaml.Node) bool { return sameNode(a, b) && comments(a) == comments(b) }

func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, sameNode)
}

// comments are all of a tree, one a line, in their order. Which node one belongs to is a guess
// of the library's that a line more or less can change.
func comments(n *yaml.Node) string {
	var all []string
	var gather func(n *yaml.Node)
	add := func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				all = append(all, line)
			}
		}
	}
	gather = func(n *yaml.Node) {
		add(n.HeadComment)
		add(n.LineComment)
		for _, c := range n.Content {
			gather(c)
		}
		add(n.FootComment)
	}
	gather(n)
	return strings.Join(all, "\n")
}

// An edit finds places in a text by the positions of nodes.
type edit struct {
	text  []byte
	lines []int // offset of each line's first byte
	value string
	path  []string
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, c := range text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(text))
}

// offset is that of a position, whose column counts characters.
func (e edit) offset(line, col int) int {
	at := e.line(line)
	for ; col > 1 && at < len(e.text); col-- {
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at
}

// line is the offset of a line, counted from 1.
func (e edit) line(n int) int { return e.lines[min(max(n, 1), len(e.lines))-1] }

func (e edit) splice(from, to int, with string) []byte {
	return slices.Concat(e.text[:from], []byte(with), e.text[to:])
}

// candidates are texts that may be what is wanted, those that change least first. Whoever
// asks compares what they say.
func (e edit) candidates(root *yaml.Node) [][]byte {
	parent, indent := root, ""
	for _, key := range e.path[:len(e.path)-1] {
		i := entryOf(root, key)
		if i < 0 {
			return e.appended(key + ":\n  " + e.path[1] + ": " + e.value)
		}
		parent = root.Content[i+1]
		if len(parent.Content) > 0 && parent.Style&yaml.FlowStyle == 0 {
			indent = strings.Repeat(" ", max(0, parent.Content[0].Column-1))
		}
	}
	key := e.path[len(e.path)-1]
	i := entryOf(parent, key)
	switch {
	case i >= 0 && e.value == "":
		from, to := e.line(parent.Content[i].Line), e.line(lastLine(parent.Content[i+1])+1)
		return [][]byte{e.splice(from, to, "")}
	case i >= 0:
		return e.replaced(parent.Content[i], parent.Content[i+1])
	case parent.Style&yaml.FlowStyle != 0:
		end := e.closing(e.offset(parent.Line, parent.Column))
		return [][]byte{e.splice(end, end, ", "+key+": "+e.value), e.splice(end, end, key+": "+e.value)}
	case len(parent.Content) == 0:
		return nil
	}
	entry := indent + key + ": " + e.value + "\n"
	at := e.line(lastLine(parent.Content[len(parent.Content)-1]) + 1)
	if at > 0 && e.text[at-1] != '\n' {
		entry = "\n" + entry
	}
	out := [][]byte{e.splice(at, at, entry)}
	if parent == root {
		out = append(out, e.appended(strings.TrimSuffix(strings.TrimPrefix(entry, "\n"), "\n"))...)
	}
	return out
}

func (e edit) appended(lines string) [][]byte {
	if len(e.text) > 0 && e.text[len(e.text)-1] != '\n' {
		lines = "\n" + lines
	}
	return [][]byte{e.splice(len(e.text), len(e.text), lines+"\n")}
}

// replaced puts the value where a node stands: up to the node's end as its style has it, or
// up to the end of its line, or of its lines.
func (e edit) replaced(key, old *yaml.Node) [][]byte {
	from := e.offset(old.Line, old.Column)
	if old.Kind != yaml.ScalarNode && old.Style&yaml.FlowStyle == 0 {
		from, to := e.offset(key.Line, key.Column), e.line(lastLine(old)+1)
		return [][]byte{e.splice(from, to, key.Value+": "+e.value+"\n")}
	}
	rest := e.text[from:e.line(old.Line+1)]
	rest = bytes.TrimRight(rest, "\r\n")
	var ends []int
	switch {
	case old.Kind == yaml.ScalarNode && bytes.HasPrefix(rest, []byte(old.Value)):
		ends = append(ends, from+len(old.Value))
	case old.Kind == yaml.ScalarNode && len(rest) > 1 && (rest[0] == '"' || rest[0] == '\''):
		for i := 1; i < len(rest); i++ { // one of them is the closing quote
			if rest[i] == rest[0] {
				ends = append(ends, from+i+1)
			}
		}
	case old.Kind != yaml.ScalarNode && old.Style&yaml.FlowStyle != 0:
		ends = append(ends, e.closing(from)+1)
	}
	if c := old.LineComment; c == "" {
		ends = append(ends, from+len(rest))
	} else if at := bytes.LastIndex(rest, []byte(c)); at >= 0 {
		ends = append(ends, from+len(bytes.TrimRight(rest[:at], " \t")))
	}
	var out [][]byte
	for _, end := range ends {
		if end <= len(e.text) {
			out = append(out, e.splice(from, end, e.value))
		}
	}
	return out
}

// closing is the offset of the bracket that closes the one at an offset.
func (e edit) closing(from int) int {
	depth := 0
	var quote byte
	for i := from; i < len(e.text); i++ {
		switch c := e.text[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return max(from, len(e.text)-1)
}

// lastLine is the last line on which a part of a node begins.
func lastLine(n *yaml.Node) int {
	last := n.Line
	if n.Kind == yaml.ScalarNode {
		return last + strings.Count(strings.TrimSuffix(n.Value, "\n"), "\n")
	}
	for _, c := range n.Content {
		last = max(last, lastLine(c))
	}
	return last
}
