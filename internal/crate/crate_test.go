package crate

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// 0000-0002-1825-0097 and 0000-0002-1694-233X are examples of ORCID's own documents.
func TestAuthor(t *testing.T) {
	for text, want := range map[string]Author{
		"Josiah Carberry":                               {"Josiah Carberry", ""},
		"Josiah Carberry <0000-0002-1825-0097>":         {"Josiah Carberry", "0000-0002-1825-0097"},
		" A B <https://orcid.org/0000-0002-1694-233X> ": {"A B", "0000-0002-1694-233X"},
	} {
		if got, err := ParseAuthor(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "<0000-0002-1825-0097>", "A <0000-0002-1825-0098>", "A <me@example.org>"} {
		if got, err := ParseAuthor(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, got)
		}
	}
}

// Whatever files are called: each @id is a relative URI, and leads to a file or folder of the crate.
func TestIDsAreURIs(t *testing.T) {
	write := func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }
	of := func(folder string, names ...string) Crate {
		p := Part{Folder: folder, Input: names[0]}
		for _, name := range names {
			p.Files = append(p.Files, File{Name: name, Write: write})
		}
		return Crate{Parts: []Part{p}}
	}
	var packed bytes.Buffer
	c := of("s-my run%20:1", "study.yaml", "notes of mine?#1.txt", "trials/0001/größe.log")
	if err := c.Write(&packed); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	f, err := z.Open("ro-crate-metadata.json")
	if err != nil {
		t.Fatal(err)
	}
	var metadata struct {
		Graph []struct {
			ID   string `json:"@id"`
			Type string `json:"@type"`
			Size string `json:"contentSize"`
		} `json:"@graph"`
	}
	if err := json.NewDecoder(f).Decode(&metadata); err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, x := range metadata.Graph {
		u, err := url.Parse(x.ID)
		if err != nil || u.Scheme != "" || u.RawQuery != "" || strings.ContainsAny(x.ID, " ?") {
			t.Errorf("%q is no relative URI: %v", x.ID, err)
			continue
		}
		if x.Type == "File" {
			if files++; !slices.Contains(names, u.Path) || x.Size == "0" {
				t.Errorf("%q has %q B, and is not among %q", x.ID, x.Size, names)
			}
		}
	}
	if files != 4 {
		t.Errorf("%d files are described", files)
	}
	for _, bad := range []string{"a\nb", "a\\b", "a\x1b"} {
		if err := of("s-1", bad).Write(io.Discard); err == nil || !strings.Contains(err.Error(), "rename it") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
