package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// needed is what a flag notes others by, of which one must be given with it.
const needed = "needed"

// goWith notes that flags mean nothing without one of others: given alone they are refused, not dropped.
func goWith(c *cobra.Command, others []string, flags ...string) {
	for _, name := range flags {
		if err := c.Flags().SetAnnotation(name, needed, others); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// strays refuses a flag that means nothing without others, none of which was given.
func strays(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		others := f.Annotations[needed]
		if err == nil && len(others) > 0 && !slices.ContainsFunc(others, c.Flags().Changed) {
			err = fmt.Errorf("--%s means nothing without --%s: add it, or leave --%[1]s out", f.Name,
				strings.Join(others, " or --"))
		}
	})
	return err
}
