package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// JointFile is what an attempt of a trial that several benches drove keeps beside its logs.
const JointFile = "joint.json"

// A Joint says how several benches drove the server of one trial.
type Joint struct {
	Apart   time.Duration `json:"apart_ns"`   // between the instants at which two benches began, bound included
	Allowed time.Duration `json:"allowed_ns"` // for the treatment
	Benches []JointBench  `json:"benches"`    // in the order of their requests among all; the last has the server
}

// A JointBench is one of them.
type JointBench struct {
	Bench    string        `json:"bench"`          // its name
	First    uint64        `json:"first_seq"`      // of its requests in the client's file of exchanges
	Requests int           `json:"requests"`       // how many follow each other there
	Began    time.Duration `json:"began_ns"`       // after the first bench did
	Ahead    time.Duration `json:"clock_ahead_ns"` // of the clock of the last; 0: it is the last
	Bound    time.Duration `json:"clock_bound_ns"` // by which that may be wrong, drift during the run included
}

// Of is the bench that sent a request; empty: none did.
func (j Joint) Of(seq uint64) string {
	for _, b := range j.Benches {
		if seq >= b.First && seq < b.First+uint64(b.Requests) {
			return b.Bench
		}
	}
	return ""
}

// mostJoint is how many bytes the file may have.
const mostJoint = 1 << 20

// Joint reads how several benches drove a trial; ErrNoData: one did.
func (s *Store) Joint(id AttemptID) (Joint, error) {
	var j Joint
	text, err := kernel.ReadFile(s.path(trialsDir, trialName(id.Trial, id.Attempt), JointFile), mostJoint)
	if errors.Is(err, fs.ErrNotExist) {
		return j, ErrNoData
	}
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	if err != nil {
		return j, s.damaged("%s: %v", filepath.Join(trialsDir, trialName(id.Trial, id.Attempt), JointFile), err)
	}
	return j, nil
}
