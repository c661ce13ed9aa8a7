// Edgegauge is a measuring lab for web-service stacks of small devices.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"edgegauge/internal/device"
	"edgegauge/internal/device/qemu"
	"edgegauge/internal/device/sensor"
	"edgegauge/internal/lab"
	"edgegauge/internal/lab/labbench"
	"edgegauge/internal/link"
)

// Exit codes, the same for every verb.
const (
	exitDone       = 0
	exitWorse      = 1 // the answer is "worse", or a requirement is not met
	exitUsage      = 2 // the command line or the study is wrong
	exitUnmeasured = 3 // the lab could not measure
)

// An exit is an error that decides the exit code.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

func main() {
	if qemu.IsGuest() {
		guestMain()
	}
	if len(os.Args) > 1 {
		if hidden, ok := hiddenVerbs[os.Args[1]]; ok {
			os.Exit(hidden(os.Args[2:]))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// hiddenVerbs are this binary's child processes: no person calls them.
var hiddenVerbs = map[string]func(args []string) int{
	device.KeepVerb:    func(args []string) int { return device.Keep(args[1:]) }, // keep -- argv
	device.EnterVerb:   device.Enter,                                             // enter DIR… -- argv
	device.AgentVerb:   agentMain,                                                // agent DIR [CHANNEL]
	lab.StackVerb:      stackMain,
	link.Verb:          func([]string) int { return link.Main() },
	qemu.NetworkVerb:   qemu.ConfigureGuest,
	qemu.MemoryVerb:    qemu.PrintMemory,
	driveVerb:          driveMain,
	floorVerb:          floorMain,
	labbench.StoreVerb: storeMain,
	sensor.Verb:        sensorMain,
}

func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(os.Stderr, err)
	var e exit
	if errors.As(err, &e) {
		return e.code
	}
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "edgegauge",
		Short:         "which web-service stack should a small device speak, what does it cost, and how sure are we?",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.CompletionOptions.DisableDefaultCmd = true
	a := &app{}
	root.PersistentFlags().StringArrayVar(&a.stackFolders, "stacks", nil, "folder of stacks, besides the usual ones (repeatable)")
	root.AddCommand(checkCmd(a), planCmd(a), runCmd(a), reportCmd(a), probeCmd(a), stacksCmd(a), packetsCmd(a))
	root.AddCommand(analyzeCmd(), compareCmd(), chooseCmd(), linksCmd())
	root.AddCommand(devicesCmd(a))
	root.AddCommand(benchCmd(a))
	return root
}
