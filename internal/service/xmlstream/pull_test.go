package xmlstream

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// events writes what a parser says about a document, one event a line: names
// with their namespaces, attributes as they come, adjacent texts joined.
func events(document []byte) (string, error) {
	var p Parser
	p.Reset(document)
	var out strings.Builder
	var text []byte
	for {
		kind, err := p.Next()
		if err != nil {
			return out.String(), err
		}
		if kind == Text {
			text = append(text, p.Text()...)
			continue
		}
		if len(text) > 0 {
			fmt.Fprintf(&out, "text %q\n", text)
			text = text[:0]
		}
		n := p.Name()
		switch kind {
		case Start:
			fmt.Fprintf(&out, "start %q %q", n.Space, n.Local)
			for _, a := range p.Attrs() {
				fmt.Fprintf(&out, " %q %q=%q", a.Name.Space, a.Name.Local, a.Value)
			}
			fmt.Fprintln(&out)
		case End:
			fmt.Fprintf(&out, "end %q %q\n", n.Space, n.Local)
		case EOF:
			return out.String(), nil
		}
	}
}

// oracle is events by encoding/xml.
func oracle(document []byte) (string, error) {
	d := xml.NewDecoder(bytes.NewReader(document))
	var out strings.Builder
	var text []byte
	spaces := strings.NewReplacer("\t", " ", "\n", " ") // in values; encoding/xml leaves them
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		if t, ok := token.(xml.CharData); ok {
			if d.InputOffset() > 0 && strings.Count(out.String(), "start ") > strings.Count(out.String(), "end ") {
				text = append(text, t...)
			}
			continue
		}
		if _, ok := token.(xml.Directive); ok {
			return "", errors.New("a directive")
		}
		_, comment := token.(xml.Comment)
		_, instruction := token.(xml.ProcInst)
		if comment || instruction {
			continue
		}
		if len(text) > 0 {
			fmt.Fprintf(&out, "text %q\n", text)
			text = text[:0]
		}
		switch t := token.(type) {
		case xml.StartElement:
			fmt.Fprintf(&out, "start %q %q", t.Name.Space, t.Name.Local)
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name != (xml.Name{Local: "xmlns"}) {
					fmt.Fprintf(&out, " %q %q=%q", a.Name.Space, a.Name.Local, spaces.Replace(a.Value))
				}
			}
			fmt.Fprintln(&out)
		case xml.EndElement:
			fmt.Fprintf(&out, "end %q %q\n", t.Name.Space, t.Name.Local)
		}
	}
}

var wellFormed = []string{
	`<a/>`,
	`<a></a >`,
	"\xEF\xBB\xBF<?xml version='1.0'?><a/>",
	"<?xml version=\"1.0\" encoding='utf-8' standalone = 'no' ?>\n<!-- c --><?p i?>\r\n<a>x</a>\n<!-- d --><?p?>\n",
	`<a xmlns="u"><b xmlns=""><c/></b><d xmlns:p="v" p:e="1" e="2"><p:f/></d></a>`,
	`<p:a xmlns:p="u"><p:b xmlns:p="v"/><p:c/></p:a>`,
	`<a b="1" c='"' d="'" e="&lt;&amp;&quot;&apos;&gt;&#65;&#x41;" xml:lang="en"/>`,
	"<a b=\"x\ty\r\nz\nw\">\r\n1\r2\n&#xD;&#13;</a>",
	`<a>x<![CDATA[<&>]]]><![CDATA[]]>y</a>`,
	`<a>]] > ]>]</a>`,
	"<a>\u00e9\u20ac\U0001F600\ufffd</a>",
	"<\u00e9l\u00e9ment \u00e0='\u00e9'/>",
	`<a><b>1</b><!-- x --><b>2<!-- y -->3</b><b/></a>`,
	`<a.b-c_d1/>`,
	`<a xmlns:x="u&amp;v" x:b="" />`,
}

