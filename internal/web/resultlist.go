package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// perPage is how many results a page lists.
const perPage = 50

// A found is a result as the list shows it.
type found struct {
	place
	entry
	State string
	// Resumes: a page goes on with it. It is known of those that a page of what runs now shows.
	Resumes bool
}

// Path is its page, from the top.
func (f found) Path() string { return "r/" + f.id + "/" }

// ID is its name in addresses.
func (f found) ID() string { return f.id }

// Shown is its directory.
func (f found) Shown() string { return f.place.shown() }

type allView struct {
	Frame
	Query                  query
	Studies, Stacks        []string // to choose from
	Devices, Links, States []string
	Results                []found // of this page
	Matching, Of           int
	Earlier, Later         string // queries of the pages beside; empty: there is none
	Running                int
}

// A query is what a reader looks for; it is the address's.
type query struct {
	Text, Study, Stack, Device, Link, State, From, To string
	Page                                              int
}

func readQuery(v url.Values) query {
	q := query{Text: v.Get("q"), Study: v.Get("study"), Stack: v.Get("stack"), Device: v.Get("device"),
		Link: v.Get("link"), State: v.Get("state"), From: v.Get("from"), To: v.Get("to")}
	q.Page, _ = strconv.Atoi(v.Get("page")) // not a number: the first
	q.Page = max(0, q.Page)
	return q
}

// values writes the query as an address has it.
func (q query) values() string {
	v := url.Values{}
	for _, x := range [][2]string{{"q", q.Text}, {"study", q.Study}, {"stack", q.Stack}, {"device", q.Device},
		{"link", q.Link}, {"state", q.State}, {"from", q.From}, {"to", q.To}} {
		if x[1] != "" {
			v.Set(x[0], x[1])
		}
	}
	if q.Page > 0 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	return "?" + v.Encode()
}

// matches says whether a result is one that is looked for. A date that is none is passed over.
func (q query) matches(f found) bool {
	within := func(wanted string, in []string) bool { return wanted == "" || slices.Contains(in, wanted) }
	text := strings.ToLower(strings.Join(append([]string{f.Study, f.Question, f.Shown()}, f.Stacks...), " "))
	for _, word := range strings.Fields(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, q.From, time.Local); err == nil && f.Began.Before(day) {
		return false
	}
	day, err := time.ParseInLocation(time.DateOnly, q.To, time.Local)
	if err == nil && !f.Began.Before(day.AddDate(0, 0, 1)) {
		return false
	}
	return within(q.Study, []string{f.Study}) && within(q.Stack, f.Stacks) && within(q.Device, f.Devices) &&
		within(q.Link, f.Links) && within(q.State, []string{f.State})
}

// results lists all that there are, newest first.
func (s *Server) results() []found {
	places := s.places()
	all := make([]found, len(places))
	for i, e := range s.index.of(places) {
		all[i] = found{place: places[i], entry: e, State: e.state(places[i])}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(b.Began.Compare(a.Began), strings.Compare(a.Shown(), b.Shown()))
	})
	return all
}

func (s *Server) all(r *http.Request) (string, any, error) {
	q := readQuery(r.URL.Query())
	v := allView{Frame: s.frame(r, "All results"), Query: q}
	v.Where = "all"
	everything := s.results()
	v.Of = len(everything)
	var matching []found
	for _, f := range everything {
		v.Studies, v.States = addOnce(v.Studies, f.Study), addOnce(v.States, f.State)
		for _, x := range []struct {
			to   *[]string
			from []string
		}{{&v.Stacks, f.Stacks}, {&v.Devices, f.Devices}, {&v.Links, f.Links}} {
			for _, name := range x.from {
				*x.to = addOnce(*x.to, name)
			}
		}
		if f.State == "running" {
			v.Running++
		}
		if q.matches(f) {
			matching = append(matching, f)
		}
	}
	for _, list := range [][]string{v.Studies, v.Stacks, v.Devices, v.Links, v.States} {
		slices.Sort(list)
	}
	v.Matching = len(matching)
	most := perPage
	if s.static {
		most = max(1, len(matching))
	}
	from := min(q.Page, v.Matching/most) * most
	v.Results = matching[from:min(from+most, v.Matching)]
	if from > 0 {
		earlier := q
		earlier.Page = from/most - 1
		v.Earlier = earlier.values()
	}
	if from+most < v.Matching {
		later := q
		later.Page = from/most + 1
		v.Later = later.values()
	}
	return "all", v, nil
}
