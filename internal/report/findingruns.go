package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Machines are what the parts ran on, each once.
func (q openQuestion) Machines() []string {
	var out []string
	for _, r := range q.Parts {
		if on := "On: " + markdownText(r.ownSetup()) + "."; !slices.Contains(out, on) {
			out = append(out, on)
		}
		for _, name := range sortedKeys(r.Facts.Devices) {
			d := r.Facts.Devices[name]
			if on := machine(name, d.CPUs, d.OS, d.Kernel) + "."; !slices.Contains(out, on) {
				out = append(out, on)
			}
		}
	}
	return out
}

// Runs is the table of the parts: what was run, when, and how busy the machine was.
func (q openQuestion) Runs() string {
	var b strings.Builder
	b.WriteString("| results | treatments | valid trials | replications | requests of a treatment | invalid attempts | " +
		"load | begun (UTC) | longest wait for a CPU in a second |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range q.Parts {
		valid, wanted, refused, least, most, load := 0, 0, 0, math.MaxInt, 0.0, 0.0
		for _, t := range r.Treatments {
			valid, wanted, least = valid+t.Valid, wanted+t.Wanted, min(least, t.Valid)
		}
		for _, t := range r.Trials {
			refused += t.Refused
		}
		for _, c := range r.Cells {
			most = max(most, c.Waiting)
		}
		for _, d := range r.Facts.Devices {
			load = max(load, d.Load)
		}
		fmt.Fprintf(&b, "| %s | %d | %d of %d | %d | %s | %d | %.1f | %s | %s |\n",
			strings.ReplaceAll(codeSpan(q.kept(r)), "|", `\|`), len(r.Treatments), valid, wanted,
			least, r.requestsText(), refused, load, r.Started.Format("2006-01-02 15:04"), Format(most, "s"))
	}
	return b.String()
}

// requestsText is how many requests a treatment had in all its trials, at least; a range where they differ, a dash
// where that is not known.
func (r *Report) requestsText() string {
	var all []int
	for _, t := range r.Treatments {
		if t.setup != nil && t.setup.Requests > 0 {
			all = append(all, t.setup.Requests*t.Valid)
		}
	}
	switch {
	case len(all) == 0:
		return "–"
	case slices.Min(all) == slices.Max(all):
		return fmt.Sprint(all[0])
	}
	return fmt.Sprintf("%d to %d", slices.Min(all), slices.Max(all))
}

// Starved are the parts whose programs waited for a CPU, a line each.
func (q openQuestion) Starved() []string {
	var out []string
	for _, r := range q.Parts {
		for _, text := range r.starvedWords() {
			out = append(out, codeSpan(q.kept(r))+": "+markdownText(text))
		}
	}
	return out
}

// On is what the treatments that have a filter's words were measured on, in a line to stand before their tables.
func (q openQuestion) On(filter string) string {
	var parts []*Report
	for _, p := range q.places(filter) {
		if !slices.Contains(parts, p.part) {
			parts = append(parts, p.part)
		}
	}
	return "On " + ranOn(parts...) + "."
}

// kept is the folder of a part, as the repository has it.
func (q openQuestion) kept(r *Report) string { return finding{Results: r}.Kept() }

// Kept is the folder of the first part.
func (q openQuestion) Kept() string { return q.kept(q.first()) }

// Holds says what the folders of the results have of raw rows.
func (q openQuestion) Holds() string {
	first := finding{Results: q.first()}.Holds()
	for _, r := range q.Parts {
		if (finding{Results: r}).Holds() != first {
			return "some with the rows of every request: study, plan, facts and every trial's figures"
		}
	}
	return first
}

// Changed are the settings that were changed, replications and repetitions among them, and for which parts if not for
// all. A part is what its exclude leaves: the table of parts says it.
func (q openQuestion) Changed() []string {
	var texts []string
	of := map[string][]string{}
	for _, r := range q.Parts {
		last := map[string]string{}
		for _, o := range r.Study.Overrides {
			last[o.Path] = o.String()
		}
		for _, path := range sortedKeys(last) {
			text := codeSpan(last[path])
			if path == "exclude" {
				continue
			}
			if len(of[text]) == 0 {
				texts = append(texts, text)
			}
			of[text] = append(of[text], filepath.Base(q.kept(r)))
		}
	}
	for i, text := range texts {
		if names := of[text]; len(names) < len(q.Parts) {
			texts[i] += " (" + markdownText(strings.Join(names, ", ")) + ")"
		}
	}
	return texts
}

// Unsteady says in how many treatments requests take another time at the end of a trial; empty: in none.
func (q openQuestion) Unsteady() string { return unsteady(q.Parts...) }

// Rows are links to all figures of the parts that have a filter's words, as the repository keeps them.
func (q openQuestion) Rows(filter string) string {
	var links []string
	for _, p := range q.places(filter) {
		link := fmt.Sprintf("[%s](../../%s/summary.csv)", markdownText(filepath.Base(q.kept(p.part))), q.kept(p.part))
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return strings.Join(links, ", ")
}
