package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
	"edgegauge.example/edgegauge/internal/kernel"
)

// Files in a fleet's folder.
const (
	keysFile        = "keys.json"        // for the hub
	coordinatorFile = "coordinator.json" // credentials
)

func benchesCmd(a *app) *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "benches",
		Short: "the benches of a fleet: list, check, drain, add and remove them",
		Long: `Benches manages the benches that a hub admits. It keeps two files in a folder: keys.json, which edgegauge-hub
reads whenever it changes, and coordinator.json, the credentials for edgegauge run --benches.`,
		Example: "  edgegauge benches add rack1 --nats tls://lab.example:4222\n  edgegauge benches list",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return listBenches(cmd, dir, 0, false, asJSON) },
	}
	jsonFlag(c, &asJSON)
	c.PersistentFlags().StringVar(&dir, "fleet", "fleet", "folder of the fleet's keys")
	c.AddCommand(benchesListCmd(&dir), benchesCheckCmd(&dir), benchesDrainCmd(&dir), benchesAddCmd(&dir),
		benchesRemoveCmd(&dir))
	return c
}

func benchesListCmd(dir *string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list the benches that the hub admits", Args: cobra.NoArgs,
		Example: "  edgegauge benches list",
		RunE:    func(cmd *cobra.Command, _ []string) error { return listBenches(cmd, *dir, 0, false, asJSON) },
	}
	jsonFlag(c, &asJSON)
	return c
}

func benchesCheckCmd(dir *string) *cobra.Command {
	var wait time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use: "check", Short: "listen for the benches, and say why one would get no orders", Args: cobra.NoArgs,
		Long: "Check listens for the benches. Its exit code is 3 if one is not heard, runs another version, or is the same " +
			"machine as another.",
		Example: "  edgegauge benches check",
		RunE:    func(cmd *cobra.Command, _ []string) error { return listBenches(cmd, *dir, wait, true, asJSON) },
	}
	jsonFlag(c, &asJSON)
	c.Flags().DurationVar(&wait, "wait", fleet.Lease/3, "how long to listen; a bench reports four times per lease")
	return c
}

// readKeys reads a fleet's keys; none are no error.
func readKeys(dir string) (admit.Keys, error) {
	k := admit.Keys{Benches: map[string]string{}}
	text, err := kernel.ReadFile(filepath.Join(dir, keysFile), admit.MostKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, exit{exitUsage, fmt.Errorf("%s: %w", filepath.Join(dir, keysFile), err)}
	}
	return k, nil
}

// changeKeys changes a fleet's keys. Commands that do so at once take turns: each writes all of them anew.
func changeKeys(ctx context.Context, dir string, change func(*admit.Keys) error) error {
	turn, err := turnIn(ctx, dir)
	switch {
	case err == nil:
		defer turn.Close()
	case !errors.Is(err, fs.ErrNotExist): // where there is no folder, there is no key either
		return exit{exitUnmeasured, err}
	}
	k, err := readKeys(dir)
	if err != nil {
		return err
	}
	if err = change(&k); err == nil {
		err = writeSecret(filepath.Join(dir, keysFile), k)
	}
	if err != nil && !errors.As(err, new(exit)) {
		err = exit{exitUnmeasured, err}
	}
	return err
}

// A benchRow is a bench of the list.
type benchRow struct {
	Name  string `json:"name"`
	State string `json:"state,omitempty"` // of check: ready, what it measures, or why it would get no orders
	Ready *bool  `json:"ready,omitempty"` // of check: it would get orders
}

