package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"edgegauge.example/edgegauge/internal/kernel"
)

// WarmUpFile is what an attempt keeps beside its logs if requests of its warm-up failed.
const WarmUpFile = "warmup.json"

// A WarmUp says how many requests of a warm-up got no right answer.
type WarmUp struct {
	Requests     int    `json:"requests"`      // of the warm-up
	Failed       int    `json:"failed"`        // of them
	FirstFailure string `json:"first_failure"` // why the first of them failed, in the client's words
}

// mostWarmUp is how many bytes the file may have.
const mostWarmUp = 1 << 16

// WarmUp reads what failed of a trial's warm-up; ErrNoData: nothing did, or the results are a copy without logs.
func (s *Store) WarmUp(id AttemptID) (WarmUp, error) {
	var w WarmUp
	text, err := kernel.ReadFile(s.path(trialsDir, trialName(id.Trial, id.Attempt), WarmUpFile), mostWarmUp)
	if errors.Is(err, fs.ErrNotExist) {
		return w, ErrNoData
	}
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return w, s.damaged("%s: %v", filepath.Join(trialsDir, trialName(id.Trial, id.Attempt), WarmUpFile), err)
	}
	return w, nil
}
