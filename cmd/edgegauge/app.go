package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/internal/testbed"
)

// app is what the verbs share: the testbed, made when a verb first needs it.
type app struct {
	stackFolders []string
	quiet        bool // neither progress nor notes
	made         *testbed.Testbed
	left         []string // out of the study that was read last, since this machine cannot do it
	toldBeside   bool     // that other labs measure here
	given        []string // see givenWords
	resume       string   // how what this command began is resumed; empty: by the same command
}

// stamp is the version of a release, which its build sets: -ldflags "-X main.stamp=1.2.3".
var stamp string

// version is what this program was built from.
func version() string { return device.Build(stamp) }

func versionCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Format   int    `json:"format"`
					Version  string `json:"version"`
					Go       string `json:"go"`
					Platform string `json:"platform"`
				}{jsonFormat, version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "edgegauge", version())
			return err
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// notes is where progress and notes go.
func (a *app) notes() io.Writer {
	if a.quiet {
		return io.Discard
	}
	return os.Stderr
}

// bed is the testbed that the command line describes.
func (a *app) bed() (*testbed.Testbed, error) {
	if a.made != nil {
		return a.made, nil
	}
	for _, dir := range a.stackFolders {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, exit{exitUsage, fmt.Errorf("--stacks %s: no such folder; name one that contains stack folders", dir)}
		}
	}
	o, err := testbed.Local(version(), a.stackFolders...)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	o.Rootless = true
	a.made = testbed.New(o)
	return a.made, nil
}

// read reads a study file and plans it. Overrides in kept, before those in sets, were kept with results.
func (a *app) read(ctx context.Context, file string, kept, sets []string) (*testbed.Testbed, study.Plan, []byte,
	error) {
	return a.readWith(ctx, file, kept, sets, (*testbed.Testbed).ReadAvailable)
}

// readElsewhere reads a study that benches measure.
func (a *app) readElsewhere(ctx context.Context, file string, kept, sets []string) (*testbed.Testbed, study.Plan,
	[]byte, error) {
	return a.readWith(ctx, file, kept, sets, (*testbed.Testbed).ReadElsewhere)
}

// A planner is a way to read a study, as testbed.ReadAvailable.
type planner func(b *testbed.Testbed, ctx context.Context, file string, text []byte, kept []string, sets ...string) (
	study.Plan, []string, error)

func (a *app) readWith(ctx context.Context, file string, kept, sets []string, plan planner) (*testbed.Testbed,
	study.Plan, []byte, error) {
	bed, err := a.bed()
	if err != nil {
		return nil, study.Plan{}, nil, err
	}
	file, text, err := a.studyFile(file)
	if err != nil {
		return bed, study.Plan{}, nil, exit{exitUsage, err}
	}
	bed, p, err := a.readText(ctx, file, text, kept, sets, plan)
	return bed, p, text, err
}

// readText reads a study as it stands in a file.
func (a *app) readText(ctx context.Context, file string, text []byte, kept, sets []string, plan planner) (
	*testbed.Testbed, study.Plan, error) {
	bed, err := a.bed()
	if err != nil {
		return nil, study.Plan{}, err
	}
	p, left, err := plan(bed, ctx, file, text, kept, sets...)
	var found study.Errors
	switch {
	case errors.As(err, &found):
		return bed, p, obstacles(found)
	case err != nil:
		return bed, p, exit{exitUsage, err}
	}
	if len(left) > 0 {
		a.left = left
		for _, line := range left {
			fmt.Fprintln(a.notes(), line)
		}
	}
	for _, note := range bed.Unread(p) {
		fmt.Fprintf(os.Stderr, "warning: %v\n", note)
	}
	for _, w := range p.Study.Passwords {
		fmt.Fprintf(os.Stderr,
			"%v: warning: the study contains a password, which is not stored with results; write "+
				"http://NAME@HOST?password=env:VARIABLE\n", w.Pos)
	}
	return bed, p, nil
}

// advisePlan says what check, plan and run advise of a plan that they do not refuse: that figures will have no
// interval, that trials which shall run at the same time have no others to do so with, and what a link will do to
// trials. What compares versions adds trials to a study, and does not ask.
func advisePlan(bed *testbed.Testbed, p study.Plan) {
	notes := append(bed.AdviseLinks(p), bed.AdviseResponses(p)...)
	if note := testbed.Single(p); note != nil {
		notes = append(notes, note)
	}
	if note := testbed.Lonely(p); note != nil {
		notes = append(notes, note)
	}
	for _, note := range notes {
		fmt.Fprintf(os.Stderr, "warning: %v\n", note)
	}
}

// newScratch makes a folder for temporary files, and tells what labs that were
// killed had left.
func newScratch(w io.Writer) (*testbed.Scratch, error) {
	s, err := testbed.NewScratch("")
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	tellSwept(w, s.Swept)
	return s, nil
}

func tellSwept(w io.Writer, swept []string) {
	for _, dir := range swept {
		fmt.Fprintf(w, "removed %s, left by a killed lab\n", dir)
	}
}
