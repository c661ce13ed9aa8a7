package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"edgegauge/internal/device"
	"edgegauge/internal/instrument/packet"
	"edgegauge/internal/lab"
	"edgegauge/internal/link"
	"edgegauge/internal/report"
	"edgegauge/internal/stack"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

func runCmd(a *app) *cobra.Command {
	var sets []string
	var out string
	c := &cobra.Command{
		Use:   "run STUDY",
		Short: "conduct a study: measure, keep the results, print the table, write the report",
		Long: `Run conducts a study and keeps everything in a results directory: results/NAME/NUMBER, or the one named by --out.
A run that was stopped or killed is resumed by running it again: no finished trial is repeated.`,
		Example: "  edgegauge run studies/quickstart.yaml\n  edgegauge run studies/cloud-of-things.yaml --set requests=100 --set design.replications=3 --out /tmp/try",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.run(cmd.Context(), cmd.OutOrStdout(), args[0], sets, out)
		},
	}
	setFlag(c, &sets)
	c.Flags().StringVar(&out, "out", "", "results directory (default results/NAME/NUMBER)")
	return c
}

func (a *app) run(ctx context.Context, w io.Writer, file string, sets []string, out string) error {
	s, text, err := a.read(ctx, file, sets)
	if err != nil {
		return err
	}
	plan, err := study.Expand(s)
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := refuseAway(plan); err != nil {
		return exit{exitUsage, err}
	}
	l, err := a.newLab(ctx, plan)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if needsNetwork(l) && link.Able() != nil {
		return rootless()
	}
	scratch, err := newScratch(os.Stderr)
	if err != nil {
		return err
	}
	defer scratch.Close()
	defer closeDevices(l.Devices)
	if err := mayCapture(plan); err != nil {
		return exit{exitUnmeasured, err}
	}
	closeMeters, err := openMeters(ctx, l, plan)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer closeMeters()
	header, err := a.header(ctx, plan, text, l)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	dir, err := chooseResults(out, s.Name, header)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if l.Plan, err = asLongAs(plan, dir); err != nil {
		return exit{exitUnmeasured, err}
	}
	if header, err = a.header(ctx, l.Plan, text, l); err != nil {
		return exit{exitUnmeasured, err}
	}
	if l.Store, err = createOrOpen(dir, header); err != nil {
		return exit{exitUnmeasured, err}
	}
	defer l.Store.Close()
	keys, err := os.MkdirTemp("", "edgegauge-keys-")
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	defer os.RemoveAll(keys)
	reached, err := boardAddresses(ctx, l.Devices)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if l.Credentials, err = stack.NewCredentials(keys, append(reached, link.ServerAddress.IPv4, link.ServerAddress.IPv6)...); err != nil {
		return exit{exitUnmeasured, err}
	}
	show := newProgress(os.Stderr, l.Store.Dir())
	l.Progress = show.tell
	outcome, err := l.Run(ctx)
	show.end()
	if errors.Is(err, lab.ErrStopped) {
		return exit{exitUnmeasured, fmt.Errorf("stopped; what is done is kept in %s: run the same command again to go on", l.Store.Dir())}
	}
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	if err := writeReport(w, l.Store); err != nil {
		return exit{exitUnmeasured, err}
	}
	if outcome.Unmet != "" {
		fmt.Fprintln(w, outcome.Unmet)
	}
	return gaveUp(outcome)
}

// newScratch makes the folder for this process's temporary files, and tells what
// labs that were killed had left.
func newScratch(w io.Writer) (*lab.Scratch, error) {
	s, err := lab.NewScratch()
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	for _, dir := range s.Swept {
		fmt.Fprintf(w, "removed %s, which a killed lab left\n", dir)
	}
	return s, nil
}

// needsNetwork says whether a run makes network namespaces.
func needsNetwork(l *lab.Lab) bool {
	for _, d := range l.Devices {
		if _, ok := d.(device.Behind); ok {
			return true
		}
	}
	return len(l.Links) > 0
}

