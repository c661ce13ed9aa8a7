package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/study"
)

func schemaCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [study|radio|battery]",
		Short: "print the JSON Schema of study files, for editors",
		Long: `Schema prints the JSON Schema (draft 2020-12) of study files, or of files that describe a radio or a battery.
With it, an editor completes keys and marks mistakes while you write (doc/write-a-study.md). edgegauge check finds
more.`,
		Example: "  edgegauge schema > study-1.json\n  edgegauge schema radio > radio.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := study.Schema
			switch {
			case len(args) == 0 || args[0] == "study":
			case args[0] == string(battery.Radio) || args[0] == string(battery.Battery):
				text = battery.Schema(battery.Kind(args[0]))
			default:
				return exit{exitUsage, fmt.Errorf("no schema of %q; write study, radio or battery", args[0])}
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
