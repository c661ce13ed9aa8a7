package report

import (
	"encoding/json"
	"path/filepath"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
)

// CapacityFile is the name of a capacity's JSON in a results directory, and CapacityPage that of its page.
const (
	CapacityFile = "capacity.json"
	CapacityPage = "capacity.html"
)

// mostAnswer is what of a CapacityFile is read, in B.
const mostAnswer = 1 << 24

// searched says in a sentence what the search for a capacity came to whose trials a results directory holds; empty: it
// holds no search.
func searched(dir string) string {
	n, err := capacity.ReadNote(dir)
	if err != nil {
		return ""
	}
	text, err := kernel.ReadFile(filepath.Join(dir, CapacityFile), mostAnswer)
	if found := answerOfSearch(text); n.Ended && err == nil && found != "" {
		return found
	}
	return "The search for the server's capacity has not ended; the same command again resumes it."
}

// answerOfSearch is the headline of a Capacity's JSON, on a line; empty: it has none.
func answerOfSearch(text []byte) string {
	var answer struct{ Says []string }
	if json.Unmarshal(text, &answer) != nil || len(answer.Says) == 0 {
		return ""
	}
	return printable.Line(answer.Says[0])
}
