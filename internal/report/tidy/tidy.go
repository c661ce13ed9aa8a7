// Package tidy reads a table that anybody made: one row an observation, one
// column a factor, the block or the response. It judges nothing.
package tidy

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/stat"
)

// Limits, so that a wrong file is refused before it fills the memory.
const (
	MaxReplicates = 2_000_000 // rows kept, after averaging within treatment and block
	MaxTreatments = 10_000
	maxRecord     = 1 << 20 // B of one row
	maxErrors     = 10      // faults told at once
)

// Columns says which columns mean what.
type Columns struct {
	Response  string
	Factors   []string
	Block     string // empty: each row is a replicate
	Separator rune   // 0: comma
}

// An Error is one fault of a table: where, what, and what to do.
type Error struct {
	File string
	Line int
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

// unprinted is a character that no column's name has, but a file of another kind does.
func unprinted(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }

// Read reads a CSV table with a header line. With a block it averages the rows
// of one treatment and block as they pass, so that a file of any length takes
// the memory of its treatments and blocks. The error joins up to ten Errors.
func Read(r io.Reader, file string, c Columns) (stat.Table, error) {
	in := &bounded{r: r}
	rd := csv.NewReader(in)
	rd.ReuseRecord = true
	if c.Separator != 0 {
		rd.Comma = c.Separator
	}
	t := &table{file: file, columns: c, levels: map[string][]string{}, at: map[string]int{}}
	in.left = maxRecord
	head, err := rd.Read()
	if err == io.EOF {
		return stat.Table{},
			&Error{file, 0, "it is empty; the first line names the columns, each further line is one observation"}
	}
	if err != nil {
		return stat.Table{}, t.syntax(err)
	}
	if strings.HasPrefix(head[0], "\xff\xfe") || strings.HasPrefix(head[0], "\xfe\xff") {
		return stat.Table{},
			&Error{file, 0, fmt.Sprintf("it is in UTF-16; convert it with iconv -f utf-16 -t utf-8 %s", file)}
	}
	for i, name := range head {
		if err := t.utf8(name, fmt.Sprintf("column %d", i+1), 1); err != nil {
			return stat.Table{}, err
		}
	}
	if slices.ContainsFunc(head, func(s string) bool { return strings.ContainsFunc(s, unprinted) }) {
		return stat.Table{}, &Error{file, 1, "it is not a table in CSV; save the sheet as CSV"}
	}
	if slices.ContainsFunc(head, func(s string) bool { return strings.Contains(s, "\r") }) {
		return stat.Table{},
			&Error{file, 1, fmt.Sprintf("its lines end in CR alone; convert them with tr '\\r' '\\n' < %s", file)}
	}
	if err := t.header(head); err != nil {
		return stat.Table{}, err
	}
	rd.FieldsPerRecord = len(head)
	for len(t.faults) < maxErrors {
		in.left = maxRecord
		row, err := rd.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.faults = append(t.faults, t.syntax(err))
			if !errors.Is(err, csv.ErrFieldCount) {
				break // after a broken quote the rest means nothing
			}
			continue
		}
		line, _ := rd.FieldPos(0)
		if err := t.row(row, line); err != nil {
			t.faults = append(t.faults, err)
		}
	}
	return t.done()
}

// bounded ends a row that does not end: an unclosed quote would swallow the file.
type bounded struct {
	r    io.Reader
	left int
}

var errLong = errors.New("row too long")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// table is what Read has seen so far.
type table struct {
	file    string
	columns Columns
	y, blk  int
	by      []int
	faults  []error

	levels map[string][]string // of each treatment, once
	at     map[string]int      // place of each treatment and block in rows
	rows   []stat.Row
	sums   []sum
	key    []byte
}

// header finds the columns, and says what is there where one is missing.
func (t *table) header(head []string) error {
	place := map[string]int{}
	var names []string
	for i, name := range head {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if _, twice := place[name]; twice {
			return &Error{t.file, 1, fmt.Sprintf("two columns are called %q; rename one", name)}
		}
		place[name] = i
		names = append(names, name)
	}
	if len(head) == 1 && strings.ContainsAny(head[0], ";\t") && t.columns.Separator == 0 {
		return &Error{t.file, 1, "the columns are not separated by commas; write --separator ';' or --separator tab"}
	}
	find := func(flag, name string) (int, error) {
		i, ok := place[name]
		if !ok {
			advice := "there are " + strings.Join(names, ", ")
			if near := meant.Nearest(name, names); near != "" && len(name) > 2 { // of short names all are near
				advice = meant.Question(near)
			}
			return 0, &Error{t.file, 1, fmt.Sprintf("no column %q (%s); %s", name, flag, advice)}
		}
		return i, nil
	}
	var err error
	if t.y, err = find("--response", t.columns.Response); err != nil {
		return err
	}
	t.blk = -1
	if t.columns.Block != "" {
		if t.blk, err = find("--block", t.columns.Block); err != nil {
			return err
		}
	}
	for _, name := range t.columns.Factors {
		i, err := find("--by", name)
		if err != nil {
			return err
		}
		if i == t.y || i == t.blk {
			return &Error{t.file, 1, fmt.Sprintf("column %q cannot be a factor and the response or block at once", name)}
		}
		t.by = append(t.by, i)
	}
	return nil
}

// utf8 refuses text in another encoding: printed, different names would become the same.
func (t *table) utf8(text, where string, line int) error {
	for at, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[at:], "\ufffd") {
			return &Error{t.file, line, fmt.Sprintf("%s: byte %#x is not UTF-8; convert the table, if it is in Latin-1 with "+
				"iconv -f latin1 -t utf-8 %s", where, text[at], t.file)}
		}
	}
	return nil
}

