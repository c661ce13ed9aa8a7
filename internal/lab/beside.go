package lab

import (
	"os"
	"path/filepath"
)

// MeasuresFile is in a lab's folder for temporary files as long as it measures, so that other labs on this machine see
// it: they disturb each other.
const MeasuresFile = "measures"

// measures tells other labs that this one measures, until end is called. One that cannot be told goes on: it measures
// no worse for that.
func (l *Lab) measures() (end func()) {
	if l.Scratch == "" {
		return func() {}
	}
	name := filepath.Join(l.Scratch, MeasuresFile)
	_ = os.WriteFile(name, nil, 0o644)
	return func() { _ = os.Remove(name) }
}

// others is how many other labs measure on this machine at the moment.
func (l *Lab) others() int {
	if l.Beside == nil {
		return 0
	}
	return len(l.Beside())
}
