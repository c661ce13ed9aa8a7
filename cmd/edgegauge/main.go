// Edgegauge is a measuring lab for web-service stacks of small devices.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/guest"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/stacks/reference"
)

// Exit codes, the same for every verb.
const (
	exitDone       = 0
	exitWorse      = 1 // the answer is "worse", or a requirement is not met
	exitUsage      = 2 // the command line or the study is wrong
	exitUnmeasured = 3 // the lab could not measure
)

// exitMeanings are the codes as help and doc/compare-in-ci.md say them.
var exitMeanings = []struct {
	code  int
	means string
}{
	{exitDone, "done; the answer is good, or undecided unless asked otherwise"},
	{exitWorse, "the answer is worse, or a requirement is not met; undecided with --strict"},
	{exitUsage, "the command line or the study is wrong"},
	{exitUnmeasured, "the lab could not measure, or results are incomplete, unreadable or edited"},
}

// An exit is an error that decides the exit code.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return e.err.Error() }
func (e exit) Unwrap() error { return e.err }

func main() {
	if qemu.IsGuest() {
		guest.Main(version())
	}
	if len(os.Args) > 1 {
		if hidden, ok := hiddenVerbs[os.Args[1]]; ok {
			os.Exit(hidden(os.Args[2:]))
		}
	}
	ends := kernel.Ends()
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	go endAtOnce(ends)
	code := run(ctx, os.Args[1:])
	device.LeaveGroup()
	os.Exit(code)
}

// sameSignal is the time within which a second signal is an echo of the first: timeout(1)
// sends one to its child and then one to the whole process group. The child of a rootless lab gets one
// from the terminal and one from its parent, which may have waited for a CPU; a second one ends the parent.
const (
	sameSignal        = 200 * time.Millisecond
	sameOfTheRootless = 5 * time.Second
)

// orderlyEnd is how long an orderly end may take.
const orderlyEnd = time.Minute

// onlyReads says that the command has only read and printed so far: nothing of it has to end in order.
var onlyReads atomic.Bool

// writes is called before a command that reads begins to write a file.
func writes() { onlyReads.Store(false) }

// reads says whether a command begins with reading, and starts nothing.
func reads(c *cobra.Command, args []string) bool {
	switch verbOf(c) {
	case "analyze", "choose", "forecast", "history", "packets", "publish", "report":
		return true
	case "compare":
		return !c.Flags().Changed("base") && !c.Flags().Changed("with")
	case "confirm":
		return len(args) == 1
	}
	return false
}

// verbOf is the name of a command without that of the program.
func verbOf(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "edgegauge"), " ")
}

// endAtOnce ends this process and all it started at the second signal, or when the
// first, which asks for an orderly end, has not led to it in time; at the first, if it only reads.
func endAtOnce(ends []os.Signal) {
	got := make(chan os.Signal, 2)
	signal.Notify(got, ends...)
	<-got
	if onlyReads.Load() {
		complain(errors.New("stopped"))
		os.Exit(exitUnmeasured)
	}
	echo := sameSignal
	if link.IsRootless() {
		echo = sameOfTheRootless
	}
	first, late := time.Now(), time.After(orderlyEnd)
	for again := false; !again; {
		select {
		case <-got:
			again = time.Since(first) > echo
		case <-late:
			again = true
		}
	}
	device.EndDescendants()
	said := make(chan struct{})
	go func() { // nobody may read it, as where a pager is stopped
		fmt.Fprintln(os.Stderr, printable.Text(lastWords()))
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(sameSignal):
	}
	os.Exit(exitUnmeasured)
}

// resumption is how what this command has begun is resumed, once there is something to resume.
var resumption atomic.Pointer[string]

// lastWords are those of a command that ends at once.
func lastWords() string {
	if how := resumption.Load(); how != nil {
		return "stopped immediately; " + *how
	}
	return "stopped immediately"
}

