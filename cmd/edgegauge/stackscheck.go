package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
	"edgegauge.example/edgegauge/internal/testbed"
)

func stacksCheckCmd(a *app) *cobra.Command {
	var everything, trust, explain, asJSON bool
	var only string
	c := &cobra.Command{
		Use:   "check [NAME...]",
		Short: "run the conformance tests on stacks, as the project's own test suite does",
		Long: "Runs the conformance tests on stacks, as the project's own test suite does.\n\n" +
			"Each line is a check: ok or FAIL, the stack, the combination of encoding, security, transport and\n" +
			"service, and what is checked. --explain says what each check looks at, and why.",
		Example: "  edgegauge stacks check rest-json axis2\n  edgegauge stacks check --all\n" +
			"  edgegauge stacks check --explain",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := allAndNames(everything, args); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				out = io.Discard
			}
			if explain && len(args) == 0 && !everything {
				if asJSON {
					return explainJSON(cmd.OutOrStdout())
				}
				for _, k := range conform.Checks() {
					fmt.Fprintf(out, "%s\n%s\n", k.Name, indented(k.Explanation))
				}
				return nil
			}
			bed, err := a.bed()
			if err != nil {
				return err
			}
			if everything {
				args = bed.StackNames()
			}
			if len(args) == 0 {
				return exit{exitUsage, errors.New("name a stack, or use --all; to list them: edgegauge stacks list")}
			}
			if err := a.mayRun(cmd.Context(), bed, args, trust); err != nil {
				return err
			}
			if everything { // Subtle: to find out what is missing runs programs that stacks name
				var left []string
				args, left = whole(cmd.Context(), bed)
				for _, l := range left {
					fmt.Fprintln(out, l)
				}
				if err := cmd.Context().Err(); err != nil {
					return err
				}
			}
			exe, err := os.Executable()
			if err != nil {
				return err
			}
			scratch, err := newScratch(a.notes())
			if err != nil {
				return err
			}
			defer scratch.Close()
			stacks, err := describedAll(bed, verbOf(cmd), args)
			if err != nil {
				return err
			}
			spares := new(device.Spares)
			defer spares.Close()
			kit, err := newKit(exe, scratch.Dir, spares, stacks...)
			if err != nil {
				return err
			}
			kit.Only = only
			if explain && only != "" {
				for _, k := range conform.Checks() {
					if strings.Contains(k.Name, only) {
						fmt.Fprintf(out, "%s\n%s\n", k.Name, indented(k.Explanation))
					}
				}
			}
			failed, all := 0, []checkedStack{}
			var unbuilt []error
			for _, d := range stacks {
				_, err := d.Make(cmd.Context(), io.Discard)
				notChecked := "it is not built"
				if missing := d.Missing(cmd.Context()); err == nil && len(missing) > 0 {
					notChecked, err = "what it needs is missing", fmt.Errorf("stack %s: %s", d.Name, missing[0])
				}
				if err != nil {
					if cmd.Context().Err() != nil {
						return exit{exitUnmeasured, err}
					}
					fmt.Fprintf(out, "%s: not checked, since %s\n", d.Name, notChecked)
					unbuilt = append(unbuilt, err)
					all = append(all, checkedStack{Name: d.Name, Checks: []stackCheck{}, NotChecked: d.Deviates,
						Unbuilt: err.Error()})
					continue
				}
				x, err := checked(cmd.Context(), out, d, kit, explain)
				if err != nil {
					return err
				}
				failed += x.Failed
				all = append(all, x)
			}
			if asJSON {
				err := writeJSON(cmd.OutOrStdout(), struct {
					Format int            `json:"format"`
					Stacks []checkedStack `json:"stacks"`
				}{jsonFormat, all})
				if err != nil {
					return err
				}
			}
			unmade := errors.Join(unbuilt...)
			if failed > 0 {
				return exit{exitWorse, errors.Join(unmade, fmt.Errorf("%s failed", plural.Count(failed, "check")))}
			}
			if unmade != nil {
				return exit{exitUnmeasured, unmade}
			}
			if !slices.ContainsFunc(all, func(x checkedStack) bool { return len(x.Checks) > 0 }) {
				return exit{exitUsage, fmt.Errorf("no check contains %q; --explain lists them", only)}
			}
			return nil
		},
	}
	trustFlag(c, &trust)
	c.Flags().BoolVar(&everything, "all", false, "every stack whose prerequisites are installed")
	c.Flags().BoolVar(&explain, "explain", false,
		"explain each failed check, with --only those that it names; without a stack, all")
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&only, "only", "", "run only checks whose names contain this text")
	return c
}

