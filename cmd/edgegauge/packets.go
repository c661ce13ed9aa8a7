package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/instrument/packet"
)

func packetsCmd(*app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "packets FILE",
		Short: "delay, jitter, bytes and handshakes of every connection and exchange in a capture file",
		Long: "Packets reads any pcapng or pcap file. For each TCP connection, request and UDP exchange it prints the " +
			"same figures as the\nresponses of a study; doc/packets.md defines them.",
		Example: "  edgegauge packets results/latest/packets/0001-1-lo.pcapng\n  edgegauge packets dump.pcap --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := openFile(args[0], ".pcapng")
			if err != nil {
				return exit{exitUsage, err}
			}
			defer f.Close()
			found, err := packet.Analyze(f)
			if err != nil && found.Packets == 0 {
				return exit{exitUsage, fmt.Errorf("%s: %w", args[0], err)}
			}
			if err != nil {
				return exit{exitUnmeasured, fmt.Errorf("%s: %w", args[0], err)}
			}
			if asJSON {
				return found.WriteJSON(cmd.OutOrStdout())
			}
			return found.WriteText(cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
