package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

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
			day := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" { // reproducible-builds.org
				s, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return exit{exitUsage, fmt.Errorf("SOURCE_DATE_EPOCH=%s: not a number of seconds", epoch)}
				}
				day = time.Unix(s, 0)
			}
			if err := writeManualPages(cmd.Root(), args[0], day.UTC()); err != nil {
				return exit{exitUsage, err}
			}
			return nil
		},
	}
}