var malformed = map[string]string{ // document, part of the problem
	``:                  "no element",
	` `:                 "no element",
	`<`:                 "name was expected",
	`<a`:                "truncated",
	`<a>`:               "not closed",
	`<a></b>`:           "end tag was expected for a",
	`<a><b></a></b>`:    "end tag was expected for b",
	`<a></a`:            "end tag",
	`</a>`:              "without a start",
	`<a/><b/>`:          "second root",
	`<a/>x`:             "outside the root",
	`x<a/>`:             "outside the root",
	`<a/>&lt;`:          "outside the root",
	`<a/><![CDATA[x]]>`: "unexpected markup",
	`<a b="1" b="2"/>`:  "twice",
	`<a xmlns:p="u" xmlns:q="u" p:b="" q:b=""/>`: "twice",
	`<a xmlns="u" xmlns="u"/>`:                   "twice",
	`<a xmlns:p="u" xmlns:p="v"/>`:               "twice",
	`<a b=1/>`:                                   "not quoted",
	`<a b/>`:                                     "no value",
	`<a b="1"c="2"/>`:                            "lacks a space",
	`<a b="<"/>`:                                 "< in a value",
	`<a b="x`:                                    "truncated",
	`<a b="&x;"/>`:                               "unknown reference",
	`<a>]]></a>`:                                 "]]>",
	`<a>&x;</a>`:                                 "unknown reference",
	`<a>&</a>`:                                   "not followed",
	`<a>&#0;</a>`:                                "unknown reference",
	`<a>&#xD800;</a>`:                            "unknown reference",
	`<a>&#xFFFE;</a>`:                            "unknown reference",
	`<a>&#99999999999;</a>`:                      "unknown reference",
	`<a>&#;</a>`:                                 "unknown reference",
	`<a>&#x;</a>`:                                "unknown reference",
	`<a>&#X41;</a>`:                              "unknown reference",
	"<a>\x00</a>":                                "not a character",
	"<a>\x0b</a>":                                "not a character",
	"<a>\xff</a>":                                "not a character",
	"<a>\xed\xa0\x80</a>":                        "not a character",
	"<a>\uffff</a>":                              "not a character",
	"<a><!-- \x01 --></a>":                       "not a character",
	"<a><?p \x01?></a>":                          "not a character",
	"<a><![CDATA[\x01]]></a>":                    "not a character",
	"<a b='\x01'/>":                              "not a character",
	`<!DOCTYPE a><a/>`:                           "document type",
	`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`:     "document type",
	`<!doctype a><a/>`:                             "unexpected markup",
	`<a><!ELEMENT b></a>`:                          "unexpected markup",
	`<a><!-- -- --></a>`:                           "-- in a comment",
	`<a><!-- --->`:                                 "-- in a comment",
	`<a><!-- `:                                     "truncated",
	`<a><![CDATA[`:                                 "truncated",
	`<a><?p `:                                      "truncated",
	`<a><??></a>`:                                  "no name",
	`<a><?xml version="1.0"?></a>`:                 "too late",
	` <?xml version="1.0"?><a/>`:                   "too late",
	`<?xml version="1.1"?><a/>`:                    "not of XML 1.0",
	`<?xml encoding="utf-8"?><a/>`:                 "not of XML 1.0",
	`<?xml version="1.0" encoding="latin1"?><a/>`:  "latin1",
	`<?xml version="1.0" encoding="UTF-16"?><a/>`:  "UTF-16",
	`<?xml version="1.0" standalone="maybe"?><a/>`: "standalone",
	`<?xml version="1.0" encoding="utf-8"><a/>`:    "not closed",
	`<?xml version="1.0"encoding="utf-8"?><a/>`:    "not closed",
	`<?xml version="&#49;.0"?><a/>`:                "not well-formed",
	`<1/>`:                                         "name was expected",
	`<a:/>`:                                        "lacks its part after the colon",
	`<:a/>`:                                        "name was expected",
	`<a:b:c/>`:                                     "lacks a space",
	`<p:a/>`:                                       "not declared",
	`<a p:b=""/>`:                                  "not declared",
	`<xmlns:a/>`:                                   "not declared",
	`<a><b xmlns:p="u"/><p:c/></a>`:                "not declared",
	`<a xmlns:p=""/>`:                              "undeclared",
	`<a xmlns:xml="u"/>`:                           "reserved",
	`<a xmlns:xmlns="u"/>`:                         "reserved",
	`<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>`: "reserved",
	`<a xmlns="http://www.w3.org/2000/xmlns/"/>`:          "reserved",
	"\xFE\xFF\x00<\x00a\x00/\x00>":                        "outside the root",
	"<a\u00d7/>":                                          "lacks a space",
}

