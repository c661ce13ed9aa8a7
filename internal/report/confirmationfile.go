package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// ConfirmationFile is the file that makes results a confirmation: it names the two runs
// whose versions were measured again. What came of it is computed from the ledger.
const ConfirmationFile = "confirmation.json"

// ConfirmingFile is the same file while the confirmation goes on, and after it was stopped.
const ConfirmingFile = "confirming.json"

// confirmationFormat is the version of that file.
const confirmationFormat = 1

// mostConfirmation is what such a file may have, in B.
const mostConfirmation = 64 << 10

// A Confirms says which runs of a history were measured again, interleaved.
type Confirms struct {
	Format    int       `json:"format"`               // 1
	Old       time.Time `json:"old"`                  // when the run began whose version is the base
	New       time.Time `json:"new"`                  // when the run began whose version is the new one
	OldDir    string    `json:"old_dir"`              // as it was given
	NewDir    string    `json:"new_dir"`              // likewise
	Responses []string  `json:"responses"`            // that were asked about
	Detect    float64   `json:"detect"`               // the least relative change that matters
	Base      string    `json:"base,omitempty"`       // what was given as the version of Old
	Doubt     string    `json:"base_doubt,omitempty"` // why that may be another version; empty: it is that
	// Pilot is how many blocks were measured first, whose spread said how many are; 0: stat.DefaultPilot, as of earlier
	// versions.
	Pilot int `json:"pilot,omitempty"`
}

// ConfirmedAt is the level of a confirmation, two-sided, shared by all series it asks
// about: so often it finds a change where there is none.
const ConfirmedAt = 0.001

// JudgedAt is the level at which a confirmation is judged so that it errs no more often than ConfirmedAt.
func (c Confirms) JudgedAt() float64 {
	return stat.AfterPilot(ConfirmedAt, cmp.Or(c.Pilot, stat.DefaultPilot))
}

// DecidedAt is the level at which a pilot ends a confirmation: it may add as much to the errors of ConfirmedAt.
const DecidedAt = ConfirmedAt / 10

// Again is the command that measures the same again. The file may be a stranger's: what could be a flag, or a program
// that is run, is left to the user, in capitals.
func (c Confirms) Again() string {
	results := func(dir, unknown string) string {
		if dir == "" || dir[0] == '-' {
			return unknown
		}
		return QuotedPath(dir)
	}
	base := "VERSION"
	if IsCommit(c.Base) {
		base = c.Base
	}
	text := fmt.Sprintf("edgegauge confirm %s %s --base %s --detect %.6g%%", results(c.OldDir, "OLD"),
		results(c.NewDir, "NEW"), base, 100*c.Detect)
	for _, name := range c.Responses {
		text += " --response " + Quoted(name)
	}
	return text
}

// Begin writes what a results directory will confirm.
func (c Confirms) Begin(dir string) error { return c.write(dir, ConfirmingFile) }

// Write writes the file into the results directory of the confirmation, which has ended.
func (c Confirms) Write(dir string) error {
	if err := c.write(dir, ConfirmationFile); err != nil {
		return err
	}
	return store.RemoveBeside(dir, ConfirmingFile)
}

func (c Confirms) write(dir, name string) error {
	c.Format = confirmationFormat
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return store.PutBeside(dir, name, func(w io.Writer) error { // a stranger's directory may have a link there
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// ReadConfirms reads the text of such a file.
func ReadConfirms(text []byte) (Confirms, error) {
	var c Confirms
	if len(text) > mostConfirmation {
		return c, fmt.Errorf("%s: %d B, more than any that edgegauge writes", ConfirmationFile, len(text))
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w", ConfirmationFile, err)
	}
	if c.Format != confirmationFormat {
		return c, fmt.Errorf("%s: format %d is not %d; install the edgegauge that wrote it", ConfirmationFile, c.Format,
			confirmationFormat)
	}
	if !(c.Detect > 0) || len(c.Responses) == 0 {
		return c, fmt.Errorf("%s: it names no responses or no change that matters", ConfirmationFile)
	}
	return c, nil
}
