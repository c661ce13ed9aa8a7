package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"edgegauge.example/edgegauge/internal/testbed"
)

func trustFlag(c *cobra.Command, trust *bool) {
	c.Flags().BoolVar(trust, "trust", false,
		"run programs that did not come with edgegauge without asking: a study's sensors and meters, stacks in ./stacks")
}

// asks shows what would be run and asks whether to; no, where nobody is there to answer.
func asks(what string) bool {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return false
	}
	fmt.Fprintf(os.Stderr, "%s\nThese did not come with edgegauge. Run them? [y/N] ", what)
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// mayRun asks before stacks are built or run that nobody trusts.
func (a *app) mayRun(bed *testbed.Testbed, names []string, trust bool) error {
	var foreign []string
	for _, n := range names {
		if d, ok := bed.FindStack(n); ok && !bed.Trusts(d) {
			foreign = append(foreign, fmt.Sprintf("stack %s in %s", d.Name, d.Dir))
		}
	}
	if len(foreign) == 0 || trust || asks(strings.Join(foreign, "\n")) {
		return nil
	}
	return exit{exitUsage, errors.New(strings.Join(foreign, "\n") +
		"\nthese did not come with edgegauge; review them, then add --trust")}
}
