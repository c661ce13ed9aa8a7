// Package crate packs a data set for publication: a zip file that is an RO-Crate 1.1, with a checksum
// of every file.
package crate

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"edgegauge.example/edgegauge/internal/lazy"
)

// A Crate is a data set to publish.
type Crate struct {
	Title, Description string
	Published          time.Time
	Authors            []Author
	License            string // its URL; empty: none is given
	Program            Program
	Parts              []Part
}

// A Program is what the data were made with.
type Program struct{ Name, Version, URL string }

// A Part is one results directory.
type Part struct {
	Folder             string // in the crate, without a slash
	Title, Description string
	Input              string // the file, relative to Folder, that the results were made from
	Started            time.Time
	Files              []File
}

// A File is one file of a part.
type File struct {
	Name  string // relative to the part's folder
	Says  string // what it holds; may be empty
	Write func(io.Writer) error
}

// An Author is a person with, if known, an ORCID.
type Author struct{ Name, ORCID string }

var authorForm = lazy.Regexp(`^([^<>]+?)\s*` +
	`(?:<\s*(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\s*>)?$`)

// ParseAuthor reads "Name" or "Name <ORCID>", where the ORCID may be a URL.
func ParseAuthor(text string) (Author, error) {
	const example = `write, for example, "Josiah Carberry <0000-0002-1825-0097>"`
	m := authorForm().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Author{}, fmt.Errorf("%q is not a name with an ORCID; %s", text, example)
	}
	if m[2] != "" && checkDigit(m[2]) != m[2][len(m[2])-1] {
		return Author{}, fmt.Errorf("%q: no ORCID is %s, its last digit does not fit; %s", text, m[2], example)
	}
	return Author{m[1], m[2]}, nil
}

// checkDigit is the last character of an ORCID (ISO 7064, MOD 11-2).
func checkDigit(orcid string) byte {
	sum := 0
	for _, c := range strings.ReplaceAll(orcid[:len(orcid)-1], "-", "") {
		sum = (sum + int(c-'0')) * 2
	}
	if d := (12 - sum%11) % 11; d < 10 {
		return byte('0' + d)
	}
	return 'X'
}

// licenses are URLs of licenses for data, by their SPDX names.
var licenses = map[string]string{
	"CC-BY-4.0":    "https://creativecommons.org/licenses/by/4.0/",
	"CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
	"CC0-1.0":      "https://creativecommons.org/publicdomain/zero/1.0/",
	"ODbL-1.0":     "https://opendatacommons.org/licenses/odbl/1-0/",
}

// LicenseURL finds the URL of a license that is named or is a URL already.
func LicenseURL(name string) (string, error) {
	for known, u := range licenses {
		if strings.EqualFold(known, name) {
			return u, nil
		}
	}
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		return name, nil
	}
	return "", fmt.Errorf("unknown license %q; write CC-BY-4.0, CC-BY-SA-4.0, CC0-1.0, ODbL-1.0 or the URL of another",
		name)
}

// sums is the file of checksums, as sha256sum reads it.
const sums = "SHA256SUMS"

// Write packs the crate. Its metadata come last, since they tell sizes.
func (c Crate) Write(w io.Writer) error {
	for _, p := range c.Parts {
		for _, f := range p.Files {
			name := path.Join(p.Folder, f.Name)
			if strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
				return fmt.Errorf("%q has a character that a list of checksums and other systems cannot have in a name; rename it",
					name)
			}
		}
	}
	z := zip.NewWriter(w)
	var checksums strings.Builder
	add := func(name string, at time.Time, write func(io.Writer) error) (int64, error) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at.UTC()})
		if err != nil {
			return 0, err
		}
		sum := sha256.New()
		counted := &counter{}
		if err := write(io.MultiWriter(f, sum, counted)); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&checksums, "%x  %s\n", sum.Sum(nil), name)
		return counted.n, nil
	}
	sizes := map[string]int64{}
	for _, p := range c.Parts {
		for _, f := range p.Files {
			name := path.Join(p.Folder, f.Name)
			n, err := add(name, p.Started, f.Write)
			if err != nil {
				return err
			}
			sizes[name] = n
		}
	}
	metadata, err := json.MarshalIndent(c.metadata(sizes, int64(checksums.Len())), "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{sums, []byte(checksums.String())}, {"ro-crate-metadata.json", metadata}} {
		write := func(w io.Writer) error { _, err := w.Write(f.text); return err }
		if _, err := add(f.name, c.Published, write); err != nil {
			return err
		}
	}
	return z.Close()
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// An entity is one object of the metadata; its "@id" names it.
type entity map[string]any

