package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/testbed"
)

func stacksCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "stacks",
		Short:   "list, create, build and check the stacks that can be measured",
		Example: "  edgegauge stacks list\n  edgegauge stacks new mine --lang python\n  edgegauge stacks check axis2",
	}
	c.AddCommand(stacksListCmd(a), stacksNewCmd(a), stacksBuildCmd(a), stacksCheckCmd(a))
	return c
}

func stacksListCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "list the stacks: description, encodings, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []stackRow
			bed, err := a.bed()
			if err != nil {
				return err
			}
			all, broken := bed.Stacks()
			for _, n := range bed.StackNames() {
				d := all[n]
				state := bed.StackState(cmd.Context(), d)
				if state == "" {
					state = stackReady
				}
				x := stackRow{d.Name, d.Title, d.Version, d.Language, state, nil}
				for _, o := range d.Serves {
					x.Serves = append(x.Serves, offerJSON(o))
				}
				rows = append(rows, x)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return errors.Join(writeJSON(out, struct {
					Format int        `json:"format"`
					Stacks []stackRow `json:"stacks"`
				}{jsonFormat, rows}), broken)
			}
			return errors.Join(listStacks(out, rows), broken)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// listStacks prints rows no wider than a screen: the name, whether it is ready, what it is, below that its
// encodings, and why it is not ready.
func listStacks(to io.Writer, rows []stackRow) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STACK\tSTATE\tDESCRIPTION, ENCODINGS")
	for _, r := range rows {
		state, why := r.State, ""
		if state != stackReady {
			state, why = "not ready", r.State
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, state, r.Title)
		for _, more := range []string{encodings(r.Serves), why} {
			for line := range strings.Lines(filled(more, "  ", listWidth)) {
				fmt.Fprintf(w, "\t\t%s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	return w.Flush()
}

const (
	stackReady = "ready"
	listWidth  = 62 // of the last column, for lines of 100
)

// A stackRow is one stack of the list.
type stackRow struct {
	Name     string      `json:"name"`
	Title    string      `json:"title"`
	Version  string      `json:"version"`
	Language string      `json:"language"`
	State    string      `json:"state"` // ready, or what is missing
	Serves   []offerJSON `json:"serves"`
}

// An offerJSON is a stack.Offer: every combination of its lists.
type offerJSON struct {
	Services    []string          `json:"services"`
	Encodings   []string          `json:"encodings"`
	Security    []string          `json:"security"`
	Transports  []string          `json:"transports"`
	Sides       []string          `json:"sides"`
	Connections []string          `json:"connections"`
	Concurrency int               `json:"concurrency,omitempty"` // the most requests in flight
	Options     map[string]string `json:"options,omitempty"`     // that a study must give
}

func unknownStack(bed *testbed.Testbed, verb, name string) error {
	if folder, err := filepath.Abs(name); err == nil && isStackFolder(folder) { // as one who stands in it writes
		return fmt.Errorf("%s is the folder of a stack, not its name; write: edgegauge %s %s --stacks %s", name, verb,
			report.Quoted(filepath.Base(folder)), report.QuotedPath(filepath.Dir(folder)))
	}
	return fmt.Errorf("unknown stack %q; %s", name, meant.Advice(name, bed.StackNames(),
		"to list them: edgegauge stacks list; those of a folder of yours: --stacks FOLDER; foreign stacks are in the "+
			"source and in a release's archive (doc/install.md)"))
}

func isStackFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "stack.yaml"))
	return err == nil
}

func encodings(offers []offerJSON) string {
	var all []string
	seen := map[string]bool{}
	for _, o := range offers {
		for _, e := range o.Encodings {
			if !seen[e] {
				seen[e] = true
				all = append(all, e)
			}
		}
	}
	return strings.Join(all, " ")
}

func stacksBuildCmd(a *app) *cobra.Command {
	var everything, trust, asJSON bool
	c := &cobra.Command{
		Use:     "build [NAME...]",
		Short:   "build stacks that are not up to date",
		Example: "  edgegauge stacks build axis2 jersey\n  edgegauge stacks build --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := allAndNames(everything, args); err != nil {
				return err
			}
			bed, err := a.bed()
			if err != nil {
				return err
			}
			all, broken := bed.Stacks()
			if everything {
				if broken != nil {
					return exit{exitUsage, broken}
				}
				args = bed.StackNames()
			}
			if len(args) == 0 {
				return exit{exitUsage, errors.New("name a stack, or use --all; to list them: edgegauge stacks list")}
			}
			named, err := describedAll(bed, verbOf(cmd), args)
			if err != nil {
				return err
			}
			for i, d := range named {
				args[i] = d.Name
			}
			if err := a.mayRun(cmd.Context(), bed, args, trust); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			tell := out
			if asJSON {
				tell = io.Discard
			}
			rows, err := build(cmd.Context(), tell, all, args, everything)
			if asJSON {
				err = errors.Join(err, writeJSON(out, struct {
					Format int        `json:"format"`
					Stacks []buildRow `json:"stacks"`
				}{jsonFormat, rows}))
			}
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			return nil
		},
	}
	trustFlag(c, &trust)
	c.Flags().BoolVar(&everything, "all", false, "every stack whose prerequisites are installed")
	jsonFlag(c, &asJSON)
	return c
}