func listBenches(cmd *cobra.Command, dir string, wait time.Duration, check, asJSON bool) error {
	k, err := readKeys(dir)
	if err != nil {
		return err
	}
	if len(k.Benches) == 0 {
		return exit{exitUsage, fmt.Errorf("%s: there are no benches; add one: edgegauge benches add NAME --nats URL", dir)}
	}
	var heard map[string]fleet.Beat
	if check {
		if heard, err = hear(cmd.Context(), dir, wait, slices.Collect(maps.Keys(k.Benches))); err != nil {
			return exit{exitUnmeasured, err}
		}
	}
	rows := benchRows(k, heard, check)
	write := writeBenches
	if asJSON {
		write = func(w io.Writer, rows []benchRow) error {
			return writeJSON(w, struct {
				Format  int        `json:"format"`
				Benches []benchRow `json:"benches"`
			}{jsonFormat, rows})
		}
	}
	if err := write(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	bad := 0
	for _, r := range rows {
		if r.Ready != nil && !*r.Ready {
			bad++
		}
	}
	if bad == 0 {
		return nil
	}
	return exit{exitUnmeasured, fmt.Errorf("%d of %d benches would get no orders", bad, len(rows))}
}

// hear hears the benches of a fleet of those names.
func hear(ctx context.Context, dir string, wait time.Duration, names []string) (map[string]fleet.Beat, error) {
	who, err := wire.ReadCredentials(filepath.Join(dir, coordinatorFile))
	if err != nil {
		return nil, err
	}
	board, err := wire.OpenBoard(who)
	if err != nil {
		return nil, err
	}
	defer board.Close()
	return listenFor(ctx, board, wait, names, 0)
}

// listenFor hears benches until all of those names have spoken, or where there are none so many of any, or the time is
// over.
func listenFor(ctx context.Context, board *wire.Board, wait time.Duration, names []string, least int) (
	map[string]fleet.Beat, error) {
	heard, over := map[string]fleet.Beat{}, time.After(wait)
	for len(heard) < max(len(names), least) {
		select {
		case b := <-board.Alive():
			if len(names) == 0 || slices.Contains(names, b.Bench) { // not one that was removed a moment ago
				heard[b.Bench] = b
			}
		case <-over:
			return heard, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return heard, nil
}

// benchRows are the benches by name; with check, how each is.
func benchRows(k admit.Keys, heard map[string]fleet.Beat, check bool) []benchRow {
	rows := []benchRow{}
	machines := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(k.Benches)) {
		if !check {
			rows = append(rows, benchRow{Name: name})
			continue
		}
		b, ok := heard[name]
		twin, state := machines[b.Machine], "ready"
		switch {
		case !ok:
			state = "not heard"
		case b.Program != version():
			state = fmt.Sprintf("runs edgegauge %s, this is %s: install the same on both", b.Program, version())
		case twin != "":
			state = "the same machine as " + twin + ": one machine is one bench"
		case b.Attempt > 0:
			state = fmt.Sprintf("measures block %d", b.Block)
		}
		if ok && twin == "" {
			machines[b.Machine] = name
		}
		ready := ok && b.Program == version() && twin == ""
		rows = append(rows, benchRow{name, state, &ready})
	}
	return rows
}

func writeBenches(w io.Writer, rows []benchRow) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		if r.Ready == nil {
			fmt.Fprintln(t, r.Name)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\n", r.Name, r.State)
	}
	return t.Flush()
}

func benchesAddCmd(dir *string) *cobra.Command {
	var url, ca string
	c := &cobra.Command{
		Use: "add NAME", Short: "admit a bench, and print a line to paste there", Args: cobra.ExactArgs(1),
		Long: `Add makes a key for a bench and prints one line, which holds the secret: paste it into a shell on the bench.
It writes the credentials there and starts the worker. The first bench makes the coordinator's credentials, too.`,
		Example: "  edgegauge benches add rack1 --nats nats://127.0.0.1:4222\n" +
			"  edgegauge benches add rack1 --nats tls://lab.example:4222 --ca hub.pem",
		RunE: func(cmd *cobra.Command, args []string) error {
			return addBench(cmd.Context(), cmd.OutOrStdout(), *dir, args[0], url, ca)
		},
	}
	c.Flags().StringVar(&url, "nats", "", "URL of the hub, as the bench reaches it")
	c.Flags().StringVar(&ca, "ca", "", "PEM file of the authority that signed the hub's certificate")
	return c
}

func addBench(ctx context.Context, w io.Writer, dir, name, url, ca string) error {
	err := admit.CheckName(name)
	if _, number := strconv.Atoi(name); err == nil && (name == anyBench || number == nil) {
		err = fmt.Errorf("bench %q: --benches %[1]s means something else; give it another name, such as rack1", name)
	}
	if err == nil && url == "" {
		err = errors.New("name the hub with --nats, as the bench reaches it: --nats tls://lab.example:4222")
	}
	bench := wire.Credentials{URL: url, Bench: name}
	if err == nil && ca != "" {
		var pem []byte
		pem, err = kernel.ReadFile(ca, 1<<20)
		bench.CA, err = string(pem), unreadable(ca, err)
	}
	if err != nil {
		return exit{exitUsage, err}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return exit{exitUnmeasured, err}
	}
	err = changeKeys(ctx, dir, func(k *admit.Keys) (err error) {
		if k.Benches[name] != "" {
			return exit{exitUsage, fmt.Errorf("bench %s exists already; to give it a new key, remove it first", name)}
		}
		if k.Benches[name], bench.Seed, err = admit.NewKey(); err != nil {
			return err
		}
		if k.Coordinator != "" {
			tellOther(filepath.Join(dir, coordinatorFile), bench)
			return nil
		}
		k.Coordinator, err = coordinatorKey(dir, wire.Credentials{URL: url, CA: bench.CA})
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(bench)
	if err != nil {
		return exit{exitUnmeasured, err}
	}
	_, err = fmt.Fprintf(w, "(umask 077; echo %s | base64 -d >%s.json) && edgegauge worker --creds %[2]s.json\n",
		base64.StdEncoding.EncodeToString(text), name)
	return err
}

// tellOther says that the coordinator reaches the hub otherwise than a bench that is added. That may be right: a hub
// has several addresses.
func tellOther(file string, bench wire.Credentials) {
	if own, err := wire.ReadCredentials(file); err == nil && (own.URL != bench.URL || own.CA != bench.CA) {
		fmt.Fprintf(os.Stderr, "%s keeps its URL %s and its authority, which are not those of this bench; if they are no "+
			"longer right, change them there\n", file, own.URL)
	}
}

// coordinatorKey is the public key of the coordinator of a fleet that has none yet. It writes credentials, with the key
// of those that are there: of a fleet whose keys were lost, or that was interrupted while its first bench was added.
func coordinatorKey(dir string, c wire.Credentials) (public string, err error) {
	file := filepath.Join(dir, coordinatorFile)
	switch old, err := wire.ReadCredentials(file); {
	case err != nil && exists(file):
		return "", exit{exitUsage, fmt.Errorf("%w; if it is lost, remove it, and the coordinator gets a new key", err)}
	case err == nil && old.Bench == "":
		if public, err = admit.PublicKey(old.Seed); err == nil {
			if c.Seed = old.Seed; c != old {
				err = c.Write(file)
			}
			return public, err
		}
		fallthrough
	case err == nil:
		return "", exit{exitUsage, fmt.Errorf("%s is there, without the hub's keys, and is not the coordinator's "+
			"credentials; remove it first", file)}
	}
	if public, c.Seed, err = admit.NewKey(); err != nil {
		return "", err
	}
	return public, c.Write(file)
}

func benchesDrainCmd(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "drain NAME", Short: "give a bench no more blocks of the current study", Args: cobra.ExactArgs(1),
		Long:    "Drain lets a bench finish its current block, and gives it no other until the study is done or resumed.",
		Example: "  edgegauge benches drain rack1",
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := readKeys(*dir)
			if err != nil {
				return err
			}
			if k.Benches[args[0]] == "" {
				return knownBench(args[0], slices.Sorted(maps.Keys(k.Benches)))
			}
			who, err := wire.ReadCredentials(filepath.Join(*dir, coordinatorFile))
			if err != nil {
				return exit{exitUsage, err}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), drainWithin)
			defer cancel()
			if err := wire.Drain(ctx, who, args[0]); err != nil {
				return exit{exitUnmeasured, err}
			}
			return nil
		},
	}
}

// drainWithin is how long a coordinator may take to hear it.
const drainWithin = 10 * time.Second

func benchesRemoveCmd(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "remove a bench: its key is no longer accepted", Args: cobra.ExactArgs(1),
		Example: "  edgegauge benches remove rack1",
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeKeys(cmd.Context(), *dir, func(k *admit.Keys) error {
				if k.Benches[args[0]] == "" {
					return knownBench(args[0], slices.Sorted(maps.Keys(k.Benches)))
				}
				delete(k.Benches, args[0])
				return nil
			})
		},
	}
}
