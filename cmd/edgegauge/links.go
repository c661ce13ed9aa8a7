package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/named"
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
				if err := named.FaultOf(args[0], broken); err != nil {
					return exit{exitUsage, err}
				}
				broken = nil // of others
				if !ok {
					return exit{exitUsage, fmt.Errorf("unknown link %q; %s", args[0], meant.Advice(args[0],
						slices.Sorted(maps.Keys(all)), "to list them: edgegauge links"))}
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
				listLinks(w, all)
			}
			return errors.Join(w.Flush(), broken)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// listLinks prints a row of each link, no wider than a screen: what it does to packets, and what it is.
func listLinks(w io.Writer, all map[string]link.Profile) {
	fmt.Fprintln(w, "LINK\tDELAY\tRATE\tLOSS\tDESCRIPTION")
	for _, n := range slices.Sorted(maps.Keys(all)) {
		up, down := all[n].Up, all[n].Down
		rest := ""
		for i, line := range strings.Split(filled(all[n].Title, "", 48), "\n") {
			if i == 0 {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", n, ways(up, down, delayText), ways(up, down, rateText),
					ways(up, down, lossText), line)
				continue
			}
			rest += "\t\t\t\t" + line + "\n"
		}
		fmt.Fprint(w, rest)
	}
}

// ways is a figure of both directions, client to server first where they differ.
func ways(up, down link.Shape, text func(link.Shape) string) string {
	if text(up) == text(down) {
		return text(up)
	}
	return text(up) + ", " + text(down)
}

func delayText(s link.Shape) string {
	switch {
	case s.DelayStdDev > 0:
		return fmt.Sprintf("%v ±%v", s.Delay, s.DelayStdDev)
	case s.Delay > 0:
		return s.Delay.String()
	}
	return "–"
}

func lossText(s link.Shape) string {
	if s.Loss == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4g%%", 100*s.Loss)
}

// rateText is a rate as studies write it.
func rateText(s link.Shape) string {
	for _, u := range []struct {
		name string
		bits float64
	}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}} {
		if float64(s.Rate) >= u.bits {
			return fmt.Sprintf("%.4g%s", float64(s.Rate)/u.bits, u.name)
		}
	}
	if s.Rate == 0 {
		return "–"
	}
	return fmt.Sprintf("%dbit", s.Rate)
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
