package main

import (
	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/study"
)

func schemaCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of study files, for editors",
		Long: `Schema prints the JSON Schema (draft 2020-12) of study files. With it, an editor completes keys and marks
mistakes while you write (doc/write-a-study.md). edgegauge check finds more.`,
		Example: "  edgegauge schema > study-1.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(study.Schema)
			return err
		},
	}
}
