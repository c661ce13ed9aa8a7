package conform

import (
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// What the kit sends goes by the table of encodings.
func TestAnAddedEncodingIsTested(t *testing.T) {
	before := codec.Table
	t.Cleanup(func() { codec.Table = before })
	codec.Table = append(slices.Clone(codec.Table),
		codec.Row{Name: "new-text", Syntax: codec.XMLText, Media: "text/new", Format: 42},
		codec.Row{Name: "new-gzip", Syntax: codec.Gzip, Base: codec.SOAP12, Media: "text/new", Format: 42})

	whats := func(all []badRequest) (out []string) {
		for _, b := range all {
			out = append(out, b.what)
		}
		return out
	}
	text := codec.Encoding("new-text")
	if got := whats(badRequests(text, []byte("<a></a>"))); !slices.Contains(got, "a billion laughs") {
		t.Errorf("what is XML text is sent %q", got)
	}
	if c := (suite{wish: stack.Wish{Encoding: "new-text"}}); !c.hasFirstNumber() {
		t.Error("no numbers out of range in XML text")
	}
	if c := (suite{wish: stack.Wish{Encoding: "cbor"}}); c.hasFirstNumber() {
		t.Error("CBOR has no numbers in text")
	}

	small := codec.Encoding("new-gzip")
	c := suite{wish: stack.Wish{Encoding: "new-gzip"}}
	packed, _, ok := c.compact(string(service.Echo))
	if !ok {
		t.Fatal("no message in a compact form")
	}
	if got := whats(compactBads(small, packed, "")); !slices.Contains(got, "a billion laughs, packed") {
		t.Errorf("a compact form of XML text is sent %q", got)
	}
	read, body, ok := readable(small, packed)
	err := codec.Decode(read, body, service.Echo, false, new(service.Message))
	if read != codec.SOAP12 || !ok || err != nil {
		t.Errorf("read as %s: %v", read, err)
	}
}
