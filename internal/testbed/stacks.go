package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// Stacks are all there are by name, read once. Broken descriptions are in the
// error; the others work.
func (b *Testbed) Stacks() (map[string]stack.Description, error) {
	b.once.Do(func() {
		b.stacks = map[string]stack.Description{}
		for _, d := range reference.Stacks() {
			b.stacks[d.Name] = d
		}
		var folders []string
		for _, f := range b.Options.Stacks {
			folders = append(folders, f.Path)
		}
		found, err := stack.Load(folders...)
		errs := []error{err}
		b.reserved = map[string]error{}
		for _, d := range found {
			if _, taken := b.stacks[reference.Prefix+d.Name]; taken {
				err := fmt.Errorf("%s has the name of a stack inside edgegauge; rename the folder", d.Dir)
				b.reserved[reference.Prefix+d.Name], errs = err, append(errs, err)
				continue
			}
			b.stacks[d.Name] = d
		}
		for _, v := range b.Options.Versions {
			b.stacks[v.Name] = v.Description
		}
		b.broken = errors.Join(errs...)
	})
	return b.stacks, b.broken
}

// StackNames are the full names of all stacks, sorted.
func (b *Testbed) StackNames() []string {
	all, _ := b.Stacks()
	return slices.Sorted(maps.Keys(all))
}

// FindStack finds a stack by its full name, or by a reference stack's short one.
func (b *Testbed) FindStack(name string) (stack.Description, bool) {
	all, _ := b.Stacks()
	if d, ok := all[name]; ok {
		return d, true
	}
	d, ok := all[reference.Prefix+name]
	return d, ok
}

// brokenStack says what is wrong with the stack.yaml of a name that was not loaded; empty: there is none.
func (b *Testbed) brokenStack(name string) string {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "" // it would lead out of the folder
	}
	for _, f := range b.Options.Stacks {
		if _, err := stack.Read(filepath.Join(f.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return strings.ReplaceAll(err.Error(), "\n", "; ")
		}
	}
	return ""
}

// StackState says why a stack cannot run here and what mends that; empty: it can.
func (b *Testbed) StackState(ctx context.Context, d stack.Description) string {
	if err := b.reserved[d.Name]; err != nil {
		return err.Error()
	}
	if missing := b.missing(ctx, d); len(missing) > 0 {
		return missing[0].String()
	}
	if !d.Built() {
		why := "it is not built"
		if d.Stale() {
			why = "its inputs or products have changed since it was built"
		}
		return why + "; run: edgegauge stacks build " + printable.Quoted(d.Name) + b.givenFor(d)
	}
	if p := d.NotFound(); p != "" {
		return p + " is missing; install it, or correct serve and call in " + filepath.Join(d.Dir, "stack.yaml")
	}
	return ""
}

// givenFor are the words by which another command finds a stack that this one was given; empty: it finds it without.
func (b *Testbed) givenFor(d stack.Description) string {
	for _, f := range b.Options.Stacks {
		if f.Given && f.holds(d) {
			return " --stacks " + printable.QuotedPath(f.Path)
		}
	}
	return ""
}

// holds says whether a stack lies in the folder.
func (f Folder) holds(d stack.Description) bool {
	dir, err := filepath.Abs(f.Path)
	return err == nil && dir == filepath.Dir(d.Dir)
}

// stackFacts is what a study must know of a stack.
func (b *Testbed) stackFacts(ctx context.Context, d stack.Description) study.StackFacts {
	f := study.StackFacts{Name: d.Name, Options: append(lab.MessageOptions(), d.Options...), Missing: b.StackState(ctx, d),
		Populations: reference.Populates(d.Name), Streams: reference.KeepsConnections(d.Name),
		Java: d.Serve.Runs("java") || d.Call.Runs("java")}
	for _, o := range d.Serves {
		f.Serves = append(f.Serves, study.Cell{
			Services: o.Services, Encodings: o.Encodings, Securities: o.Security, Transports: o.Transports,
			Connections: o.Connections, Concurrency: o.Concurrency,
			Options: o.Options, Client: slices.Contains(o.Sides, string(measure.Client)),
			Server: slices.Contains(o.Sides, string(measure.Server)),
		})
	}
	return f
}

// needed are the stacks that a plan uses, by the name the plan has for them.
func (b *Testbed) needed(p study.Plan) map[string]stack.Description {
	out := map[string]stack.Description{}
	for _, t := range p.Trials {
		for _, name := range []string{t.Setup.Client.Stack, t.Setup.Server.Stack} {
			if name == study.Requester {
				out[name] = reference.Requester()
			} else if d, ok := b.FindStack(name); ok {
				out[name] = d
			}
		}
	}
	return out
}