// allAndNames refuses names beside --all, which would be passed over.
func allAndNames(everything bool, names []string) error {
	if everything && len(names) > 0 {
		return exit{exitUsage, fmt.Errorf("--all means every stack, and %s names some; leave one of them out",
			strings.Join(names, " "))}
	}
	return nil
}

// A buildRow says what came of building a stack.
type buildRow struct {
	Name  string  `json:"name"`
	State string  `json:"state"` // built, up to date, nothing to build, left out, not brought, failed, stopped, not tried
	Took  float64 `json:"took_s"`
	Why   string  `json:"why,omitempty"`
}

// build makes the stacks that are not made and tells of each; with lenient, one
// whose needs are not met is left out.
func build(ctx context.Context, w io.Writer, all map[string]stack.Description, names []string,
	lenient bool) ([]buildRow, error) {
	var errs []error
	var untried []string
	var built, whole, left int
	rows := []buildRow{}
	start := time.Now()
	for _, n := range names {
		d := all[n]
		if len(d.Build.Command) == 0 {
			rows = append(rows, buildRow{Name: n, State: "nothing to build"})
			if !lenient {
				fmt.Fprintf(w, "%s: nothing to build\n", n)
			}
			continue
		}
		if ctx.Err() != nil {
			untried = append(untried, n)
			rows = append(rows, buildRow{Name: n, State: "not tried"})
			continue
		}
		began := time.Now()
		did, err := d.Make(ctx, io.Discard)
		switch {
		case err != nil && ctx.Err() != nil: // nothing is known of it, not even whether something is missing
			rows = append(rows, buildRow{Name: n, State: "stopped", Took: time.Since(began).Seconds()})
			errs = append(errs, fmt.Errorf("stopped while %s was built", n))
		case err != nil && lenient && len(d.Missing(ctx)) > 0:
			left++
			missing := d.Missing(ctx)[0]
			rows = append(rows, buildRow{Name: n, State: leftOut(missing), Why: missing.String()})
			fmt.Fprintf(w, "%s: %s: %s\n", n, leftOut(missing), missing)
		case err != nil:
			rows = append(rows, buildRow{Name: n, State: "failed", Took: time.Since(began).Seconds(), Why: err.Error()})
			errs = append(errs, err)
		case did:
			built++
			rows = append(rows, buildRow{Name: n, State: "built", Took: time.Since(began).Seconds()})
			fmt.Fprintf(w, "%s: built in %.1f s\n", n, time.Since(began).Seconds())
		default:
			whole++
			rows = append(rows, buildRow{Name: n, State: upToDate})
			fmt.Fprintf(w, "%s: up to date\n", n)
		}
	}
	if ctx.Err() != nil {
		if len(untried) > 0 {
			errs = append(errs, fmt.Errorf("stopped; not tried: %s", strings.Join(untried, ", ")))
		}
		return rows, errors.Join(errs...)
	}
	if lenient {
		fmt.Fprintf(w, "%d built in %.1f s, %d up to date, %d skipped, %d failed\n", built, time.Since(start).Seconds(),
			whole, left, len(errs))
	}
	return rows, errors.Join(errs...)
}

// leftOut says why a stack is passed over: the project's gate takes no stack that
// is left out, and cannot have what its user must bring.
func leftOut(missing stack.Need) string {
	if missing.Brought {
		return "not brought"
	}
	return "left out"
}

// whole are the stacks that can be checked here, and the others with what they miss.
func whole(ctx context.Context, bed *testbed.Testbed) (names, left []string) {
	all, _ := bed.Stacks()
	for _, n := range bed.StackNames() {
		missing := all[n].Missing(ctx)
		if ctx.Err() != nil { // what was found missing may be there
			return names, left
		}
		if len(missing) > 0 {
			left = append(left, fmt.Sprintf("%s: %s: %s", leftOut(missing[0]), n, missing[0]))
			continue
		}
		names = append(names, n)
	}
	return names, left
}
