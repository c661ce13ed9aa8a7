package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge/internal/stack"
	"edgegauge/stacks/reference"
)

func stacksCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "stacks",
		Short:   "list, build and check the stacks that can be measured",
		Example: "  edgegauge stacks list\n  edgegauge stacks build axis2\n  edgegauge stacks check axis2",
	}
	c.AddCommand(stacksListCmd(a), stacksBuildCmd(a), stacksCheckCmd(a))
	return c
}

// stackMain runs a stack inside this binary: NAME serve|call.
func stackMain(args []string) int {
	return reference.Main(args, os.Stdin, os.Stdout, os.Stderr)
}

func stacksListCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "list the stacks: what they are, what they serve, and what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct {
				Name, Title, Version, Language, State string
				Serves                                []stack.Offer
			}
			var rows []row
			all, broken := a.load()
			for _, n := range a.stackNames() {
				d := all[n]
				state := "ready"
				if f := facts(cmd.Context(), d); f.Missing != "" {
					state = f.Missing
				}
				rows = append(rows, row{d.Name, d.Title, d.Version, d.Language, state, d.Serves})
			}
			out := cmd.OutOrStdout()
			if asJSON {
				enc := json.NewEncoder(out)
				enc.SetIndent("", "  ")
				return errors.Join(enc.Encode(rows), broken)
			}
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "STACK\tWHAT\tENCODINGS\tSTATE")
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, r.Title, encodings(r.Serves), r.State)
			}
			return errors.Join(w.Flush(), broken)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func encodings(offers []stack.Offer) string {
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
	var everything bool
	c := &cobra.Command{
		Use:     "build [NAME...]",
		Short:   "build stacks, unless they are built; says what was built and how long it took",
		Example: "  edgegauge stacks build axis2 jersey\n  edgegauge stacks build --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, broken := a.load()
			if everything {
				if broken != nil {
					return exit{exitUsage, broken}
				}
				args = a.stackNames()
			}
			if len(args) == 0 {
				return exit{exitUsage, errors.New("name a stack, or say --all; edgegauge stacks list shows them")}
			}
			for _, n := range args {
				if _, ok := all[n]; !ok {
					return exit{exitUsage, fmt.Errorf("no stack %q; edgegauge stacks list shows them", n)}
				}
			}
			if err := a.build(cmd.Context(), cmd.OutOrStdout(), args, everything); err != nil {
				return exit{exitUnmeasured, err}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&everything, "all", false, "every stack whose needs are met")
	return c
}

// build makes the stacks that are not made and tells of each; with lenient, one
// whose needs are not met is left out.
func (a *app) build(ctx context.Context, w io.Writer, names []string, lenient bool) error {
	all, _ := a.load()
	var errs []error
	var built, whole, left int
	start := time.Now()
	for _, n := range names {
		d := all[n]
		if len(d.Build.Command) == 0 {
			continue
		}
		began := time.Now()
		did, err := d.Make(ctx, io.Discard)
		switch {
		case err != nil && lenient && len(d.Missing(ctx)) > 0:
			left++
			missing := d.Missing(ctx)[0]
			fmt.Fprintf(w, "%s: %s: %s\n", n, leftOut(missing), missing)
		case err != nil:
			errs = append(errs, err)
		case did:
			built++
			fmt.Fprintf(w, "%s: built in %.1f s\n", n, time.Since(began).Seconds())
		default:
			whole++
			fmt.Fprintf(w, "%s: up to date\n", n)
		}
	}
	if lenient {
		fmt.Fprintf(w, "%d built in %.1f s, %d up to date, %d left out, %d failed\n", built, time.Since(start).Seconds(), whole, left, len(errs))
	}
	return errors.Join(errs...)
}

func stacksCheckCmd(a *app) *cobra.Command {
	var everything bool
	c := &cobra.Command{
		Use:     "check [NAME...]",
		Short:   "run the conformance kit on stacks: the same that the project's gate runs",
		Example: "  edgegauge stacks check rest-json axis2\n  edgegauge stacks check --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if everything {
				var left []string
				args, left = a.whole(cmd.Context())
				for _, l := range left {
					fmt.Fprintln(cmd.OutOrStdout(), l)
				}
			}
			if len(args) == 0 {
				return exit{exitUsage, errors.New("name a stack, or say --all; edgegauge stacks list shows them")}
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			scratch, err := newScratch(os.Stderr)
			if err != nil {
				return err
			}
			defer scratch.Close()
			kit, err := newKit(exe, scratch.Dir)
			if err != nil {
				return err
			}
			failed := 0
			for _, n := range args {
				d, ok := a.find(n)
				if !ok {
					return exit{exitUsage, fmt.Errorf("no stack %q; edgegauge stacks list shows them", n)}
				}
				if _, err := d.Make(cmd.Context(), io.Discard); err != nil {
					return exit{exitUnmeasured, err}
				}
				stack.Conform(cmd.Context(), d, kit, func(check string, err error) {
					if err != nil {
						failed++
						fmt.Fprintf(cmd.OutOrStdout(), "FAIL %s %s: %v\n", n, check, err)
						return
					}
					fmt.Fprintf(cmd.OutOrStdout(), "ok   %s %s\n", n, check)
				})
			}
			if failed > 0 {
				return exit{exitWorse, fmt.Errorf("%d checks failed", failed)}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&everything, "all", false, "every stack whose needs are met")
	return c
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
func (a *app) whole(ctx context.Context) (names, left []string) {
	all, _ := a.load()
	for _, n := range a.stackNames() {
		if missing := all[n].Missing(ctx); len(missing) > 0 {
			left = append(left, fmt.Sprintf("%s: %s: %s", leftOut(missing[0]), n, missing[0]))
			continue
		}
		names = append(names, n)
	}
	return names, left
}
