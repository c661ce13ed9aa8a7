package reference

import (
	"testing"

	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// Every encoding that a stack of this repository offers has a row in the table
// of encodings; a reference stack's can be written and read here.
func TestEveryOfferedEncodingHasARow(t *testing.T) {
	foreign, err := stack.Load("..")
	if err != nil || len(foreign) == 0 {
		t.Fatalf("%d stacks, %v", len(foreign), err)
	}
	offered := map[codec.Encoding]bool{}
	for _, d := range append(foreign, Stacks()...) {
		for _, o := range d.Serves {
			for _, e := range o.Encodings {
				offered[codec.Encoding(e)] = true
				if _, ok := codec.Find(codec.Encoding(e)); !ok {
					t.Errorf("%s offers encoding %s, which has no row in codec.Table", d.Name, e)
				}
				if _, err := codec.Parse(e); d.Dir == "" && err != nil {
					t.Errorf("%s: %v", d.Name, err)
				}
			}
		}
	}
	for _, r := range codec.Table {
		if !offered[r.Name] {
			t.Errorf("encoding %s has a row, and no stack offers it", r.Name)
		}
	}
}
