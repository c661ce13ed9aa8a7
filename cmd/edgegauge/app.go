package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"edgegauge/internal/advise/paper"
	"edgegauge/internal/lab"
	"edgegauge/internal/measure"
	"edgegauge/internal/service"
	"edgegauge/internal/stack"
	"edgegauge/internal/study"
	"edgegauge/stacks/reference"
)

// app is what the verbs share: where the stacks are, and what a study may name.
type app struct {
	stackFolders []string

	once   sync.Once
	stacks map[string]stack.Description
	err    error
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v
}

// folders lists where stacks are looked for, the later ones hiding the earlier.
func (a *app) folders() []string {
	var dirs []string
	if exe, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Join(filepath.Dir(exe), "stacks"), filepath.Join(filepath.Dir(exe), "..", "stacks"))
	}
	dirs = append(dirs, "stacks")
	if env := os.Getenv("EDGEGAUGE_STACKS"); env != "" {
		dirs = append(dirs, filepath.SplitList(env)...)
	}
	return append(dirs, a.stackFolders...)
}

// load reads all stacks once. Broken descriptions are reported by who asks for
// them; the others work.
func (a *app) load() (map[string]stack.Description, error) {
	a.once.Do(func() {
		a.stacks = map[string]stack.Description{}
		for _, d := range reference.Stacks() {
			a.stacks[d.Name] = d
		}
		found, err := stack.Load(a.folders()...)
		a.err = err
		for _, d := range found {
			a.stacks[d.Name] = d
		}
	})
	return a.stacks, a.err
}

func (a *app) stackNames() []string {
	all, _ := a.load()
	var names []string
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// find finds a stack by its full name, or by a reference stack's short one.
func (a *app) find(name string) (stack.Description, bool) {
	all, _ := a.load()
	if d, ok := all[name]; ok {
		return d, true
	}
	d, ok := all[reference.Prefix+name]
	return d, ok
}

// vocabulary is what a study may name on this machine.
func (a *app) vocabulary(ctx context.Context) study.Vocabulary {
	known, _ := profiles()
	v := study.Vocabulary{
		Services: map[string]study.ServiceFacts{}, Links: slices.Sorted(maps.Keys(known)), Devices: deviceNames(), Emulated: emulated(), Board: boardName,
		Published: paper.Tables(), StackNames: a.stackNames(),
		Stacks: func(name string) (study.StackFacts, bool) {
			d, ok := a.find(name)
			if !ok {
				return study.StackFacts{}, false
			}
			return facts(ctx, d), true
		},
	}
	for _, n := range service.Names() {
		v.Services[string(n)] = study.ServiceFacts{Sized: n != service.Temperature && n != service.Monitor}
	}
	for _, r := range measure.Responses() {
		v.Responses = append(v.Responses, r.Name)
	}
	return v
}

func facts(ctx context.Context, d stack.Description) study.StackFacts {
	f := study.StackFacts{Name: d.Name, Options: append(lab.MessageOptions(), d.Options...)}
	if missing := d.Missing(ctx); len(missing) > 0 {
		f.Missing = missing[0].String()
	} else if !d.Built() {
		f.Missing = "it is not built; run: edgegauge stacks build " + d.Name
	}
	for _, o := range d.Serves {
		f.Serves = append(f.Serves, study.Cell{
			Services: o.Services, Encodings: o.Encodings, Securities: o.Security, Transports: o.Transports,
			Options: o.Options, Client: slices.Contains(o.Sides, string(measure.Client)), Server: slices.Contains(o.Sides, string(measure.Server)),
		})
	}
	return f
}

// read reads and checks a study file.
func (a *app) read(ctx context.Context, file string, sets []string) (study.Study, []byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return study.Study{}, nil, exit{exitUsage, err}
	}
	s, err := study.Parse(file, data, a.vocabulary(ctx), sets...)
	if err != nil {
		return s, data, exit{exitUsage, err}
	}
	return s, data, nil
}

// needed are the stacks that a plan uses, by the name the plan has for them.
func (a *app) needed(p study.Plan) (map[string]stack.Description, error) {
	out := map[string]stack.Description{}
	for _, t := range p.Trials {
		for _, name := range []string{t.Setup.Client.Stack, t.Setup.Server.Stack} {
			d, ok := a.find(name)
			if !ok {
				return nil, fmt.Errorf("no stack %q", name)
			}
			out[name] = d
		}
	}
	return out, nil
}
