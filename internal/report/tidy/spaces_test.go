package tidy

import (
	"strings"
	"testing"
)

// Spaces around a level or a block do not make another one, which would be printed alike.
func TestSpacesAroundValues(t *testing.T) {
	got, err := Read(strings.NewReader("a,b,rep,y\nx, p,1,2\nx ,p,1 ,\t4\nx,p q,2,6\n"), "f.csv", columns)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].Y != 3 || strings.Join(got.Rows[0].Levels, "|") != "x|p" ||
		got.Rows[1].Levels[1] != "p q" {
		t.Errorf("got %+v", got.Rows)
	}
	if _, err := Read(strings.NewReader("a,b,rep,y\nx, ,1,2\n"), "f.csv", columns); err == nil {
		t.Error("a level of spaces was taken")
	}
}