// mayCapture tries whether packets can be captured on lo, if the plan needs them.
func mayCapture(p study.Plan) error {
	s := p.Study
	bare := slices.ContainsFunc(p.Trials, func(t study.Trial) bool { return !lab.IsLinked(t.Setup) })
	if !lab.NeedsPackets(s) || !bare { // behind a link, whoever made it may capture
		return nil
	}
	tap, err := packet.Open(packet.TapOptions{Interface: "lo", Blocks: 1})
	if err != nil {
		return fmt.Errorf("%s asks for packets: %w", s.File, err)
	}
	return tap.Close()
}

// rootless runs this very command again where it may make links.
func rootless() error {
	code, err := link.Rootless()
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	os.Exit(code)
	return nil
}

// gaveUp is the error of a run in which a treatment has too few trials.
func gaveUp(o lab.Outcome) error {
	if len(o.Missing) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d trials could not be measured:", len(o.Missing))
	for i, t := range o.Missing {
		if i == 5 {
			text += fmt.Sprintf("\n  … and %d more; edgegauge report shows them all", len(o.Missing)-i)
			break
		}
		text += fmt.Sprintf("\n  %s (%d attempts)", t.Reason, t.Attempts)
	}
	return exit{exitUnmeasured, errors.New(text)}
}

// newLab gathers what the plan needs.
func (a *app) newLab(ctx context.Context, p study.Plan) (*lab.Lab, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stacks, err := a.needed(p)
	if err != nil {
		return nil, err
	}
	on, err := neededDevices(ctx, p, stacks, exe)
	if err != nil {
		return nil, err
	}
	all, _ := profiles()
	used, err := neededLinks(p, all)
	if err != nil {
		return nil, err
	}
	sensors, err := neededSensors(p, exe)
	if err != nil {
		return nil, err
	}
	return &lab.Lab{Plan: p, Exe: exe, Stacks: stacks, Links: used, Devices: on, Sensors: sensors}, nil
}

// header is the run as the store keeps it.
func (a *app) header(ctx context.Context, p study.Plan, text []byte, l *lab.Lab) (store.Header, error) {
	h := store.Header{Study: text, Program: version(), Trials: lab.Records(p)}
	for _, o := range p.Study.Overrides {
		h.Overrides = append(h.Overrides, o.String())
	}
	var csv bytes.Buffer
	if err := p.WriteCSV(&csv); err != nil {
		return h, err
	}
	h.Plan = csv.Bytes()
	facts, err := gatherFacts(ctx, p, l)
	if err != nil {
		return h, err
	}
	h.Facts, err = json.MarshalIndent(facts, "", "  ")
	return h, err
}

// runFacts is facts.json: what a result depends on besides the study.
type runFacts struct {
	Format    int                     `json:"format"`
	Edgegauge map[string]string       `json:"edgegauge"`
	Seed      uint64                  `json:"seed"`
	Devices   map[string]device.Facts `json:"devices"`
	Stacks    map[string]stackFacts   `json:"stacks"`
	Links     map[string]link.Link    `json:"links,omitempty"`
	Sensors   map[string]sensorFacts  `json:"sensors,omitempty"` // simulated
}

type stackFacts struct {
	Title      string            `json:"title"`
	Version    string            `json:"version"`
	Language   string            `json:"language"`
	Transports []string          `json:"transports"`
	Checksums  map[string]string `json:"checksums,omitempty"` // SHA-256 of the products
}

