package web

import (
	"encoding/json"
	"io"
)

// What a search for a server's capacity leaves in its results (edgegauge capacity).
const (
	searchFile  = "capacity-search.json" // while it goes on, too
	answerFile  = "capacity.json"
	scalingFile = "scaling.json"
)

// mostAnswer is what of these files is read, in B.
const mostAnswer = 1 << 20

// A searched says what a search came to.
type searched struct {
	Study, SLO string
	Says       []string
}

// readText reads a JSON file of the results into to; false: there is none that can be read.
func (p place) readText(name string, to any) bool {
	f, err := p.open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostAnswer+1))
	return err == nil && len(text) <= mostAnswer && json.Unmarshal(text, to) == nil
}

// searched reads the answer of a search; nil: these results are of none, or it has not ended.
func (p place) searched() *searched {
	for _, name := range []string{answerFile, scalingFile} {
		var x searched
		if p.readText(name, &x) && len(x.Says) > 0 {
			return &x
		}
	}
	return nil
}

// searches says for what a search that goes on looks; empty: the study is none.
func (p place) searches() string {
	var x struct {
		SLO   string
		Ended bool
	}
	if !p.readText(searchFile, &x) || x.Ended {
		return ""
	}
	return x.SLO
}
