package xmlstream

import (
	"fmt"
	"testing"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{`<t xmlns:a="urn:a">a:x</t>`, "urn:a x"},
		// declared on the element itself
		{`<r xmlns:a="urn:a"><t xmlns:a="urn:b" xmlns="urn:d"> a:x` + "\n" + `y </t></r>`, "urn:b x urn:d y"},
		{`<t/>`, ""},
		{`<t>plain</t>`, " plain"},
		{`<t>b:x</t>`, "error"},             // never declared
		{`<t xmlns:a="urn:a">a:x`, "error"}, // cut
	} {
		var p Parser
		p.Reset([]byte(tt.document))
		for p.Name().Local == nil || string(p.Name().Local) != "t" {
			if _, err := p.Next(); err != nil {
				t.Fatal(err)
			}
		}
		names, err := p.Names()
		got := ""
		for _, n := range names {
			got += fmt.Sprintf(" %s %s", n.Space, n.Local)
		}
		if err != nil {
			got = " error"
		}
		if len(got) > 0 {
			got = got[1:]
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.document, got, tt.want)
		}
		if kind, err := p.Next(); tt.want != "error" && (err != nil || kind != End && kind != EOF) {
			t.Errorf("%s: then %v, %v", tt.document, kind, err)
		}
	}
}
