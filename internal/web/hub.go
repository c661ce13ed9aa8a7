package web

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// How often the state is made anew, and ledgers are read; how often it is looked whether one
// has changed; and how often all folders are searched for new studies.
const (
	renewEvery  = time.Second
	lookEvery   = 200 * time.Millisecond
	searchEvery = 5 * time.Second
)

// A hub looks at running studies for all pages that watch, and only while one does. A
// page that is slow gets the newest state, never a backlog.
type hub struct {
	server *Server
	over   chan struct{}

	mu      sync.Mutex
	readers int
	stop    chan struct{} // of the goroutine that looks
	now     state
	step    stepOf
	ended   bool // whoever told steps has ended
}

// A state is what pages show.
type state struct {
	version string // the server's start and a number: one that was started again repeats none
	number  int
	data    []byte        // the event's
	old     bool          // made before somebody began to watch: it may be long ago
	next    chan struct{} // closed when there is a newer one
}

// A stepOf is what the lab that opened this page does now.
type stepOf struct {
	Dir  string `json:"dir"`
	Step string `json:"step"`
}

func newHub(s *Server) *hub {
	h := &hub{server: s, over: make(chan struct{})}
	h.now = state{version: fmt.Sprintf("%x", time.Now().UnixNano()), next: make(chan struct{})}
	return h
}

// end lets all streams end.
func (h *hub) end() { close(h.over) }

// Follow takes the steps of a lab, one JSON object {"dir", "step"} a line, until the
// reader ends: then the lab has. It reads at most once a second.
func (s *Server) Follow(r io.Reader) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		for in.Buffered() > 0 && err == nil { // only the newest counts
			var more []byte
			if more, err = in.ReadBytes('\n'); err == nil {
				line = more
			}
		}
		var step stepOf
		known := json.Unmarshal(line, &step) == nil
		s.hub.mu.Lock()
		if known {
			s.hub.step = step
		}
		s.hub.ended = err != nil
		watching := s.hub.readers > 0
		s.hub.mu.Unlock()
		if err != nil {
			if watching { // who does is shown the end
				time.Sleep(2 * renewEvery)
			}
			return
		}
		time.Sleep(renewEvery)
	}
}

// join makes the hub look, until the last reader has left.
func (h *hub) join() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers++; h.readers == 1 {
		h.now.old = true
		h.stop = make(chan struct{})
		go h.look(h.stop)
	}
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers--; h.readers == 0 {
		close(h.stop)
	}
}

func (h *hub) newest() state {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// look renews the state until it is stopped.
func (h *hub) look(stop chan struct{}) {
	every := renewEvery
	if h.server.Pace > 0 {
		every = h.server.Pace
	}
	tick := time.NewTicker(min(lookEvery, every))
	defer tick.Stop()
	var w watch
	var made time.Time
	for {
		if time.Since(made) >= every || w.read.due(time.Now(), every) && w.stirred() {
			made = time.Now()
			h.renew(&w, stop)
		}
		select {
		case <-stop:
			return
		case <-h.over:
			return
		case <-tick.C:
		}
	}
}

// renew makes the state anew, and tells the readers if it is another and the look has not
// been stopped meanwhile: then a newer look may have told them already.
func (h *hub) renew(w *watch, stop chan struct{}) {
	h.mu.Lock()
	step, ended := h.step, h.ended
	h.mu.Unlock()
	v := h.server.live(w, step, ended)
	v.Frame = Frame{Control: h.server.Control != nil, depth: 1}
	parts := map[string]string{"says": v.Says()}
	for _, name := range []string{"live", "confirming"} { // of Now and of histories, which both are one folder down
		text, err := rendered(name, v)
		if err != nil {
			return // the page shows the same fault
		}
		parts[name] = text
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-stop:
		return
	default:
	}
	same := bytes.Equal(data, h.now.data)
	if same && !h.now.old {
		return
	}
	close(h.now.next)
	h.now.next, h.now.old = make(chan struct{}), false
	if !same {
		h.now.number, h.now.data = h.now.number+1, data
	}
}

// How long a stream is silent before it shows that it lives, and how long a reader may
// take for an event.
const (
	pulse     = 15 * time.Second
	mostDelay = 5 * time.Second
)

// events streams the newest state to a page.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages are watching; close one", http.StatusServiceUnavailable)
		return
	}
	s.hub.join()
	defer s.hub.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		_ = control.SetWriteDeadline(time.Now().Add(mostDelay)) // a recorder in a test has none
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	if !send("retry: 1000\n\n") {
		return
	}
	shown := r.Header.Get("Last-Event-ID")
	alive := time.NewTimer(pulse)
	defer alive.Stop()
	for {
		x := s.hub.newest()
		if id := fmt.Sprintf("%s-%d", x.version, x.number); x.number > 0 && !x.old && id != shown {
			if !send("id: %s\nevent: state\ndata: %s\n\n", id, x.data) {
				return
			}
			shown = id
		}
		alive.Reset(pulse)
		select {
		case <-x.next:
		case <-alive.C:
			if !send(": alive\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.hub.over:
			return
		}
	}
}
