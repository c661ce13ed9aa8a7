package lab

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/guest"
	"edgegauge.example/edgegauge/internal/stack"
)

// furnished is a machine that has all that a command needs.
type furnished struct{ Counter }

func (furnished) Furnish(_ device.Program, c device.Command) (device.Command, []device.File, error) {
	return c, nil, nil
}

// A machine that conducts a trial alone waits for its programs as long as the study says, and no longer.
func TestAMachineWaitsForProgramsAsTheStudySays(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, late := range []string{serving, calling} {
		t.Run(late, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := soundStack()
				s.acts[late] = act{then: "hang"}
				l, running := fakeLab(t, s, 1)
				l.Plan.Study.Timeouts.Ready = 3 * time.Second
				l.Stacks["fake"] = stack.Description{Name: "fake", Dir: "/", Serve: stack.Program{
					Command: []string{"serve"}}, Call: stack.Program{Command: []string{"call"}}}
				defer l.Store.Close()
				in := &inside{trial: newTrialRunner(l, l.Plan.Trials[0], nil), on: furnished{}}
				text, _, err := in.job(stack.Message{})
				if err != nil {
					t.Fatal(err)
				}
				var j guest.Job
				if err := json.Unmarshal(text, &j); err != nil {
					t.Fatal(err)
				}
				var conn [2]*stack.Conn
				var process [2]guest.Process
				for side, argv := range j.Argv {
					p, to, err := s.launch(running)(t.Context(), nil, device.Command{Argv: argv})
					if err != nil {
						t.Fatal(err)
					}
					defer p.Kill()
					process[side], conn[side] = p, to
				}
				began := time.Now()
				_, err = j.Converse(t.Context(), conn, process)
				if took := time.Since(began); err == nil || took != 3*time.Second ||
					!strings.Contains(err.Error(), `did not say "ready": within 3s`) {
					t.Errorf("got %v after %v", err, took)
				}
			})
		})
	}
}

// starved is a machine whose kernel has something to say.
type starved struct {
	furnished
	says string
	out  guest.Outcome
	err  error
}

func (m starved) Enclose(_ context.Context, j device.Job) ([]byte, error) {
	if err := os.WriteFile(j.Log, []byte(m.says), 0o600); err != nil {
		return nil, err
	}
	head, err := json.Marshal(m.out)
	return append(head, '\n'), errors.Join(m.err, err)
}

// A machine's kernel that killed a program because no memory was left is named in the reason of the trial.
func TestAMachineThatRunsOutOfMemoryIsNamed(t *testing.T) {
	const kill = "Out of memory: Killed process 57 (java) total-vm:230000kB\n"
	const why = "the machine was out of memory, and its kernel killed process 57 (java)"
	silent := guest.Outcome{Failed: "the server closed its output without answering"}
	for what, c := range map[string]struct {
		m     starved
		named bool
	}{
		"a program":     {starved{says: kill, out: silent}, true},
		"all of it":     {starved{says: kill, err: errors.New("its kernel panicked")}, true},
		"another fault": {starved{says: "Booting\n", out: silent}, false},
	} {
		l, _ := fakeLab(t, soundStack(), 1)
		l.Devices["host"] = c.m
		t1 := newTrialRunner(l, l.Plan.Trials[0], nil)
		var err error
		if t1.attempt, err = l.Store.Begin(l.Plan.Trials[0].ID); err != nil {
			t.Fatal(err)
		}
		err = (&inside{trial: t1}).enclose(t.Context())
		if got := err != nil && strings.HasSuffix(err.Error(), "; "+why); got != c.named {
			t.Errorf("%s: got %v, named: %v", what, err, c.named)
		}
		if err := l.Store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
