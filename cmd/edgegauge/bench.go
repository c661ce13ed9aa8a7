package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/bench/capacitybench"
	"edgegauge.example/edgegauge/internal/bench/drivebench"
	"edgegauge.example/edgegauge/internal/bench/fleetbench"
	"edgegauge.example/edgegauge/internal/bench/historybench"
	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/bench/populationbench"
	"edgegauge.example/edgegauge/internal/bench/reportbench"
	"edgegauge.example/edgegauge/internal/bench/verdictbench"
	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/printable"
)

// floorVerb is the hidden verb of the bare server that bench sets beside C's.
const floorVerb = "drive-floor"

func benchChild(main func() error) int {
	if err := main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnmeasured
	}
	return exitDone
}

func floorMain(args []string) int {
	return benchChild(func() error { return drivebench.Floor(args, os.Stdin, os.Stdout) })
}

func storeMain(args []string) int {
	return benchChild(func() error { return labbench.StoreMain(args, os.Stdout) })
}

func benchCmd(a *app) *cobra.Command {
	all := slices.Concat(labbench.Parts(), reportbench.Parts(), verdictbench.Parts(), historybench.Parts(),
		capacitybench.Parts(), populationbench.Parts(), fleetbench.Parts())
	var says strings.Builder
	for _, p := range all {
		fmt.Fprintf(&says, "\n  %-10s %s", p.Name, p.Says)
	}
	asJSON := false
	c := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "measure edgegauge's own performance against its targets",
		Long: `Bench prints a table: figure, target, measured value with its 95 % interval, and whether the target is met.
"unsure" means that the interval includes the bound. It takes some minutes and needs a quiet machine. It measures all
figures, or those named:
` + says.String(),
		Example: "  edgegauge bench\n  edgegauge bench drive store",
		RunE: func(cmd *cobra.Command, args []string) error {
			parts, err := labbench.Find(all, args)
			if err != nil {
				return exit{exitUsage, err}
			}
			return a.bench(cmd.Context(), cmd.OutOrStdout(), parts, asJSON)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) bench(ctx context.Context, w io.Writer, parts []labbench.Part, asJSON bool) error {
	exe, err := os.Executable()
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	scratch, err := newScratch(a.notes())
	if err != nil {
		return err
	}
	defer scratch.Close()
	bed, err := a.bed()
	if err != nil {
		return err
	}
	b := &labbench.Bench{Exe: exe, Stacks: a.stackFolders, Dir: scratch.Dir, Notes: a.notes(), Find: bed.FindStack,
		Command: inProcess}
	kept := labbench.Kept{Format: jsonFormat, Began: time.Now().UTC().Truncate(time.Second), Version: version()}
	if kept.Machine, err = (device.Local{}).Facts(ctx); err != nil {
		return exit{exitUnmeasured, err}
	}
	var broken error
	for _, p := range parts {
		rows, err := p.Measure(ctx, b)
		facts, _ := device.Local{}.Facts(ctx)
		kept.Parts = append(kept.Parts, labbench.KeptPart{Name: p.Name, Says: p.Says, Load: facts.Load, Rows: rows})
		if !asJSON {
			printRows(w, p, rows)
		}
		if ctx.Err() != nil {
			return exit{exitUnmeasured, errors.New("stopped")}
		}
		if err != nil {
			broken = errors.Join(broken, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	if asJSON {
		broken = errors.Join(broken, writeJSON(w, kept))
	}
	if broken != nil {
		return exit{exitUnmeasured, broken}
	}
	return nil
}

// inProcess runs a command as its process would, and returns what it printed and its
// exit code; an error if that is neither "done" nor "worse".
func inProcess(ctx context.Context, args ...string) (string, int, error) {
	var out, notes bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(printable.NewWriter(&out))
	root.SetErr(printable.NewWriter(&notes))
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if code > exitWorse {
		return "", code, fmt.Errorf("edgegauge %s: %w: %s", strings.Join(args, " "), err, notes.String())
	}
	return out.String(), code, nil
}

func printRows(w io.Writer, p labbench.Part, rows []labbench.Row) {
	fmt.Fprintf(w, "%s: %s (%s)\n", p.Name, p.Says, labbench.Load())
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, r := range rows {
		if r.How != "" && i > 0 {
			tw.Flush()
		}
		if r.How != "" {
			fmt.Fprint(w, folded(r.How, "  | ", 98))
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", r.Figure, r.Wanted, r.Measured, r.Verdict)
	}
	tw.Flush()
	fmt.Fprintln(w)
}

// folded breaks text into lines of at most width bytes, each after indent.
func folded(text, indent string, width int) string {
	var out strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) >= width && line != indent {
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += word + " "
	}
	return out.String() + strings.TrimRight(line, " ") + "\n"
}
