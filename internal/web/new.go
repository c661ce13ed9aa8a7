package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

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

// An answer is whether a study can run.
type answer struct {
	Looked     bool // at this machine, too
	Why        string
	Faults     []faultRow
	Ready      bool
	Treatments int
	Trials     int
	Time       []string // what is foreseen of it
	Notes      []string
	Foreign    []string
	Seen       string
	Beside     []string
}

type faultRow struct {
	Line, Col int
	Text      string
	Here      bool
}

// A formRow is a value of the text on a line of the form.
type formRow struct {
	Path, Value, Says, List string
	Line                    int
}

// A wordList is what a value may be.
type wordList struct {
	ID   string
	From []string
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
		if v.Text, err = s.textOf(q.Get("like")); err != nil {
			return "", nil, err
		}
	}
	s.complete(r, &v, false)
	return "new", v, nil
}

// textOf is the study of a result.
func (s *Server) textOf(id string) (string, error) {
	p, err := s.find(id)
	if err != nil {
		return "", err
	}
	kept, err := p.store(false)
	if err != nil {
		return "", err
	}
	defer kept.Close()
	text, _, err := kept.Study()
	if err != nil {
		return "", unreadable(err)
	}
	return string(text), nil
}

// complete says what can be said of the text.
func (s *Server) complete(r *http.Request, v *newView, look bool) {
	v.Frame, v.Key = s.frame(r, "New study"), s.keys.next()
	v.Where = "new"
	if files, err := fs.Glob(studies.Files, "*.yaml"); err == nil {
		for _, f := range files {
			v.From = append(v.From, strings.TrimSuffix(f, ".yaml"))
		}
	}
	v.Answer = s.ask(r.Context(), v.Text, look)
	s.form(r.Context(), v)
}

// ask is the answer to "can this run?": what edgegauge check says, of a text. Without look
// only the text is judged. While a study runs no meter is opened and no link made.
func (s *Server) ask(ctx context.Context, text string, look bool) (a answer) {
	a.Beside = s.besides()
	switch {
	case look && s.Control == nil: // whoever reaches this page has shown no token
		a.Why = "What this machine lacks has not been looked for: this page only reads. edgegauge check does."
	case look && len(a.Beside) > 0:
		a.Why = "What this machine lacks has not been looked for, since that would disturb the study that runs now."
	default:
		a.Looked = look
	}
	read := s.Bed.ReadAvailable
	if !a.Looked {
		read = func(ctx context.Context, file string, text []byte, sets ...string) (study.Plan, []string, error) {
			p, err := s.Bed.Read(ctx, file, text, sets...)
			return p, nil, err
		}
	}
	p, left, err := read(ctx, textName, []byte(text))
	if err == nil && a.Looked {
		if found := s.Bed.Obstacles(ctx, p); found != nil {
			err = found
		}
	}
	var all study.Errors
	if errors.As(err, &all) {
		for _, e := range all {
			a.Faults = append(a.Faults, faultOf(*e))
		}
		return a
	}
	if err != nil {
		a.Faults = []faultRow{{Text: err.Error()}}
		return a
	}
	a.Ready, a.Treatments, a.Trials, a.Notes = true, p.Study.Treatments(), len(p.Trials), left
	a.Time = s.foreseen(p)
	for _, w := range p.Study.Passwords {
		a.Notes = append(a.Notes, fmt.Sprintf("Line %d has a password, which is not kept with results; write "+
			"password=env:VARIABLE.", w.Pos.Line))
	}
	for _, e := range s.Bed.Foreign(p) {
		a.Foreign = append(a.Foreign, strings.ReplaceAll(e.Error(), textName+":", "line "))
	}
	a.Seen = digest(a.Foreign)
	return a
}

// besides names the studies that run now, where pages may start one.
func (s *Server) besides() []string {
	if s.Control == nil {
		return nil
	}
	return s.beside("")
}

func faultOf(e study.Error) faultRow {
	text := e.What
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return faultRow{e.Pos.Line, e.Pos.Col, text, e.Here}
}

// foreseen is how long a plan takes: what its settings alone come to, and what the last
// results of that name took for a trial.
func (s *Server) foreseen(p study.Plan) []string {
	var least time.Duration
	for _, t := range p.Trials {
		least += leastOf(*t.Setup, p.Study.Design)
	}
	var out []string
	if least > 0 {
		out = append(out, "at least "+least.Round(time.Second).String()+" by its settings alone: requests and pauses")
	}
	for _, f := range s.results() {
		if f.Study != p.Study.Name || f.Valid == 0 {
			continue
		}
		if pace := paceOf(f.place); pace > 0 {
			all := (pace + p.Study.Design.CoolDown) * time.Duration(len(p.Trials))
			out = append(out, fmt.Sprintf("about %v if its trials take as long as those in %s: %s each",
				all.Round(time.Second), f.Shown(), report.Format(pace.Seconds(), "s")))
			break
		}
	}
	if d := p.Study.Design; d.Precision > 0 {
		out = append(out, "more blocks until the precision is reached, or the budget is spent")
	}
	return out
}

