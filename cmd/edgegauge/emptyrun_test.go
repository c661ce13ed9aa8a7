package main

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Valid trials without a figure of what was asked are no good answer, as of times on a machine that has none.
func TestARunWithoutAnyFigureIsNoAnswer(t *testing.T) {
	r := &report.Report{Trials: []store.TrialState{{State: store.Valid}},
		Study: study.Study{Responses: []study.Word{{Text: "rtt"}, {Text: "cpu"}}}}
	err := empty(r)
	var code exit
	if !errors.As(err, &code) || code.code != exitUnmeasured || !strings.Contains(err.Error(), "(rtt, cpu)") {
		t.Errorf("got %v", err)
	}
	r.Trials[0].State = store.Invalid // said elsewhere
	if err := empty(r); err != nil {
		t.Errorf("without a valid trial: %v", err)
	}
	r.Trials[0].State, r.Cells = store.Valid, make([]report.Cell, 1)
	if err := empty(r); err != nil {
		t.Errorf("with a figure: %v", err)
	}
}
