package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/named"
)

// A Description is a stack's stack.yaml: what it is, what it needs, how it is
// built and started, and what it can do.
type Description struct {
	Name     string  `yaml:"-"`        // the folder's name, or reference/…
	Dir      string  `yaml:"-"`        // absolute; empty for the stacks inside this binary
	Title    string  `yaml:"title"`    // as printed
	Version  string  `yaml:"version"`  // upstream's
	Language string  `yaml:"language"` // that it is written in
	Needs    []Need  `yaml:"needs"`    // all of them have to be there
	Build    Build   `yaml:"build"`    // no command: nothing is built
	Serve    Program `yaml:"serve"`    // starts the server; no command: it has none
	Call     Program `yaml:"call"`     // starts the client; no command: it has none
	Serves   []Offer `yaml:"serves"`   // at least one
	// Floor marks a bare exchange of bytes, the limit no stack can beat: it reads no
	// message, and its server must know the sizes beforehand. Only the lab has some.
	Floor bool `yaml:"-"`
	// Options are the names it knows of the study's free options.
	Options []string `yaml:"options"`
	// Deviates names checks of the conformance kit that the framework itself cannot
	// pass, with the reason. They are not run, and each check of the stack says so.
	Deviates map[string]string `yaml:"deviates"`
}

// CountsBytes is the part of the kit's exchanges that a stack deviates from whose
// framework shows no bodies: its records say 0 B of each.
const CountsBytes = "counts the bytes of its messages"

// A Need is a program that must be there before the stack can be built or run.
type Need struct {
	Program string   `yaml:"program"` // looked for in PATH
	Args    []string `yaml:"args"`    // make it print its version
	Version string   `yaml:"version"` // must occur in what it prints, not within a longer number; empty: any
	File    string   `yaml:"file"`    // or: a file that must be there, by its path from the stack's folder
	Env     string   `yaml:"env"`     // or: a variable naming a folder that must be there
	Install string   `yaml:"install"` // the command that installs it, or what to do
	// Brought says that only the user can bring the file: nothing installs it. It
	// is needed where the stack is built, not where its products run.
	Brought bool   `yaml:"brought"`
	found   string // what was found instead, where something was
}

// RunNeeds are the needs of a machine that runs the stack's products: where they
// run anywhere, what its commands begin with, and what variables name; the rest is
// for building it.
func (d Description) RunNeeds() []Need {
	if d.Build.Native {
		return d.Needs
	}
	var out []Need
	for _, n := range d.Needs {
		if n.Env != "" || n.Program != "" && (d.Serve.Runs(n.Program) || d.Call.Runs(n.Program)) {
			out = append(out, n)
		}
	}
	return out
}

// Build says how a stack is made from its inputs.
type Build struct {
	Command []string `yaml:"command"` // an argv, run in the stack's folder
	Product []string `yaml:"product"` // files, by their paths from the stack's folder
	Inputs  []string `yaml:"inputs"`  // files and folders, besides stack.yaml
	// Native products run only where they were built: on another machine they
	// are built anew.
	Native bool `yaml:"native"`
}

// A Program is an argv. "{heap}" in it is replaced by a size in bytes.
type Program struct {
	Command []string `yaml:"command"` // the argv
	Heap    string   `yaml:"heap"`    // default of {heap}, such as 64MiB
	Env     []string `yaml:"env"`     // NAME=VALUE, added to the environment
}

// Runs says whether the program's file is of that name.
func (p Program) Runs(name string) bool { return len(p.Command) > 0 && p.Command[0] == name }

// An Offer is a set of combinations that a stack can do: every service with
// every encoding, security, transport, side and connection in it.
type Offer struct {
	Services    []string `yaml:"services"`    // names, as in a study
	Encodings   []string `yaml:"encodings"`   // likewise
	Security    []string `yaml:"security"`    // likewise
	Transports  []string `yaml:"transports"`  // likewise
	Sides       []string `yaml:"sides"`       // client, server
	Connections []string `yaml:"connections"` // keep-alive, per-request, pipelined, multiplexed
	// Concurrency is the most requests that its client has in flight; 0: any number.
	Concurrency int `yaml:"concurrency"`
	// Options are what options of the study must be for this offer; one that is
	// not given is empty.
	Options map[string]string `yaml:"options"`
}

// A Wish is one combination; an empty field means whatever comes first.
type Wish struct{ Service, Encoding, Security, Transport, Side, Connection string }

// Resolve completes w with the stack's defaults, or says what it has instead.
func (d Description) Resolve(w Wish) (Wish, error) {
	var near []string
	for _, o := range d.Serves {
		if o.wantsOptions() {
			continue
		}
		got, miss := o.resolve(w)
		if miss == "" {
			return got, nil
		}
		near = append(near, miss)
	}
	if len(near) == 0 {
		return w, fmt.Errorf("stack %s offers nothing", d.Name)
	}
	slices.Sort(near)
	return w, fmt.Errorf("stack %s has no %s", d.Name, strings.Join(slices.Compact(near), "; nor "))
}