func TestWellFormed(t *testing.T) {
	for _, document := range wellFormed {
		got, err := events([]byte(document))
		want, oracleErr := oracle([]byte(document))
		if err != nil || oracleErr != nil {
			t.Errorf("%q: %v; encoding/xml: %v", document, err, oracleErr)
		} else if got != want {
			t.Errorf("%q: got\n%swant\n%s", document, got, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	for document, want := range malformed {
		_, err := events([]byte(document))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Problem, want) || e.Offset < 0 || e.Offset > len(document) {
			t.Errorf("%q: got %v, want %q", document, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, n := range []int{MaxDepth, MaxDepth + 1} {
		_, err := events([]byte(strings.Repeat("<a>", n) + strings.Repeat("</a>", n)))
		if (err == nil) != (n == MaxDepth) {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	for _, n := range []int{MaxAttributes, MaxAttributes + 1} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " a%d=''", i)
		}
		_, err := events([]byte("<a" + b.String() + "/>"))
		if (err == nil) != (n == MaxAttributes) {
			t.Errorf("%d attributes: %v", n, err)
		}
	}
}

// An error stays; and a reset parser has forgotten everything.
func TestReset(t *testing.T) {
	var p Parser
	p.Reset([]byte(`<a xmlns="u"><b xmlns:p="v" c="&amp;">x&lt;`))
	var first error
	for first == nil {
		_, first = p.Next()
	}
	if _, again := p.Next(); again != first {
		t.Errorf("second error is %v, want %v", again, first)
	}
	if _, again := p.Content(); again != first {
		t.Errorf("content's error is %v, want %v", again, first)
	}
	p.Reset([]byte(`<p:a/>`))
	if _, err := p.Next(); err == nil {
		t.Error("a prefix of the document before is still declared")
	}
}

func TestContent(t *testing.T) {
	for document, want := range map[string]string{
		`<a/>`: "", `<a></a>`: "", `<a>x</a>`: "x", `<a>x&amp;<![CDATA[<]]>y<!-- z -->&#65;</a>`: "x&<yA",
		"<a>1\r\n2\r3</a>": "1\n2\n3",
		"<a><?p?>é]]</a >": "é]]", "<a><![CDATA[\r\n]]>x</a>": "\nx",
	} {
		var p Parser
		p.Reset([]byte("<r>" + document + "</r>"))
		p.Next()
		p.Next()
		got, err := p.Content()
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", document, got, err, want)
		}
		if kind, err := p.Next(); kind != End || err != nil || string(p.Name().Local) != "r" {
			t.Errorf("%q: then %v %v, want the end of r", document, kind, err)
		}
	}
	for _, document := range []string{`<a><b/></a>`, `<a>x<b/></a>`, `<a>x`, `<a>&x;</a>`, `<a>]]></a>`, `<a>x</b>`,
		"<a>\x01</a>", `<a><!DOCTYPE b></a>`} {
		var p Parser
		p.Reset([]byte(document))
		p.Next()
		if got, err := p.Content(); err == nil {
			t.Errorf("%q: content is %q, want an error", document, got)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	document := []byte(wellFormed[3])
	for _, w := range wellFormed[4:] {
		document = append(document[:0:0], w...)
		var p Parser
		read := func() {
			p.Reset(document)
			for {
				if kind, err := p.Next(); kind == EOF || err != nil {
					return
				}
			}
		}
		read()
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%q: %v allocations, want 0", w, n)
		}
	}
}

// FuzzPull looks for panics, and for documents that both parsers take but read
// differently.
func FuzzPull(f *testing.F) {
	for _, document := range wellFormed {
		f.Add([]byte(document))
	}
	for document := range malformed {
		f.Add([]byte(document))
	}
	f.Add([]byte("<a xmlns=\"http:/\rwww.w3.org/2000/xmlns/\"/>"))
	f.Fuzz(func(t *testing.T, document []byte) {
		got, err := events(document)
		if err != nil {
			return
		}
		want, err := oracle(document)
		// Line ends and tabs in a value, a namespace's too, are spaces (XML 1.0, section 3.3.3); encoding/xml leaves them.
		spaces := strings.NewReplacer(`\n`, " ", `\t`, " ")
		if err == nil && spaces.Replace(got) != spaces.Replace(want) {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// FuzzWrite checks that what is written is read as it was.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("<&>\"'\r\n\t ]]> \x00\xff\ufffe\u00e9"))
	f.Fuzz(func(t *testing.T, text []byte) {
		document := AppendText([]byte("<a>"), text)
		document = AppendValue(append(document, `<b c="`...), text)
		document = append(document, `"/></a>`...)
		want := legal(text)
		got, err := events(document)
		body := ""
		if len(want) > 0 {
			body = fmt.Sprintf("text %q\n", want)
		}
		if expected := fmt.Sprintf("start \"\" \"a\"\n%sstart \"\" \"b\" \"\" \"c\"=%q\nend \"\" \"b\"\nend \"\" \"a\"\n",
			body, want); err != nil || got != expected {
			t.Errorf("%v in %q: got\n%swant\n%s", err, document, got, expected)
		}
	})
}

// legal replaces each byte that is not UTF-8 and each character that is not
// XML's by U+FFFD.
func legal(text []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == 0xFFFE || r == 0xFFFF {
			return 0xFFFD
		}
		return r
	}, string([]rune(string(text))))
}

func BenchmarkPull(b *testing.B) {
	document := []byte(`<sort xmlns="urn:edgegauge:services:1">` + strings.Repeat("<n>1234567890</n>", 1000) + `</sort>`)
	b.Run("xmlstream", func(b *testing.B) {
		var p Parser
		b.ReportAllocs()
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			p.Reset(document)
			for kind, err := p.Next(); kind != EOF; kind, err = p.Next() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding-xml", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			d := xml.NewDecoder(bytes.NewReader(document))
			for _, err := d.Token(); err != io.EOF; _, err = d.Token() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
