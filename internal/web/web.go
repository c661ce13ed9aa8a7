// Package web is the page that edgegauge web serves: it lists the results in the
// folders given, shows a running study, and leads from a report down to a packet. It
// reads only, unless it is given a Control, and computes no figure: report, stat and
// advise do.
//
// What it shows was written by strangers: guard.go says what is refused before any
// page is made, folders.go which files are opened at all.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/testbed"
)

// Options say what is served, and to whom.
type Options struct {
	Folders []string // that results are looked for in; links below them are not followed
	Cache   string   // folder in which the index of results is kept; empty: it is not
	Token   string   // asked of every browser once; empty: none is asked
	Hosts   []string // names by which the server may be called, besides those of loopback
	Version string   // of this program
	// Finish adds to a report what its page says besides the results; nil: nothing.
	Finish func(dir string, r *report.Report)
	// Bed says what a new study may name, and whether it can run here; nil: pages offer none.
	Bed *testbed.Testbed
	// Control lets pages stop and start studies, and needs a Token and a Bed; nil: they only read.
	Control *Control
	// Pace is how often what runs is looked at for pages that watch; 0: each second.
	Pace time.Duration
}

// A Server answers the requests of browsers. Its methods may be called from several
// goroutines.
type Server struct {
	Options
	folders []*folder
	index   *index
	reports *reports
	pasts   pasts
	hub     *hub
	keys    formKeys
	orders  orders
	agreed  agreements
	studies string // folder for studies, absolute
	static  bool   // pages are written to files: see Export
	exported
	streams  chan struct{}
	busy     chan struct{} // as many as are rendered at once
	readers  chan struct{} // of pages
	reading  chan struct{} // as many results as are read whole at once
	patience time.Duration // see slowReader
}

// How many pages may watch at once, and how many may be read.
const mostStreams, mostReaders = 64, 64

// mostRead is how many results are read whole at once: others wait, and pages of what is known do not.
const mostRead = 8

// New opens the folders. Close releases them.
func New(o Options) (*Server, error) {
	if o.Control != nil && (o.Token == "" || o.Bed == nil || len(o.Folders) == 0) {
		return nil, errors.New("pages that start studies need a token, a testbed and a folder for results")
	}
	s := &Server{Options: o, streams: make(chan struct{}, mostStreams), busy: make(chan struct{}, runtime.NumCPU()),
		readers: make(chan struct{}, mostReaders), reading: make(chan struct{}, mostRead), patience: slowReader}
	for _, path := range o.Folders {
		f, err := openFolder(path)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.folders = append(s.folders, f)
	}
	if o.Control != nil {
		whole, err := filepath.Abs(o.Control.Studies)
		if err != nil {
			return nil, err
		}
		s.studies = whole
	}
	s.orders.stopping = map[string]int{}
	s.index = newIndex(o.Cache)
	s.reports = &reports{server: s, most: mostRows, faults: faultsLast}
	s.hub = newHub(s)
	return s, nil
}

// Close releases the folders.
func (s *Server) Close() error {
	var errs []error
	for _, kept := range s.stores {
		errs = append(errs, kept.Close())
	}
	for _, f := range s.folders {
		errs = append(errs, f.root.Close())
	}
	return errors.Join(errs...)
}

// How long a browser may take to send a request's header, and all of it; and to take an answer, from when it is ready.
const slowHeader, slowBody, slowReader = 5 * time.Second, 10 * time.Second, 2 * time.Minute