func gatherFacts(ctx context.Context, p study.Plan, l *lab.Lab) (runFacts, error) {
	f := runFacts{
		Format: store.Format, Seed: p.Study.Design.Seed, Devices: map[string]device.Facts{}, Stacks: map[string]stackFacts{},
		Edgegauge: map[string]string{"version": version(), "go": runtime.Version()},
	}
	if sum, err := stack.FileSum(l.Exe); err == nil {
		f.Edgegauge["sha256"] = sum
	}
	f.Links = l.Links
	var err error
	if f.Sensors, err = factsOfSensors(l.Sensors); err != nil {
		return f, err
	}
	for name, d := range l.Devices {
		facts, err := d.Facts(ctx)
		if err != nil {
			return f, fmt.Errorf("device %w", err)
		}
		f.Devices[name] = facts
	}
	for name, d := range l.Stacks {
		sums, err := d.Checksums()
		if err != nil {
			return f, fmt.Errorf("stack %s: %w", name, err)
		}
		f.Stacks[name] = stackFacts{Title: d.Title, Version: d.Version, Language: d.Language, Transports: d.Serves[0].Transports, Checksums: sums}
	}
	return f, nil
}

// chooseResults names the results directory: out, or results/NAME/NUMBER, the
// newest if it is unfinished and of this very study, else the next.
func chooseResults(out, name string, h store.Header) (string, error) {
	if out != "" {
		return out, nil
	}
	base := filepath.Join("results", name)
	last := lastNumber(base)
	dir := filepath.Join(base, fmt.Sprintf("%03d", last))
	if last == 0 || !unfinished(dir, h) {
		dir = filepath.Join(base, fmt.Sprintf("%03d", last+1))
	} else {
		fmt.Fprintf(os.Stderr, "resuming %s\n", dir)
	}
	err := os.MkdirAll(base, 0o777)
	if err == nil {
		err = point(dir)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w; run where you may write, or name a directory with --out", base, err)
	}
	return dir, nil
}

// asLongAs makes the plan as long as results already are: precision may have added blocks.
func asLongAs(p study.Plan, dir string) (study.Plan, error) {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return p, nil // nothing there yet; what is wrong with it Open will say
	}
	defer s.Close()
	all, err := s.Trials()
	if err != nil || len(all) == 0 {
		return p, err
	}
	last := p.Trials[len(p.Trials)-1].Block
	if more := all[len(all)-1].Block - last; more > 0 && p.Study.Design.Precision > 0 {
		return p.Extend(more)
	}
	return p, nil
}

func createOrOpen(dir string, h store.Header) (*store.Store, error) {
	s, err := store.Create(dir, h)
	if errors.Is(err, store.ErrExists) {
		return store.Open(dir, h)
	}
	return s, err
}

// unfinished reports whether dir holds results of this study with trials still
// to run.
func unfinished(dir string, h store.Header) bool {
	s, err := store.OpenReadOnly(dir)
	if err != nil {
		return false
	}
	defer s.Close()
	text, overrides, err := s.Study()
	if err != nil || !bytes.Equal(text, h.Study) || !slices.Equal(overrides, h.Overrides) {
		return false
	}
	p, err := s.Pending()
	return err == nil && len(p) > 0
}

func lastNumber(base string) int {
	entries, _ := os.ReadDir(base)
	last := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d", &n); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// point makes results/latest lead to dir.
func point(dir string) error {
	link := filepath.Join("results", "latest")
	target, err := filepath.Rel("results", dir)
	if err != nil {
		return err
	}
	next := link + ".new"
	os.Remove(next)
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	return os.Rename(next, link)
}

// writeReport renews summary.csv and report.html and prints the table.
func writeReport(w io.Writer, s *store.Store) error {
	r, err := report.Read(s)
	if err == nil {
		r.Predict(calibrations(os.Stderr), time.Now())
		err = r.ReadRaw(s, report.PageTraces)
	}
	if err != nil {
		return err
	}
	if err := store.Replace(filepath.Join(s.Dir(), "summary.csv"), r.CSV); err != nil {
		return err
	}
	if err := store.Replace(filepath.Join(s.Dir(), "report.html"), r.HTML); err != nil {
		return err
	}
	if err := r.Text(w); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s\n", filepath.Join(s.Dir(), "report.html"))
	return err
}
