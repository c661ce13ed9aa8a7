package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/testbed"
)

func devicesListCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "list the devices that a study may name as client or server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bed, err := a.bed()
			if err != nil {
				return err
			}
			_, broken := bed.Profiles()
			rows := []deviceRow{}
			for _, k := range testbed.Kinds() {
				if k.Names == nil {
					rows = append(rows, deviceRow{k.Form, k.Form, k.Says})
					continue
				}
				for _, n := range k.Names(bed) {
					if !strings.HasSuffix(n, qemu.PacedSuffix) {
						rows = append(rows, deviceRow{n, k.Form, k.State(bed, n)})
					}
				}
			}
			if asJSON {
				return errors.Join(writeJSON(cmd.OutOrStdout(), struct {
					Format  int         `json:"format"`
					Devices []deviceRow `json:"devices"`
				}{jsonFormat, rows}), broken)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "DEVICE\tWHAT")
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%s\n", r.Name, r.Says)
			}
			return errors.Join(w.Flush(), broken)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// A deviceRow is one device of the list.
type deviceRow struct {
	Name string `json:"name"` // or the form of the names there may be
	Kind string `json:"kind"`
	Says string `json:"says"` // what it is, and what is missing
}