// wantsOptions: a Wish has none.
func (o Offer) wantsOptions() bool {
	for _, v := range o.Options {
		if v != "" {
			return true
		}
	}
	return false
}

func (o Offer) resolve(w Wish) (Wish, string) {
	for _, f := range []struct {
		name   string
		wanted *string
		has    []string
	}{
		{"service", &w.Service, o.Services}, {"encoding", &w.Encoding, o.Encodings},
		{"security", &w.Security, o.Security}, {"transport", &w.Transport, o.Transports},
		{"side", &w.Side, o.Sides}, {"connection", &w.Connection, o.Connections},
	} {
		switch {
		case *f.wanted == "" && len(f.has) > 0:
			*f.wanted = f.has[0]
		case *f.wanted == "" || slices.Contains(f.has, *f.wanted):
		default:
			return w, fmt.Sprintf("%s %q; it has %s", f.name, *f.wanted, strings.Join(f.has, ", "))
		}
	}
	return w, ""
}

// Argv is the program's command line with heap in bytes filled in; 0 takes the
// program's own default.
func (p Program) Argv(heap int64) ([]string, error) {
	text := strconv.FormatInt(heap, 10)
	if heap == 0 && p.Heap != "" {
		n, err := parseSize(p.Heap)
		if err != nil {
			return nil, err
		}
		text = strconv.FormatInt(n, 10)
	}
	argv := make([]string, len(p.Command))
	for i, a := range p.Command {
		argv[i] = strings.ReplaceAll(a, "{heap}", text)
	}
	return argv, nil
}

// TakesHeap reports whether a study may give the program a heap.
func (p Program) TakesHeap() bool {
	return slices.ContainsFunc(p.Command, func(a string) bool { return strings.Contains(a, "{heap}") })
}

// parseSize reads 128MB, 1GiB, 4096.
func parseSize(s string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		{"B", 1}, {"", 1}}
	for _, u := range units {
		if num, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
			if err != nil || n <= 0 || n > (1<<62)/u.factor {
				break
			}
			return n * u.factor, nil
		}
	}
	return 0, fmt.Errorf("invalid size %q; write it like 128MB", s)
}

// Load reads the descriptions of all stacks below the folders, a later folder's
// stack hiding an earlier one's of the same name. A broken one is an error of
// its own and does not hide the rest.
func Load(folders ...string) ([]Description, error) {
	byName := map[string]Description{}
	var errs []error
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range entries {
			d, err := Read(filepath.Join(folder, e.Name()))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				errs = append(errs, err)
			default:
				byName[d.Name] = d
			}
		}
	}
	var all []Description
	for _, d := range byName {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
	return all, errors.Join(errs...)
}

// Read reads the stack.yaml in dir.
func Read(dir string) (Description, error) {
	file := filepath.Join(dir, "stack.yaml")
	b, err := kernel.ReadFile(file, 1<<20)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
			return Description{}, fs.ErrNotExist
		}
		return Description{}, err
	}
	return parseDescription(file, b)
}

// parseDescription reads the text of a stack.yaml; nothing of it is run.
func parseDescription(file string, text []byte) (d Description, err error) {
	if err := named.InWords(yaml.Load(text, &d, yaml.WithKnownFields())); err != nil {
		return d, fmt.Errorf("%s: %w", file, err)
	}
	if d.Dir, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return d, err
	}
	d.Name = filepath.Base(d.Dir)
	return d, errors.Join(d.check(file), d.checkOffers(file, text))
}

func (d Description) check(file string) error {
	var errs []error
	miss := func(what string) { errs = append(errs, fmt.Errorf("%s: no %s; see stacks/PROTOCOL.md", file, what)) }
	if d.Title == "" {
		miss("title")
	}
	if len(d.Serves) == 0 {
		miss("serves")
	}
	if len(d.Serve.Command)+len(d.Call.Command) == 0 {
		miss("serve or call command")
	}
	for i, o := range d.Serves {
		for name := range o.Options {
			if !slices.Contains(d.Options, name) {
				miss(fmt.Sprintf("option %q, which serves[%d] needs, in options", name, i))
			}
		}
	}
	for _, n := range d.Needs {
		if n.Install == "" {
			miss("install command for " + n.what())
		}
		if n.Brought && n.File == "" {
			miss("file among those that the user supplies")
		}
	}
	return errors.Join(errs...)
}

func isNotDir(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && pe.Err.Error() == "not a directory"
}
