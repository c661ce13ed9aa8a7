package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/meant"
)

func linksCmd(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "links [NAME]",
		Short: "list the link profiles, or show the figures of one and their sources",
		Long: `Links lists the link profiles that a study may name, or shows the source of each figure of one profile.
Your own profiles are files NAME.yaml in ./links or in a folder of EDGEGAUGE_LINKS; doc/links.md describes the format.`,
		Example: "  edgegauge links\n  edgegauge links nb-iot",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bed, err := a.bed()
			if err != nil {
				return err
			}
			all, broken := bed.LinkProfiles()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if len(args) == 1 {
				p, ok := all[args[0]]
				if !ok {
					return exit{exitUsage, errors.Join(fmt.Errorf("unknown link %q; %s", args[0], meant.Advice(args[0],
						slices.Sorted(maps.Keys(all)), "to list them: edgegauge links")), broken)}
				}
				all = map[string]link.Profile{args[0]: p}
			}
			switch {
			case asJSON:
				return errors.Join(writeJSON(cmd.OutOrStdout(), linksOf(all)), broken)
			case len(args) == 1:
				p := all[args[0]]
				fmt.Fprintf(w, "%s: %s\n\nFIGURE\tVALUE\tSOURCE\n", p.Name, p.Title)
				for _, f := range p.Figures {
					fmt.Fprintf(w, "%s\t%s\t%s\n", f.Key, f.Value, f.Source)
				}
			default:
				fmt.Fprintln(w, "LINK\tDESCRIPTION\tUP\tDOWN")
				for _, n := range slices.Sorted(maps.Keys(all)) {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n, all[n].Title, all[n].Up, all[n].Down)
				}
			}
			return errors.Join(w.Flush(), broken)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// linksJSON is what links --json prints.
type linksJSON struct {
	Format int        `json:"format"`
	Links  []linkJSON `json:"links"`
}

type linkJSON struct {
	Name    string       `json:"name"`
	Title   string       `json:"title"`
	MTU     int          `json:"mtu_B"` // of an IP packet
	Up      shapeJSON    `json:"up"`    // client to server
	Down    shapeJSON    `json:"down"`
	Figures []figureJSON `json:"figures"`
}

type shapeJSON struct {
	Delay       float64 `json:"delay_s"`
	DelayStdDev float64 `json:"delay_stddev_s"`
	Loss        float64 `json:"loss"`               // probability
	Burst       float64 `json:"loss_burst_packets"` // 0: losses are independent
	Rate        int64   `json:"rate_bit_per_s"`     // 0: unlimited
	Queue       int     `json:"queue_packets"`      // 0: the default
	Overhead    int     `json:"overhead_B"`         // of each frame
	Frame       int     `json:"frame_B"`            // payload of the largest frame; 0: a packet is one frame
	Reorder     bool    `json:"reorder"`
}

type figureJSON struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func linksOf(all map[string]link.Profile) linksJSON {
	shape := func(s link.Shape) shapeJSON {
		return shapeJSON{s.Delay.Seconds(), s.DelayStdDev.Seconds(), s.Loss, s.Burst, s.Rate, s.Queue, s.Overhead, s.Frame,
			s.Reorder}
	}
	out := linksJSON{jsonFormat, []linkJSON{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		x := linkJSON{name, p.Title, p.LargestPacket(), shape(p.Up), shape(p.Down), []figureJSON{}}
		for _, f := range p.Figures {
			x.Figures = append(x.Figures, figureJSON(f))
		}
		out.Links = append(out.Links, x)
	}
	return out
}
