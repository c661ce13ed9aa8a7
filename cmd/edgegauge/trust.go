package main

import (
	"bufio"
	"context"
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

// asks shows what would be run and asks whether to; no, where nobody is there to answer. The error says that ctx ended
// before there was an answer.
func asks(ctx context.Context, what string) (bool, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return false, nil
	}
	fmt.Fprintf(os.Stderr, "%s\nThese did not come with edgegauge. Run them? [y/N] ", what)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answered:
		return answer == "y" || answer == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr)
		return false, exit{exitUnmeasured, errors.New("stopped")}
	}
}

// mayRun asks before stacks are built or run that nobody trusts.
func (a *app) mayRun(ctx context.Context, bed *testbed.Testbed, names []string, trust bool) error {
	var foreign []string
	for _, n := range names {
		if d, ok := bed.FindStack(n); ok && !bed.Trusts(d) {
			foreign = append(foreign, fmt.Sprintf("stack %s in %s", d.Name, d.Dir))
		}
	}
	if len(foreign) == 0 || trust {
		return nil
	}
	if yes, err := asks(ctx, strings.Join(foreign, "\n")); yes || err != nil {
		return err
	}
	return exit{exitUsage, errors.New(strings.Join(foreign, "\n") +
		"\nthese did not come with edgegauge; review them, then add --trust")}
}
