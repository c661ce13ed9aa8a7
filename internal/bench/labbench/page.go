package labbench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Latest keeps of each part that is named, or of which a piece is, the last run that measured it.
func Latest(runs []Kept, parts ...string) []Kept {
	var out []Kept
	seen := map[string]bool{}
	for _, k := range slices.Backward(runs) {
		measured := k.Parts
		k.Parts = nil
		for _, p := range measured {
			part, _, _ := strings.Cut(p.Name, "/")
			if slices.Contains(parts, part) && !seen[p.Name] {
				seen[p.Name] = true
				k.Parts = append(k.Parts, p)
			}
		}
		if len(k.Parts) > 0 {
			out = append(out, k)
		}
	}
	return out
}

// WritePage writes kept runs as the tables of a page: Markdown. What was measured is only in
// the runs, so that a page can be made anew from them.
func WritePage(w io.Writer, runs []Kept) {
	for _, k := range runs {
		m := k.Machine
		fmt.Fprintf(w, "Measured on %s, %s: %s, %d CPUs, %s, %.1f GB.\n", k.Began.Format("2 January 2006, 15:04"),
			"by version "+k.Version, m.Model, m.CPUs, m.Kernel, float64(m.MemoryB)/1e9)
		for _, p := range k.Parts {
			fmt.Fprintf(w, "\n### %s\n\n`edgegauge bench %s`; load of the machine when it had ended: %.2f.\n", title(p.Says),
				p.Name, p.Load)
			how := ""
			for i, r := range p.Rows {
				if i == 0 || r.How != "" && r.How != how {
					if how = r.How; how != "" {
						fmt.Fprintf(w, "\n%s.\n", title(strings.TrimSuffix(how, ".")))
					}
					fmt.Fprint(w, "\n| figure | goal | measured | |\n|---|---|---|---|\n")
				}
				fmt.Fprintf(w, "| %s | %s | %s | %s |\n", cell(r.Figure), cell(r.Wanted), cell(r.Measured), cell(r.Verdict))
			}
		}
		fmt.Fprintln(w)
	}
}

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
