package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge/internal/lab"
	"edgegauge/internal/link"
	"edgegauge/internal/study"
	"edgegauge/links"
)

// profiles are the link profiles of the program and of the user's folders, the
// later hiding the earlier: ./links, then those of EDGEGAUGE_LINKS.
func profiles() (map[string]link.Profile, error) {
	folders := []fs.FS{links.Files, os.DirFS("links")}
	for _, dir := range filepath.SplitList(os.Getenv("EDGEGAUGE_LINKS")) {
		folders = append(folders, os.DirFS(dir))
	}
	return link.Load(folders...)
}

func linksCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "links [NAME]",
		Short: "list the link profiles, or the figures of one with their sources",
		Long: `Links lists the link profiles a study may name, or says where each figure of one is from.
A profile of your own is a file NAME.yaml in ./links or in a folder of EDGEGAUGE_LINKS; doc/links.md says what stands in it.`,
		Example: "  edgegauge links\n  edgegauge links nb-iot",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, broken := profiles()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if len(args) == 1 {
				p, ok := all[args[0]]
				if !ok {
					return exit{exitUsage, errors.Join(fmt.Errorf("no link %q; edgegauge links lists them", args[0]), broken)}
				}
				all = map[string]link.Profile{args[0]: p}
			}
			switch {
			case asJSON:
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return errors.Join(enc.Encode(all), broken)
			case len(args) == 1:
				p := all[args[0]]
				fmt.Fprintf(w, "%s: %s\n\nFIGURE\tVALUE\tSOURCE\n", p.Name, p.Title)
				for _, f := range p.Figures {
					fmt.Fprintf(w, "%s\t%s\t%s\n", f.Key, f.Value, f.Source)
				}
			default:
				fmt.Fprintln(w, "LINK\tWHAT\tUP\tDOWN")
				for _, n := range slices.Sorted(maps.Keys(all)) {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n, all[n].Title, all[n].Up, all[n].Down)
				}
			}
			return errors.Join(w.Flush(), broken)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// neededLinks are the links of a plan by the text a study has for them, each
// checked.
func neededLinks(p study.Plan, all map[string]link.Profile) (map[string]link.Link, error) {
	byName := map[string]link.Link{}
	for n, x := range all {
		byName[n] = x.Link
	}
	out := map[string]link.Link{}
	var errs []error
	for _, t := range p.Trials {
		l, ok := lab.LinkOf(t.Setup, byName)
		if _, seen := out[t.Setup.Link.Text]; !ok || seen {
			continue
		}
		errs = append(errs, l.Check())
		out[t.Setup.Link.Text] = l
	}
	return out, errors.Join(errs...)
}
