package web

import (
	"embed"
	"html/template"
	"io"
	"math"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

//go:embed page
var files embed.FS

// pages are the templates, made when first needed.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"join":   func(list []string) string { return strings.Join(list, ", ") },
		"day":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") },
		"iso":    func(t time.Time) string { return t.Format(time.RFC3339) },
		"clock":  func(t time.Time) string { return t.Local().Format("15:04:05") },
		"figure": figure,
		"bytes":  func(n int64) string { return report.Format(float64(n), "B") },
		"value":  report.Format,
		"plural": func(n int, noun string) string { return plural.Count(n, noun) },
		"took":   took,
		"symbol": func(s store.State) string { return symbols[s] },
		"choice": func(name, given string, from []string) any {
			return struct {
				Name, Given string
				From        []string
			}{name, given, from}
		},
		"within": func(f Frame, r *running) any {
			return struct {
				Frame Frame
				Run   *running
			}{f, r}
		},
		"differing": func(label string, asked []chosen, rows [][]string) any {
			return struct {
				Label string
				Asked []chosen
				Rows  [][]string
			}{label, asked, rows}
		},
		"seconds": func(rows int64) string { return report.Format(math.Ceil(float64(rows)/recordsPerSecond), "s") },
	}).ParseFS(files, "page/*.html"))
})

// recordsPerSecond is about how many records a report reads (make bench, part report).
const recordsPerSecond = 2_000_000

// symbols stand for the states of trials, so that colour is not all that tells them apart.
var symbols = map[store.State]string{store.Valid: "✓", store.Running: "▶", store.Invalid: "×", store.Planned: "·"}

// took is how long an attempt took.
func took(began, ended time.Time) string {
	if ended.IsZero() {
		return "not ended"
	}
	return report.Format(ended.Sub(began).Seconds(), "s")
}

// figure is a picture as it stands in a page.
func figure(p report.Picture) template.HTML {
	var b strings.Builder
	_ = p.SVG(&b) // a Builder takes everything
	return template.HTML(b.String())
}

// A Frame is what stands around every page.
type Frame struct {
	Title   string
	Where   string // of the navigation: all, now, compare, or nothing
	Version string
	Static  bool // written to a file, where no server answers
	Control bool // studies can be stopped and started from here
	Writes  bool // there is a page for a new study
	depth   int  // folders between the page and the top
	Trail   []crumb
}

// A crumb is a step on the way to the page.
type crumb struct{ Name, To string }

// To is a link to a page or file, by its path from the top: relative, so that it holds
// in a folder, too.
func (f Frame) To(to string) string {
	if f.Static && (to == "" || strings.HasSuffix(to, "/")) {
		to += "index.html"
	}
	if up := strings.Repeat("../", f.depth); up+to != "" {
		return up + to
	}
	return "./"
}

// frame is that of the page a request asks for.
func (s *Server) frame(r *http.Request, title string) Frame {
	return Frame{Title: title, Version: s.Version, Static: s.static, Control: s.Control != nil && !s.static,
		Writes: s.Bed != nil && !s.static, depth: strings.Count(r.URL.Path, "/") - 1}
}

// A faultView is a page that says why there is no other.
type faultView struct {
	Frame
	Text string
}

// write sends a page that was rendered whole: what fails half-way is no page.
func (s *Server) write(w http.ResponseWriter, text string) {
	s.ready(w) // making it may have taken long
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, text) // the browser went away
}

// rendered is a page, or a part of one. Texts of strangers neither steer a terminal to which it is
// printed nor turn round the order in which it is read; the text of a study that is written stays as it is.
func rendered(name string, v any) (string, error) {
	var b strings.Builder
	err := pages().ExecuteTemplate(&b, name, v)
	if name == "new" {
		return b.String(), err
	}
	return printable.Text(b.String()), err
}

// assets are the files that pages refer to, by name.
var assets = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	style, scripts := report.Assets()
	all["report.css"] = []byte(style)
	for _, x := range scripts {
		all[x.Name] = []byte(x.Text)
	}
	for _, name := range []string{"web.css", "now.js", "new.js", "icon.svg"} {
		all[name], _ = files.ReadFile("page/" + name) // embedded
	}
	return all
})

func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	b, ok := assets()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cache-Control", "private, max-age=60")
	_, _ = w.Write(b) // the browser went away
}