// explainJSON writes what each check looks at.
func explainJSON(w io.Writer) error {
	type explained struct {
		Name        string `json:"name"`
		Explanation string `json:"explanation"`
	}
	all := []explained{}
	for _, k := range conform.Checks() {
		all = append(all, explained{k.Name, k.Explanation})
	}
	return writeJSON(w, struct {
		Format int         `json:"format"`
		Checks []explained `json:"checks"`
	}{jsonFormat, all})
}

// described finds a stack for a verb, or says what is wrong with its stack.yaml.
func described(bed *testbed.Testbed, verb, name string) (stack.Description, error) {
	d, ok := bed.FindStack(name)
	if ok {
		return d, nil
	}
	if _, broken := bed.Stacks(); broken != nil && strings.Contains(broken.Error(), "/"+name+"/stack.yaml") {
		return d, exit{exitUsage, broken}
	}
	return d, exit{exitUsage, unknownStack(bed, verb, name)}
}

// describedAll finds the stacks that a verb is given, or says of each that is not there what is wrong.
func describedAll(bed *testbed.Testbed, verb string, names []string) ([]stack.Description, error) {
	return eachOf("", names, func(name string) (stack.Description, error) { return described(bed, verb, name) })
}

// A checkedStack is what the kit found of one stack.
type checkedStack struct {
	Name       string            `json:"name"`
	Passed     int               `json:"passed"`
	Failed     int               `json:"failed"`
	Checks     []stackCheck      `json:"checks"`
	NotChecked map[string]string `json:"not_checked"`       // and why
	Unbuilt    string            `json:"unbuilt,omitempty"` // why nothing of it is checked
}

type stackCheck struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Fault  string `json:"fault,omitempty"`
}

// checked runs the kit on one stack, and prints each check and a summary.
func checked(
	ctx context.Context, w io.Writer, d stack.Description, kit conform.Kit, explain bool,
) (checkedStack, error) {
	began := time.Now()
	x := checkedStack{Name: d.Name, Checks: []stackCheck{}, NotChecked: d.Deviates}
	failed, before := map[string]bool{}, ""
	conform.Run(ctx, d, kit, func(check string, err error) {
		if err == nil {
			x.Passed++
			x.Checks = append(x.Checks, stackCheck{check, true, ""})
			fmt.Fprintf(w, "ok   %s %s\n", d.Name, check)
			return
		}
		failed[check] = true
		x.Checks = append(x.Checks, stackCheck{check, false, err.Error()})
		text := err.Error()
		if text == before { // as where a program does not start
			text = "the same"
		}
		before = err.Error()
		fmt.Fprintf(w, "FAIL %s %s: %s\n", d.Name, check, text)
		if explain {
			fmt.Fprintln(w, indented(conform.Explain(check)))
		}
	})
	if err := ctx.Err(); err != nil {
		return x, err
	}
	x.Failed = len(failed)
	if x.Passed+x.Failed == 0 {
		fmt.Fprintf(w, "%s: no check contains %q\n", d.Name, kit.Only)
		return x, nil
	}
	fmt.Fprintf(w, "%s: %s passed, %d failed, in %.0f s\n", d.Name, plural.Count(x.Passed, "check"), x.Failed,
		time.Since(began).Seconds())
	for _, name := range slices.Sorted(maps.Keys(d.Deviates)) {
		fmt.Fprintf(w, "%s: not checked, %s: %s\n", d.Name, name, d.Deviates[name])
	}
	if x.Failed > 0 && !explain {
		fmt.Fprintf(w, "%s: --explain says what a failed check looks at; --only TEXT repeats one\n", d.Name)
	}
	if !slices.ContainsFunc(d.Serves, func(o stack.Offer) bool { return slices.Contains(o.Sides, "client") }) {
		fmt.Fprintf(w, "%s has no client; a study must name one that can call it, such as client: {stack: %s}\n", d.Name,
			clientFor(d))
	}
	return x, nil
}

// clientFor names a stack inside this binary whose client can ask a server of d.
func clientFor(d stack.Description) string {
	for _, o := range d.Serves {
		p, ok := referencePeer(stack.Wish{Service: o.Services[0], Encoding: o.Encodings[0], Security: o.Security[0],
			Transport: o.Transports[0]})
		if ok {
			return p.Name
		}
	}
	return "NAME"
}

// indented breaks a text into lines that stand below a name.
func indented(text string) string { return filled(text, "    ", 94) }

// hanging breaks a text into lines no wider than a screen, all but the first behind two spaces.
func hanging(text string) string { return strings.TrimPrefix(filled(text, "  ", 98), "  ") }

// filled breaks a text into lines of at most width characters, each behind indent.
func filled(text, indent string, width int) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		switch {
		case at == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+len(word) > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