func ref(id string) entity { return entity{"@id": id} }

// idOf is a file or folder of the crate as a relative URI.
func idOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), ":", "%3A") // or what is before it would be a scheme
	}
	return strings.Join(parts, "/")
}

// metadata is what ro-crate-metadata.json says (https://w3id.org/ro/crate/1.1).
func (c Crate) metadata(sizes map[string]int64, sumsSize int64) entity {
	root := entity{"@id": "./", "@type": "Dataset", "name": c.Title, "description": c.Description,
		"datePublished": c.Published.UTC().Format(time.DateOnly)}
	parts := []entity{ref(sums)}
	graph := []entity{
		{"@id": "ro-crate-metadata.json", "@type": "CreativeWork", "conformsTo": ref("https://w3id.org/ro/crate/1.1"),
			"about": ref("./")},
		root,
		{"@id": sums, "@type": "File", "name": "checksums", "description": "SHA-256 of the data; sha256sum -c reads it",
			"encodingFormat": "text/plain", "contentSize": strconv.FormatInt(sumsSize, 10)},
		{"@id": "#program", "@type": "SoftwareApplication", "name": c.Program.Name, "softwareVersion": c.Program.Version,
			"url": c.Program.URL},
	}
	var people []entity
	for i, a := range c.Authors {
		id := fmt.Sprintf("#author-%d", i+1)
		if a.ORCID != "" {
			id = "https://orcid.org/" + a.ORCID
		}
		people = append(people, ref(id))
		graph = append(graph, entity{"@id": id, "@type": "Person", "name": a.Name})
	}
	if people != nil {
		root["author"] = oneOrAll(people)
	}
	// A crate must have a license, or say how it may be used.
	root["license"] = "No license is given. Ask the authors before you use the data."
	if c.License != "" {
		root["license"] = ref(c.License)
		graph = append(graph, entity{"@id": c.License, "@type": "CreativeWork", "name": "license of the data",
			"description": "what others may do with the data", "url": c.License})
	}
	var actions []entity
	for i, p := range c.Parts {
		folder := idOf(p.Folder + "/")
		var files []entity
		for _, f := range p.Files {
			name := path.Join(p.Folder, f.Name)
			id := idOf(name)
			files = append(files, ref(id))
			x := entity{"@id": id, "@type": "File", "name": path.Base(f.Name), "encodingFormat": formatOf(f.Name),
				"contentSize": strconv.FormatInt(sizes[name], 10)}
			if f.Says != "" {
				x["description"] = f.Says
			}
			graph = append(graph, x)
		}
		parts = append(parts, ref(folder))
		action := fmt.Sprintf("#measurement-%d", i+1)
		actions = append(actions, ref(action))
		graph = append(graph,
			entity{"@id": folder, "@type": "Dataset", "name": p.Title, "description": p.Description, "hasPart": oneOrAll(files)},
			entity{"@id": action, "@type": "CreateAction", "name": "measurement of " + p.Title, "instrument": ref("#program"),
				"object": ref(idOf(path.Join(p.Folder, p.Input))), "result": ref(folder),
				"startTime": p.Started.UTC().Format(time.RFC3339)})
	}
	root["hasPart"], root["mentions"] = parts, oneOrAll(actions)
	return entity{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
}

// oneOrAll is what RO-Crate recommends for lists: one value stands by itself.
func oneOrAll(all []entity) any {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// formats are the media types of what results hold.
var formats = map[string]string{
	".csv": "text/csv", ".yaml": "application/yaml", ".json": "application/json", ".html": "text/html",
	".sqlite": "application/vnd.sqlite3", ".parquet": "application/vnd.apache.parquet",
	".pcapng": "application/x-pcapng", ".log": "text/plain", ".txt": "text/plain",
}

func formatOf(name string) string {
	if f, ok := formats[path.Ext(name)]; ok {
		return f
	}
	if f := mime.TypeByExtension(path.Ext(name)); f != "" {
		return f
	}
	return "application/octet-stream"
}

// FileOf is a file of a file system.
func FileOf(dir fs.FS, name, says string) File {
	return File{name, says, func(w io.Writer) error {
		f, err := dir.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}}
}
