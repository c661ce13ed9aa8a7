package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/study"
)

// jsonFlag adds --json. doc/formats.md lists what each verb prints.
func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON (doc/formats.md)")
}

// writeJSON writes the object that a verb prints.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// jsonFormat is the version of what verbs print with --json.
const jsonFormat = 1

// A faultJSON is one thing that keeps a study from running.
type faultJSON struct {
	File   string `json:"file"` // or the --set
	Line   int    `json:"line"` // from 1; 0: it is not of the file
	Column int    `json:"column"`
	What   string `json:"what"`
	Advice string `json:"advice"`
	Here   bool   `json:"here"` // the study is right, and this machine lacks something
}

// faultsOf are the faults of a study, or the one error there is.
func faultsOf(file string, err error) []faultJSON {
	out := []faultJSON{}
	var all study.Errors
	switch {
	case errors.As(err, &all):
		for _, e := range all {
			out = append(out, faultJSON{e.Pos.File, e.Pos.Line, e.Pos.Col, e.What, e.Advice, e.Here})
		}
	case err != nil:
		out = append(out, faultJSON{File: file, What: err.Error()})
	}
	return out
}
