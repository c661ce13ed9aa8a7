package named

import (
	"errors"
	"fmt"
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
	for name, want := range map[string]string{"bad": "bad: not a number", "gone": "gone.yaml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
		if f := FaultOf(name, fmt.Errorf("no link: %w", err)); f != nil {
			t.Errorf("%v is no error of Load", f)
		}
		if f := FaultOf(name, errors.Join(nil, err)); f == nil || !strings.Contains(f.Error(), want) {
			t.Errorf("the fault of %s is %v", name, f)
		}
	}
	if f := FaultOf("a", err); f != nil {
		t.Errorf("a is whole, and has the fault %v", f)
	}
}
