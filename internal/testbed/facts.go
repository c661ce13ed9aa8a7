package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// runFacts is facts.json: what a result depends on besides the study.
type runFacts struct {
	Format    int                     `json:"format"`
	Edgegauge map[string]string       `json:"edgegauge"`
	Seed      uint64                  `json:"seed"`
	Devices   map[string]device.Facts `json:"devices"`
	Stacks    map[string]stackFacts   `json:"stacks"`
	Links     map[string]link.Link    `json:"links,omitempty"`
	Services  map[string]serviceFacts `json:"services,omitempty"` // already there, by URL
	Sensors   map[string]sensorFacts  `json:"sensors,omitempty"`  // simulated
	// Placement says on which CPUs of this machine a treatment's programs run, by its
	// setting. It is there, if empty, in all results that know the setting.
	Placement map[string]study.Pin `json:"placement"`
	// Models are the power models of the plan, by name.
	Models map[string]instrument.PowerModel `json:"power_models,omitempty"`
	// LeftOut is what the study wanted and this machine could not do.
	LeftOut []string `json:"left_out,omitempty"`
}

type stackFacts struct {
	Title      string            `json:"title"`
	Version    string            `json:"version"`
	Language   string            `json:"language"`
	Transports []string          `json:"transports"`
	Floor      bool              `json:"floor"`               // a bare exchange of bytes
	Checksums  map[string]string `json:"checksums,omitempty"` // SHA-256 of what it consists of
	// Commit is that of the git repository in which its folder is; with a + where files of
	// the folder differ from it.
	Commit string `json:"commit,omitempty"`
}

// CommitOf is the commit of the git repository in which the folder of a stack is; empty: there
// is none, or no git. A + behind it says that files of the folder differ from it, or may: git runs
// nothing that the repository of a stack that is not trusted names, and cannot always say then.
func (b *Testbed) CommitOf(ctx context.Context, d stack.Description) string {
	if d.Dir == "" {
		return ""
	}
	trusted := b.Trusts(d)
	git := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "git", append([]string{"-C", d.Dir, "--no-optional-locks", "-c", "core.fsmonitor=false",
			"-c", "core.hooksPath=/dev/null"}, args...)...)
		if !trusted { // what a partial clone lacks would be fetched by a command of its configuration
			c.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
		}
		out, err := kernel.Output(c)
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil || len(commit) < 12 {
		return ""
	}
	if tracked, err := git("ls-files", "--", "."); err != nil || tracked == "" {
		return "" // the repository has nothing of this folder
	}
	commit = commit[:12]
	status := []string{"status", "--porcelain"}
	if !trusted {
		if filters(git) {
			return commit + "+"
		}
		status = append(status, "--ignore-submodules=dirty") // they have filters of their own
	}
	if changed, err := git(append(status, "--", ".")...); err != nil || changed != "" {
		commit += "+"
	}
	return commit
}

// filters says whether a repository itself, and not its user, has filters, which are commands that git runs to
// compare files.
func filters(git func(args ...string) (string, error)) bool {
	found, err := git("config", "--show-scope", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`)
	if none := new(exec.ExitError); errors.As(err, &none) && none.ExitCode() == 1 {
		return false
	}
	return err != nil || slices.ContainsFunc(strings.Split(found, "\n"), func(line string) bool {
		scope, _, _ := strings.Cut(line, "\t")
		return scope != "system" && scope != "global"
	})
}

// gatherFacts reaches every device of the plan.
func (x *assembly) gatherFacts(ctx context.Context) (runFacts, error) {
	f := runFacts{
		Format: store.Format, Seed: x.plan.Study.Design.Seed, Devices: map[string]device.Facts{},
		Stacks:    map[string]stackFacts{},
		Edgegauge: map[string]string{"version": x.bed.Version, "go": runtime.Version()}, Links: x.lab.Links,
		Placement: x.placements(), Models: x.lab.Profiles,
	}
	x.bed.summed.Do(func() { x.bed.ownSum, _ = programSum("/proc/self/exe", x.bed.Cache) })
	if x.bed.ownSum != "" {
		f.Edgegauge["sha256"] = x.bed.ownSum
	}
	var err error
	if f.Sensors, err = factsOfSensors(x.lab.Sensors); err != nil {
		return f, err
	}
	if f.Services, err = x.factsOfServices(ctx); err != nil {
		return f, err
	}
	for name, d := range x.lab.Devices {
		facts, err := d.Facts(ctx)
		if err != nil {
			return f, ofDevice(err)
		}
		f.Devices[name] = facts
	}
	x.stamps = map[string]map[string]stamp{}
	for name, d := range x.lab.Stacks {
		x.stamps[name], _ = stamps(d) // before it is read; what is missing says whoever watches
		sums, err := d.Checksums()
		if err != nil {
			return f, fmt.Errorf("stack %s: %w", name, err)
		}
		f.Stacks[name] = stackFacts{Title: d.Title, Version: d.Version, Language: d.Language,
			Transports: d.Serves[0].Transports, Floor: d.Floor, Checksums: sums, Commit: x.bed.CommitOf(ctx, d)}
	}
	return f, nil
}

// ofDevice is an error that begins with the name of a device, which is said to be one.
func ofDevice(err error) error {
	if strings.HasPrefix(err.Error(), "device ") {
		return err
	}
	return fmt.Errorf("device %w", err)
}

// header is the run as the store keeps it.
func (x *assembly) header(p study.Plan, text []byte, facts runFacts) (store.Header, error) {
	text = []byte(printable.Redact(string(text)))
	// Subtle: YAML can write an address in ways (\u0070) that no search finds.
	if kept, _ := study.Parse(p.Study.File, text, study.Vocabulary{}); len(kept.Passwords) > 0 {
		w := kept.Passwords[0]
		return store.Header{},
			fmt.Errorf("%v: the password of %s would be stored with the results; write http://NAME@HOST?password=env:VARIABLE",
				w.Pos, w)
	}
	h := store.Header{Study: text, Program: x.bed.Version, Trials: lab.Records(p), Incomplete: p.Study.Design.Incomplete}
	for _, o := range p.Study.Overrides {
		h.Overrides = append(h.Overrides, o.String())
	}
	var csv bytes.Buffer
	if err := p.WriteCSV(&csv); err != nil {
		return h, err
	}
	h.Plan = csv.Bytes()
	var err error
	h.Facts, err = json.MarshalIndent(facts, "", "  ")
	return h, err
}
