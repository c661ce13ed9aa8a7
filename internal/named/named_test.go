package named

import (
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoad(t *testing.T) {
	came := fstest.MapFS{"a.yaml": {Data: []byte("1")}, "b.yaml": {Data: []byte("2")}, "README.md": {Data: []byte("3")},
		"bad.yaml": {Data: []byte("5")}, "gone.yaml": {Data: []byte("6")}}
	own := fstest.MapFS{"b.yaml": {Data: []byte("4")}, "bad.yaml": {Data: []byte("no")}, "gone.yaml": {Mode: fs.ModeDir}}
	got, err := Load(func(name string, text []byte) (string, error) {
		if string(text) == "no" {
			return "", errors.New(name + ": not a number")
		}
		return name + "=" + string(text), nil
	}, came, own)
	if want := map[string]string{"a": "a=1", "b": "b=4"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, want := range []string{"bad: not a number", "gone.yaml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
}
