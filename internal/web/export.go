package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// An exported is what one page after another of an export would look for again. Results are
// taken to stay as they are meanwhile.
type exported struct {
	found  []place
	stores map[string]*store.Store // by the place's id
	trials int                     // of a result, that have a page
}

// ExportTrials is how many trials of a result have a page of their own if nobody says: a page takes a
// millisecond and 8 kB or more, and a stranger's ledger may have 200,000 trials.
const ExportTrials = 10_000

// Export writes the pages of the folders' results into dir, which is made and must be
// empty: the same pages, with links that hold without a server. Of each result the first trials have a
// page, in the order of the plan. It returns how many files it wrote, and how many trials have none. When ctx ends,
// it stops before the next page.
func Export(ctx context.Context, o Options, dir string, trials int) (files, without int, err error) {
	o.Token = ""
	s, err := New(o)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	if files, err = s.export(ctx, dir, trials); err == nil {
		for _, e := range s.index.of(s.found) {
			without += max(0, e.Trials-trials)
		}
	}
	return files, without, err
}

func (s *Server) export(ctx context.Context, dir string, trials int) (int, error) {
	s.exported = exported{found: s.places(), stores: map[string]*store.Store{}, trials: trials}
	s.static = true
	if len(s.found) == 0 {
		return 0, errors.New("there are no results in the folders given; name directories that edgegauge run wrote")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty; name a folder that is new or empty", dir)
	}
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	return s.follow(ctx, root)
}

var linkOrSource = lazy.Regexp(`(?:href|src)="([^"#?:]+)"`)

// follow writes the first page and all that pages lead to.
func (s *Server) follow(ctx context.Context, root *os.Root) (int, error) {
	todo, known := []string{"index.html"}, map[string]bool{"index.html": true}
	for done := 0; done < len(todo); done++ {
		name := todo[done]
		if ctx.Err() != nil {
			return done, fmt.Errorf("stopped after %s; remove %s before you export again", plural.Count(done, "file"),
				root.Name())
		}
		b, err := s.render("/" + strings.TrimSuffix(name, "index.html"))
		if err != nil {
			return done, fmt.Errorf("%s: %w", name, err)
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return done, err
		}
		if err := root.WriteFile(name, b, 0o644); err != nil {
			root.Remove(name) // half a page would look like a whole one
			return done, fmt.Errorf("%w; %s is incomplete: remove it before you export again", err, root.Name())
		}
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, m := range linkOrSource().FindAllSubmatch(b, -1) {
			to, err := url.PathUnescape(string(m[1]))
			if err != nil {
				continue
			}
			if to = path.Join(path.Dir(name), to); !known[to] {
				todo, known[to] = append(todo, to), true
			}
		}
	}
	return len(todo), nil
}

// render answers a request into memory.
func (s *Server) render(to string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodGet, (&url.URL{Scheme: "http", Host: "localhost", Path: to}).String(), nil)
	if err != nil {
		return nil, err
	}
	w := &memory{header: http.Header{}, code: http.StatusOK}
	s.Handler().ServeHTTP(w, r)
	if w.code == http.StatusUnprocessableEntity && w.fault != "" {
		return nil, Unreadable(w.fault)
	}
	if w.code != http.StatusOK {
		return nil, fmt.Errorf("%d: %.300s", w.code, w.body.String())
	}
	return w.body.Bytes(), nil
}

// Unreadable is an error that says why results cannot be read.
type Unreadable string

func (u Unreadable) Error() string { return string(u) }

// A memory is an answer that goes nowhere.
type memory struct {
	header http.Header
	code   int
	body   bytes.Buffer
	fault  string // why it is not what was asked for
}

// Header is the answer's.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader takes the status.
func (m *memory) WriteHeader(code int) { m.code = code }

func (m *memory) Write(b []byte) (int, error) { return m.body.Write(b) }