// hiddenVerbs are this binary's child processes: no person calls them.
var hiddenVerbs = map[string]func(args []string) int{
	device.SuperviseVerb: device.Supervise,  // supervise CPUS GROUP -- argv
	device.EnterVerb:     device.Enter,      // enter DIR… -- argv
	device.AgentVerb:     agentMain,         // agent DIR [CHANNEL]
	lab.StackVerb:        reference.Process, // NAME serve|call
	link.Verb:            func([]string) int { return link.Main() },
	link.TryVerb:         link.Try,
	qemu.NetworkVerb:     qemu.ConfigureGuest,
	qemu.MemoryVerb:      qemu.PrintMemory,
	driveVerb:            driveMain,
	floorVerb:            floorMain,
	labbench.StoreVerb:   storeMain,
	sensor.Verb:          sensorMain,
	watchVerb:            watchMain,
	pageVerb:             pageMain,
}

func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	out := &printed{w: root.OutOrStdout()}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		out.columns = width
	}
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	var e exit
	if ctx.Err() != nil && errors.Is(err, context.Canceled) &&
		(!errors.As(err, &e) || e.err == context.Canceled || e.code == exitUsage) {
		err = exit{exitUnmeasured, errors.New("stopped")} // and no mistake of the command line
	}
	if err = outputError(err); err != nil {
		complain(err)
	}
	if lost := outputError(out.err); lost != nil && (err == nil || err.Error() != lost.Error()) {
		complain(lost)
		err = cmp.Or(err, lost)
	}
	return exitCode(err)
}

// exitCode is what an error of a command ends its process with.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	var e exit
	if errors.As(err, &e) {
		return e.code
	}
	for _, lack := range []error{store.ErrDiskFull, store.ErrFileLimit, unix.ENOSPC, unix.EDQUOT, unix.EFBIG} {
		if errors.Is(err, lack) {
			return exitUnmeasured // the same command works where there is space
		}
	}
	return exitUsage
}

// complain prints an error, in red where a terminal shows it.
func complain(err error) {
	text := printable.Text(err.Error())
	if coloured(os.Stderr) {
		text = red + text + plain
	}
	fmt.Fprintln(os.Stderr, text)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "edgegauge",
		Short:         "which web-service stack should a small device speak, what does it cost, and how sure are we?",
		Long:          exitHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			onlyReads.Store(reads(c, args))
			return cmp.Or(strays(c), addressSpace())
		},
	}
	// What studies, stacks and results of strangers say goes through here.
	root.SetOut(printable.NewWriter(paint(os.Stdout)))
	root.SetErr(printable.NewWriter(paint(os.Stderr)))
	a := &app{}
	root.PersistentFlags().StringArrayVar(&a.stackFolders, "stacks", nil, "additional folder of stacks (repeatable)")
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false,
		"print results, warnings and errors only: no progress, no notes")
	root.AddCommand(checkCmd(a), planCmd(a), runCmd(a), reportCmd(a), probeCmd(a), stacksCmd(a), packetsCmd(a))
	root.AddCommand(analyzeCmd(), compareCmd(a), chooseCmd(), forecastCmd(), capacityCmd(a), linksCmd(a), schemaCmd(),
		publishCmd(a), versionCmd())
	root.AddCommand(devicesCmd(a), webCmd(a), workerCmd(a), benchesCmd(a), historyCmd(a), confirmCmd(a))
	root.AddCommand(benchCmd(a), manCmd())
	plainMistakes(root)
	a.completes(root)
	completesAlone(root)
	return root
}

// exitHelp lists the exit codes.
func exitHelp() string {
	text := "Which web-service stack should a small device speak, what does it cost, and how sure are we?\n\nExit codes:"
	for _, x := range exitMeanings {
		text += fmt.Sprintf("\n  %d  %s", x.code, x.means)
	}
	return text + "\nAn undecided answer of compare or confirm exits with the code that --undecided-exit names."
}

// addressSpace is an error if this process may not reserve what a Go program reserves: it would end later, in the
// middle of a run, with a dump of its runtime. Below some 0.75 GB even an empty Go program
// ends before its first package is initialized: runtime.(*pageAlloc).sysInit reserves 585 MB.
func addressSpace() error {
	const least = 4 << 30 // B
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur >= least || bits.UintSize == 32 {
		return nil
	}
	return exit{exitUnmeasured, fmt.Errorf("the address space of this process is limited to %d MB, and %d MB are needed; "+
		"run: ulimit -v unlimited", limit.Cur>>20, least>>20)}
}