// leastOf is the least that a trial takes by its settings.
func leastOf(x study.Setup, d study.Design) time.Duration {
	at := func(requests int) time.Duration {
		if x.Rate <= 0 {
			return 0
		}
		return time.Duration(float64(requests) / x.Rate * float64(time.Second))
	}
	run := max(x.Duration, x.MinDuration, at(x.Requests))
	return run + max(d.WarmUp.Time, at(d.WarmUp.Requests)) + d.CoolDown
}

// paceOf is how long a trial of some results took, invalid attempts among them; 0: not known.
func paceOf(p place) time.Duration {
	kept, err := p.store(false)
	if err != nil {
		return 0
	}
	defer kept.Close()
	attempts, err := kept.Attempts(0)
	if err != nil {
		return 0
	}
	var all time.Duration
	n := 0
	for _, a := range attempts {
		if !a.Ended.IsZero() {
			all += a.Ended.Sub(a.Began)
			n++
		}
	}
	return all / time.Duration(max(1, n))
}

// form gives a line to each value of the text that fits on one.
func (s *Server) form(ctx context.Context, v *newView) {
	words := s.vocabulary(ctx)
	seen := map[string]bool{}
	add := func(path, value string, n *yaml.Node, in []word, key string) {
		row := formRow{Path: path, Value: value, Line: n.Line}
		if i := slices.IndexFunc(in, func(w word) bool { return w.Key == key }); i >= 0 {
			row.Says = in[i].Says
			if len(in[i].Options) > 0 {
				row.List = "list-" + plainName.ReplaceAllString(path, "-")
				v.Lists = append(v.Lists, wordList{row.List, in[i].Options})
			}
		}
		if value == "" && n.Kind != yaml.ScalarNode {
			v.Others = append(v.Others, row)
		} else {
			v.Rows = append(v.Rows, row)
		}
	}
	eachEntry(v.Text, func(key, value *yaml.Node) {
		seen[key.Value] = true
		inside := insideOf(words, key.Value)
		if value.Kind != yaml.MappingNode || inside == nil {
			add(key.Value, onLine(value), value, words, key.Value)
			return
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			k, x := value.Content[i], value.Content[i+1]
			seen[key.Value+"."+k.Value] = true
			add(key.Value+"."+k.Value, onLine(x), x, inside, k.Value)
		}
	})
	for _, w := range words {
		switch {
		case w.Inside == nil && !seen[w.Key]:
			v.More = append(v.More, w)
		case w.Key == "client" || w.Key == "server": // client.device and so on stand for them
		default:
			for _, x := range w.Inside {
				if x.Key = w.Key + "." + x.Key; !seen[x.Key] {
					v.More = append(v.More, x)
				}
			}
		}
	}
}

// eachEntry visits the entries of a text's mapping, if it is one.
func eachEntry(text string, visit func(key, value *yaml.Node)) {
	var doc yaml.Node
	if len(text) > study.MostText || yaml.Load([]byte(text), &doc) != nil || len(doc.Content) != 1 ||
		doc.Content[0].Kind != yaml.MappingNode {
		return
	}
	for i, m := 0, doc.Content[0]; i+1 < len(m.Content); i += 2 {
		visit(m.Content[i], m.Content[i+1])
	}
}

