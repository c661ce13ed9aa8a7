package store

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaultsOfPrograms(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		fault, late bool
		why         string
	}{
		{`trial 7: start the server: stacks/mine serve did not say "ready": it ended with status 7; see trials/0007/serve.log`,
			true, false, `stacks/mine serve did not say "ready": it ended with status 7`},
		{`trial 7: start the server: mine serve did not say "ready" within 10s; see trials/0007-2/serve.log`, true, true,
			`mine serve did not say "ready" within 10s`},
		{"trial 3: check the trial: 1 of 150 requests failed; first failure: HTTP/1.1 500 oops; to measure the service as it " +
			"is, write failures: 5%", true, false, "1 of 150 requests failed; first failure: HTTP/1.1 500 oops"},
		{"trial 3: check the trial: 1 of 150 requests failed; first failure: no response in time", true, true,
			"1 of 150 requests failed; first failure: no response in time"},
		{"trial 3: measure: the trial took longer than 10m (timeouts.trial)", true, true,
			"the trial took longer than 10m (timeouts.trial)"},
		{"trial 3: check the trial: this lab did not run for 3s of the trial, and its client may not have either", false, false,
			"this lab did not run for 3s of the trial, and its client may not have either"},
		{"trial 3: measure: this machine was suspended for 1m during the trial: call ended", false, false,
			"this machine was suspended for 1m during the trial: call ended"},
		{"trial 3: measure: bench b2: no answer", false, false, "bench b2: no answer"},
		{"trial 3: start the meters: the meter is gone", false, false, "the meter is gone"},
		{"trial 3: reach the devices: pi: the connection was lost", false, false, "pi: the connection was lost"},
		{"too many requests failed", false, false, "too many requests failed"},
	} {
		a := AttemptState{State: Invalid, Reason: tt.reason}
		if a.IsFault() != tt.fault || a.MayBeLate() != tt.late || a.Why() != tt.why {
			t.Errorf("%s: got %v, %v, %q", tt.reason, a.IsFault(), a.MayBeLate(), a.Why())
		}
		if a.State = Interrupted; a.IsFault() {
			t.Errorf("%s: an attempt that was interrupted failed for what its programs did", tt.reason)
		}
	}
}

// What is no fault of the programs is known by the lab's own words: whoever changes these there changes them here.
func TestReasonsOfTheMachineAreTheLabsWords(t *testing.T) {
	written := map[string]string{"the client of bench": " of bench ", ": bench ": "bench %s: "} // put together there
	var source strings.Builder
	for _, room := range []string{"lab", "device", "device/rpc", "device/ssh"} {
		files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(room, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
	}
	for _, words := range ofMachine {
		if !strings.Contains(source.String(), cmp.Or(written[words], words)) {
			t.Errorf("nobody says %q", words)
		}
	}
}
