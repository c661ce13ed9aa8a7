package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/fleet/wire"
)

// A sharing says which benches measure a study.
type sharing struct {
	benches string // a number of benches on this machine, names, or anyBench; empty: the study is not shared
	nats    string // where the hub is, if not where the credentials say
	creds   string
	lease   time.Duration
}

// anyBench is whoever the hub admits.
const anyBench = "any"

// mostLocal is how many benches of this machine may share a study.
const mostLocal = 16

func (s *sharing) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.benches, "benches", "", "share the study among benches: names (a,b), any, or a number of "+
		"benches on this machine, which take turns")
	hubFlags(c, &s.nats, &s.creds)
	leaseFlag(c, &s.lease)
	goWith(c, []string{"benches"}, "lease")
}

func hubFlags(c *cobra.Command, nats, creds *string) {
	c.Flags().StringVar(nats, "nats", "", "URL of the hub (default: the one in the credentials)")
	c.Flags().StringVar(creds, "creds", "", "file of credentials, as edgegauge benches add writes it")
}

func leaseFlag(c *cobra.Command, lease *time.Duration) {
	c.Flags().DurationVar(lease, "lease", fleet.Lease,
		"how long a bench may be silent before its block is given to another; the same for run and worker")
}

// local is how many benches of this machine are asked for; 0: benches elsewhere.
func (s sharing) local() int {
	n, _ := strconv.Atoi(s.benches)
	return n
}

// localNames are those of so many benches of this machine.
func localNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("here-%d", i+1)
	}
	return all
}

// wanted says whether benches measure the study.
func (s sharing) wanted() bool { return s.benches != "" }

// elsewhere says whether they are others than this machine.
func (s sharing) elsewhere() bool { return s.wanted() && s.local() == 0 }

// credentials are those with which benches elsewhere are reached.
func (s sharing) credentials() (wire.Credentials, error) {
	who, err := wire.ReadCredentials(s.creds)
	if err == nil && who.Bench != "" {
		err = fmt.Errorf("%s are the credentials of bench %s; name the coordinator's, which edgegauge benches add wrote "+
			"as %s", s.creds, who.Bench, coordinatorFile)
	}
	if err != nil {
		return who, exit{exitUsage, err}
	}
	if s.nats != "" {
		who.URL = s.nats
	}
	return who, nil
}

// board reaches the hub of benches elsewhere.
func (s sharing) board() (*wire.Board, error) {
	who, err := s.credentials()
	if err != nil {
		return nil, err
	}
	b, err := wire.OpenBoard(who)
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	return b, nil
}

// names are those of the benches; nil: any.
func (s sharing) names() []string {
	if n := s.local(); n > 0 {
		return localNames(n)
	}
	if s.benches == anyBench {
		return nil
	}
	all := strings.Split(s.benches, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// check finds flags that do not go together.
func (s sharing) check() error {
	n, err := strconv.Atoi(s.benches)
	switch {
	case s.benches == "" && s.nats+s.creds != "":
		return errors.New("--nats and --creds are for benches: add --benches with their names, or any")
	case s.benches == "":
		return nil
	case err == nil && (n < 1 || n > mostLocal):
		return fmt.Errorf("--benches %d: a machine has 1 to %d benches", n, mostLocal)
	case err == nil && s.nats+s.creds != "":
		return fmt.Errorf("--benches %d starts benches on this machine; name those that the hub knows, or any", n)
	case err != nil && s.named() != nil:
		return s.named()
	case err != nil && s.creds == "":
		return errors.New("--benches with names needs --creds, the coordinator's credentials; edgegauge benches add " +
			"made them")
	}
	return leaseCheck(s.lease)
}

// named finds names that are no bench's, or given twice.
func (s sharing) named() error {
	seen := map[string]bool{}
	for _, name := range s.names() {
		if err := admit.CheckName(name); err != nil {
			return fmt.Errorf("--benches: %w", err)
		}
		if seen[name] {
			return fmt.Errorf("--benches names %s twice", name)
		}
		seen[name] = true
	}
	return nil
}

func leaseCheck(lease time.Duration) error {
	if lease < time.Second {
		return fmt.Errorf("--lease %v is too short; write 1s or more", lease)
	}
	return nil
}