// onLine is a value as the form shows it; empty: it has none, or is left to the text.
func onLine(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if !strings.Contains(n.Value, "\n") && n.Style&(yaml.FoldedStyle|yaml.LiteralStyle) == 0 {
			return n.Value
		}
	case yaml.SequenceNode:
		items := make([]string, len(n.Content))
		for i, x := range n.Content {
			if x.Kind != yaml.ScalarNode || x.HeadComment+x.LineComment+x.FootComment != "" || onLine(x) == "" {
				return ""
			}
			items[i] = study.Scalar(x.Value)
			if strings.ContainsAny(items[i], ",[]{}") && items[i][0] != '"' {
				return ""
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return ""
}

// writeStudy answers the form: it edits, judges, saves or starts the text that it sends.
func (s *Server) writeStudy(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		s.refuse(w, r, err)
		return
	}
	f := r.PostForm
	v := newView{Text: strings.ReplaceAll(f.Get("text"), "\r\n", "\n"), File: f.Get("file"), Saved: f.Get("saved")}
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

// applied puts the changed lines of the form into the text.
func applied(text string, f url.Values) (string, string, error) {
	b, n := []byte(text), 0
	edit := func(path, value string) (err error) {
		n++
		b, err = study.Edit(b, study.Scalar(value), keysOf(string(b), path)...)
		return err
	}
	for _, path := range f["path"] {
		if now := f.Get("set." + path); now != f.Get("was."+path) {
			if err := edit(path, now); err != nil {
				return text, "", fault{http.StatusConflict, err.Error()}
			}
		}
	}
	if path := f.Get("add"); path != "" && f.Get("value") != "" {
		if err := edit(path, f.Get("value")); err != nil {
			return text, "", fault{http.StatusConflict, err.Error()}
		}
	}
	return string(b), fmt.Sprintf("%d values changed in the text", n), nil
}

// keysOf are the keys that a path of the form stands for: client.device is one key, or two.
func keysOf(text, path string) []string {
	head, rest, two := strings.Cut(path, ".")
	if !two {
		return []string{path}
	}
	inside := head != "client" && head != "server" && len(insideOf(schemaWords(), head)) > 0
	eachEntry(text, func(key, value *yaml.Node) {
		inside = inside || key.Value == head && value.Kind == yaml.MappingNode
	})
	if inside {
		return []string{head, rest}
	}
	return []string{path}
}

// studyFileName is what a study may be saved as.
var studyFileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml$`)

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// readSaved reads a study of the folder for studies.
func (s *Server) readSaved(name string) ([]byte, error) {
	if s.Control == nil || !studyFileName.MatchString(name) {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(s.studies)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	st, err := root.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, study.MostText+1))
	if err == nil && len(b) > study.MostText {
		err = fs.ErrInvalid
	}
	return b, err
}

// saveOrStart saves the text, and conducts it if asked to. It leads to the page to see then.
func (s *Server) saveOrStart(r *http.Request, v *newView, start bool) (string, error) {
	if s.Control == nil {
		return "", fault{http.StatusForbidden, "This page only reads. edgegauge web --control saves and starts studies."}
	}
	if err := s.keys.take(r.PostForm.Get("key")); err != nil {
		return "", err
	}
	p, err := s.Bed.Read(r.Context(), textName, []byte(v.Text))
	if err != nil && start {
		return "", fault{http.StatusConflict, "the text has faults; they are listed below"}
	}
	if v.File == "" && err == nil {
		v.File = p.Study.Name + ".yaml"
	}
	if !studyFileName.MatchString(v.File) {
		return "", fault{http.StatusConflict, fmt.Sprintf("%q is no name for a file of a study; write NAME.yaml, of "+
			"letters, digits, points and hyphens", v.File)}
	}
	if start {
		var foreign []string
		for _, e := range s.Bed.Foreign(p) {
			foreign = append(foreign, strings.ReplaceAll(e.Error(), textName+":", "line "))
		}
		if err := agreed(r, foreign, s.beside("")); err != nil {
			return "", err
		}
		if err := s.save(v); err != nil {
			return "", err
		}
		out, err := s.newResults(p.Study.Name)
		if err != nil {
			return "", fault{http.StatusConflict, err.Error()}
		}
		return "now/", s.begin(p.Study.Name, Order{Study: filepath.Join(s.studies, v.File), Out: out,
			Trust: len(foreign) > 0})
	}
	return "new/?" + url.Values{"file": {v.File}, "saved": {"1"}}.Encode(), s.save(v)
}

// save writes the text to its file. A file that this page does not know is not replaced.
func (s *Server) save(v *newView) error {
	old, err := s.readSaved(v.File)
	switch {
	case err == nil && bytes.Equal(old, []byte(v.Text)):
		return nil
	case err == nil && hexOf(old) == v.Saved:
	case !errors.Is(err, fs.ErrNotExist) || exists(s.studies, v.File):
		return fault{http.StatusConflict, v.File + " is there already, and is another study; give another name"}
	}
	root, err := os.OpenRoot(s.studies)
	if err != nil {
		return fault{http.StatusConflict, err.Error()}
	}
	defer root.Close()
	part := v.File + ".partial"
	_ = root.Remove(part) // of a save that was cut short
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = f.WriteString(v.Text)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = root.Rename(part, v.File)
	}
	if err != nil {
		return fault{http.StatusConflict, "It cannot be saved: " + err.Error()}
	}
	v.Saved = hexOf([]byte(v.Text))
	return nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