// Serve answers on a listener, with TLS where there is a certificate, until the server
// that it gives to started is shut down.
func (s *Server) Serve(l net.Listener, cert, key string, started func(*http.Server)) error {
	h := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: slowHeader, ReadTimeout: slowBody,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	h.RegisterOnShutdown(s.hub.end)
	started(h)
	var err error
	if cert != "" {
		err = h.ServeTLS(l, cert, key)
	} else {
		err = h.Serve(l)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers all requests, guarded.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	for pattern, answer := range s.routes() {
		m.HandleFunc(pattern, answer)
	}
	return s.guard(m)
}

// routes are all that is answered, by patterns of http.ServeMux.
func (s *Server) routes() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		"GET /{$}":                                 s.page(s.all),
		"GET /now/{$}":                             s.page(s.now),
		"GET /now/events":                          s.events,
		"GET /compare/{$}":                         s.page(s.compare),
		"GET /history/{$}":                         s.page(s.history),
		"GET /r/{id}/{$}":                          s.page(s.result),
		"GET /r/{id}/t/{$}":                        s.goToTrial,
		"GET /r/{id}/t/{trial}/{$}":                s.page(s.trial),
		"GET /r/{id}/t/{trial}/x/{$}":              s.goToExchange,
		"GET /r/{id}/t/{trial}/x/{seq}/{$}":        s.page(s.exchange),
		"GET /r/{id}/t/{trial}/a/{attempt}/{file}": s.log,
		"GET /r/{id}/t/{trial}/packets/{file}":     s.capture,
		"GET /assets/{file}":                       s.asset,
		"POST /enter":                              s.enter,
	}
	if s.Bed != nil {
		maps.Copy(all, map[string]http.HandlerFunc{
			"GET /new/{$}":        s.page(s.newStudy),
			"POST /new/{$}":       s.writeStudy,
			"GET /new/words.json": s.words,
		})
	}
	if s.Control != nil {
		maps.Copy(all, map[string]http.HandlerFunc{
			"GET /history/confirm/{$}":  s.page(s.confirmPage),
			"POST /history/confirm/{$}": s.confirm,
			"GET /r/{id}/stop/{$}":      s.page(s.stopPage),
			"POST /r/{id}/stop/{$}":     s.acted(s.stop),
			"GET /r/{id}/resume/{$}":    s.page(s.resumePage),
			"POST /r/{id}/resume/{$}":   s.acted(s.resume),
		})
	}
	return all
}

// A fault is why a page cannot be shown.
type fault struct {
	code int
	text string
}

func (f fault) Error() string { return f.text }

// notFound is a fault of the address.
func notFound(format string, args ...any) error {
	return fault{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// unreadable is a fault of the results: a page cannot be made of them.
func unreadable(err error) error { return fault{http.StatusUnprocessableEntity, err.Error()} }

// page answers with what a function returns, or says why there is nothing. A reader holds a page for as long as it
// takes to read it: so many at once.
func (s *Server) page(view func(*http.Request) (string, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.readers <- struct{}{}:
			defer func() { <-s.readers }()
		case <-r.Context().Done():
			return
		}
		if text, err := s.made(r, view); err != nil {
			s.refuse(w, r, err)
		} else {
			s.write(w, text)
		}
	}
}

// made renders a page. At most as many as there are CPUs are made at once; those that read them slowly keep no others
// waiting.
func (s *Server) made(r *http.Request, view func(*http.Request) (string, any, error)) (string, error) {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-r.Context().Done():
		return "", r.Context().Err()
	}
	name, v, err := view(r.WithContext(context.WithValue(r.Context(), slotOf{}, s)))
	if err != nil {
		return "", err
	}
	text, err := rendered(name, v)
	if err != nil {
		err = fault{http.StatusInternalServerError, err.Error()}
	}
	return text, err
}

// slotOf is what the context of a request has while it keeps a slot of its server's busy.
type slotOf struct{}

// aside runs f, which may read as much as a disk has, while others make their pages.
func (s *Server) aside(ctx context.Context, f func() error) error {
	if ctx.Value(slotOf{}) != nil {
		<-s.busy
		defer func() { s.busy <- struct{}{} }()
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f()
}

// refuse says why there is no page.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var f fault
	if !errors.As(err, &f) {
		f = fault{http.StatusUnprocessableEntity, err.Error()}
	}
	title := "Not shown"
	if r.Method == http.MethodPost {
		title = "Not done"
	}
	s.ready(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(f.code)
	if m, ok := w.(*memory); ok {
		m.fault = f.text
	}
	text, _ := rendered("fault", faultView{s.frame(r, title), f.text})
	_, _ = io.WriteString(w, text) // the browser went away
}