// row takes in one observation. Spaces around a value do not count: two levels that differ only so are printed alike.
func (t *table) row(row []string, line int) error {
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	for i, name := range t.columns.Factors {
		if err := t.utf8(row[t.by[i]], fmt.Sprintf("factor %q", name), line); err != nil {
			return err
		}
	}
	if t.blk >= 0 {
		if err := t.utf8(row[t.blk], fmt.Sprintf("block %q", t.columns.Block), line); err != nil {
			return err
		}
	}
	y, err := t.value(row[t.y], line)
	if err != nil {
		return err
	}
	t.key = t.key[:0]
	for _, i := range t.by {
		if row[i] == "" {
			return &Error{t.file, line, fmt.Sprintf("factor %q is empty; write its level, or leave the row out",
				t.columns.Factors[indexOf(t.by, i)])}
		}
		t.key = strconv.AppendInt(t.key, int64(len(row[i])), 10)
		t.key = append(append(t.key, ':'), row[i]...)
	}
	levels, ok := t.levels[string(t.key)]
	if !ok {
		if len(t.levels) == MaxTreatments {
			return &Error{t.file, line, fmt.Sprintf("more than %d treatments; is one of %s not a factor but a measurement?",
				MaxTreatments, strings.Join(t.columns.Factors, ", "))}
		}
		for _, i := range t.by {
			levels = append(levels, strings.Clone(row[i]))
		}
		t.levels[string(t.key)] = levels
	}
	return t.keep(levels, row, y, line)
}

func (t *table) keep(levels, row []string, y float64, line int) error {
	if t.blk >= 0 {
		if row[t.blk] == "" {
			return &Error{t.file, line, fmt.Sprintf("block %q is empty; name the block of every row, or leave out --block",
				t.columns.Block)}
		}
		t.key = append(append(t.key, '|'), row[t.blk]...)
		if i, ok := t.at[string(t.key)]; ok {
			t.sums[i].add(y)
			return nil
		}
		t.at[string(t.key)] = len(t.rows)
		t.sums = append(t.sums, newSum(y))
	}
	if len(t.rows) == MaxReplicates {
		return &Error{t.file, line,
			fmt.Sprintf("more than %d replicates; name the column of the blocks with --block, so that the rows of one "+
				"treatment and block are averaged", MaxReplicates)}
	}
	x := stat.Row{Levels: levels, Y: y}
	if t.blk >= 0 {
		x.Block = strings.Clone(row[t.blk])
	}
	t.rows = append(t.rows, x)
	return nil
}

// thousands are numbers whose comma may be a decimal one as well.
var thousands = lazy.Regexp(`^[-+]?[1-9][0-9]{0,2},[0-9]{3}$`)

func (t *table) value(text string, line int) (float64, error) {
	y, err := strconv.ParseFloat(text, 64)
	say := func(what string) (float64, error) {
		return 0, &Error{t.file, line, fmt.Sprintf("%s is %s", t.columns.Response, what)}
	}
	switch {
	case text == "":
		return say("empty; a missing value is not zero: leave the row out and say why")
	case err != nil && thousands().MatchString(text):
		return say(fmt.Sprintf("%q; write a decimal point, or leave the comma out if it separates thousands", text))
	case err != nil && strings.Count(text, ",") == 1:
		return say(fmt.Sprintf("%q; write a decimal point", text))
	case err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(text, "_xX"): // 1_0 and 0x1p4 are Go's
		return say(fmt.Sprintf("%q, which is not a number; remove units and thousands separators", text))
	case math.IsNaN(y) || math.IsInf(y, 0):
		return say(fmt.Sprintf("%q, which has no mean; leave the row out and say why", text))
	}
	return y, nil
}

// syntax says where the file is no CSV.
func (t *table) syntax(err error) error {
	var p *csv.ParseError
	switch {
	case errors.Is(err, errLong):
		return &Error{t.file, 0, fmt.Sprintf("a row of more than %d B after %d good ones; is a quote not closed?",
			maxRecord, len(t.rows))}
	case errors.Is(err, csv.ErrFieldCount) && errors.As(err, &p):
		return &Error{t.file, p.Line,
			"its number of columns differs from the first line's; fix the row, and quote values that contain a comma"}
	case errors.As(err, &p):
		return &Error{t.file, p.Line, fmt.Sprintf("%v; double each quote inside a quoted value", p.Err)}
	}
	return fmt.Errorf("%s: %w", t.file, err)
}

func (t *table) done() (stat.Table, error) {
	if len(t.faults) > 0 {
		if len(t.faults) == maxErrors {
			t.faults = append(t.faults, &Error{t.file, 0, "there may be more; fix these first"})
		}
		return stat.Table{}, errors.Join(t.faults...)
	}
	if len(t.rows) == 0 {
		return stat.Table{}, &Error{t.file, 0, "it has a header and no rows; each further line is one observation"}
	}
	for i := range t.sums {
		if t.rows[i].Y = t.sums[i].mean(); math.IsNaN(t.rows[i].Y) || math.IsInf(t.rows[i].Y, 0) {
			return stat.Table{}, &Error{t.file, 0,
				fmt.Sprintf("the mean of treatment %s in block %s is too large to represent; give %s in a larger unit",
					strings.Join(t.rows[i].Levels, " "), t.rows[i].Block, t.columns.Response)}
		}
	}
	return stat.Table{Response: t.columns.Response, Factors: t.columns.Factors, Rows: t.rows}, nil
}

func indexOf(xs []int, x int) int {
	for i, v := range xs {
		if v == x {
			return i
		}
	}
	return -1
}
