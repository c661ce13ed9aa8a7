package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"edgegauge.example/edgegauge/internal/report"
)

// manCmd writes the manual pages of all verbs: packages have them.
func manCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "write the manual pages of all verbs into a folder",
		Example: "  edgegauge man /usr/local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch info, err := os.Stat(args[0]); {
			case err != nil:
				return exit{exitUsage, fmt.Errorf("%s: no such folder; create it first: mkdir -p %s", args[0],
					report.Quoted(args[0]))}
			case !info.IsDir():
				return exit{exitUsage, fmt.Errorf("%s is a file; name a folder", args[0])}
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // it would hold the day on which the pages were made
			header := &doc.GenManHeader{Section: "1", Source: "edgegauge " + version(), Manual: "edgegauge"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return exit{exitUsage, err}
			}
			return nil
		},
	}
}
