package web

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/studies"
)

// A newView is a study that is being written: its text, a form of the same values, and what
// would keep it from running.
type newView struct {
	Frame
	Key, Text, File string
	Saved           string // digest of the file as this page knows it; empty: it is a new one
	Done            string // what was done last
	From            []string
	Answer          answer
	Rows            []formRow
	Others          []formRow // values that the form cannot show
	More            []word    // settings that the text does not give
	Lists           []wordList
}

// textName stands for the file in positions. Subtle: it names no file, so that no text is
// taken for a study that came with the installation.
const textName = "text\x00"

// firstStudy is what a new study begins with.
const firstStudy = `study: my-study
question: Which of two stacks answers sooner?
service: monitor
factors:
  stack: [rest-json, coap-cbor]
requests: 100
design: {replications: 10, seed: 1}
`

func (s *Server) newStudy(r *http.Request) (string, any, error) {
	q := r.URL.Query()
	v := newView{Text: firstStudy}
	var err error
	switch {
	case q.Get("file") != "":
		v.File = q.Get("file")
		var b []byte
		if b, err = s.readSaved(v.File); err != nil {
			return "", nil, notFound("There is no such study in the folder for studies.")
		}
		v.Text, v.Saved = string(b), hexOf(b)
		if q.Has("saved") {
			v.Done = "saved as " + v.File
		}
	case q.Get("from") != "":
		var b []byte
		if b, err = studies.Files.ReadFile(path.Base(q.Get("from")) + ".yaml"); err != nil {
			return "", nil, notFound("No such study comes with edgegauge.")
		}
		v.Text = string(b)
	case q.Get("like") != "":
		if v.Text, v.Done, err = s.textOf(q.Get("like")); err != nil {
			return "", nil, err
		}
	}
	s.complete(r, &v, false)
	return "new", v, nil
}

// textOf is the study of a result, with what --set changed in it, and a word about that.
func (s *Server) textOf(id string) (text, note string, err error) {
	p, err := s.find(id)
	if err != nil {
		return "", "", err
	}
	kept, err := p.store(false)
	if err != nil {
		return "", "", err
	}
	defer kept.Close()
	file, sets, err := kept.Study()
	if err != nil {
		return "", "", unreadable(err)
	}
	if own := study.WithoutBase(sets); len(own) < len(sets) {
		sets, note = own, " A study cannot name the older version of a stack that was measured beside it: "+
			"edgegauge compare --base measures it."
	}
	if len(sets) == 0 {
		return string(file), strings.TrimSpace(note), nil
	}
	given := strings.TrimSpace(report.Sets(sets))
	whole, err := study.WriteIn(file, sets...)
	if err != nil {
		return string(file), "These results were measured with " + given + ", which the text does not say: change it as " +
			"you need." + note, nil
	}
	return string(whole), "The text has what these results were measured with: " + given + "." + note, nil
}

// complete says what can be said of the text.
func (s *Server) complete(r *http.Request, v *newView, look bool) {
	v.Frame, v.Key = s.frame(r, "New study"), s.keys.again(v.Key)
	v.Where = "new"
	if files, err := fs.Glob(studies.Files, "*.yaml"); err == nil {
		for _, f := range files {
			v.From = append(v.From, strings.TrimSuffix(f, ".yaml"))
		}
	}
	v.Answer = s.ask(r.Context(), v.Text, look)
	s.form(r.Context(), v)
}

// writeStudy answers the form: it edits, judges, saves or starts the text that it sends.
func (s *Server) writeStudy(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	f := r.PostForm
	v := newView{Key: f.Get("key"), Text: strings.ReplaceAll(f.Get("text"), "\r\n", "\n"), File: f.Get("file"),
		Saved: f.Get("saved")}
	do := f.Get("do")
	to, err := "", error(nil)
	switch do {
	case "apply":
		v.Text, v.Done, err = applied(v.Text, f)
	case "save", "start":
		to, err = s.saveOrStart(r, &v, do == "start")
	}
	if err == nil && to != "" {
		http.Redirect(w, r, s.frame(r, "").To(to), http.StatusSeeOther)
		return
	}
	s.page(func(r *http.Request) (string, any, error) {
		s.complete(r, &v, do == "check")
		var refused fault
		if errors.As(err, &refused) && refused.code == http.StatusForbidden {
			return "", nil, err // the form is another's
		}
		if err != nil {
			v.Done = "Not done: " + err.Error()
		}
		return "new", v, nil
	})(w, r)
}
