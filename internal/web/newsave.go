package web

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/study"
)

// studyFileName is what a study may be saved as, in 105 characters at most.
var studyFileName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*\.ya?ml$`)

func isStudyFile(name string) bool { return len(name) <= 105 && studyFileName().MatchString(name) }

func hexOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// readSaved reads a study of the folder for studies.
func (s *Server) readSaved(name string) ([]byte, error) {
	if s.Control == nil || !isStudyFile(name) {
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
	if !isStudyFile(v.File) {
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
	sweepPartial(root, v.File)
	part := v.File + "." + kernel.Owner() + "-" + rand.Text() + partialEnd
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, err = f.WriteString(v.Text)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = root.Rename(part, v.File)
	}
	if err != nil {
		if f != nil {
			_ = root.Remove(part)
		}
		return fault{http.StatusConflict, "It cannot be saved: " + err.Error()}
	}
	v.Saved = hexOf([]byte(v.Text))
	return nil
}

// partialEnd ends the name of a file that is being written: NAME.yaml.OWNER-TEXT.partial.
const partialEnd = ".partial"

// sweepPartial removes what saves of a file have left that were cut short, and nothing else of a similar name.
func sweepPartial(root *os.Root, name string) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	all, _ := dir.ReadDir(-1)
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), name+".")
		rest, part := strings.CutSuffix(rest, partialEnd)
		if owner, _, ok := strings.Cut(rest, "-"); ours && part && ok && kernel.OwnerGone(owner) {
			_ = root.Remove(e.Name())
		}
	}
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
