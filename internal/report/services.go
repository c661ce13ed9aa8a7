package report

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/study"
)

// asksServices reports whether the lab started no server of any treatment.
func (r *Report) asksServices() bool {
	return len(r.Treatments) > 0 && !slices.ContainsFunc(r.Treatments, func(t Treatment) bool {
		return t.setup == nil || t.setup.URL == ""
	})
}

// An asking is the study of a service that edgegauge does not start, as a command names it.
type asking struct {
	file string // in the results directory
	sets []string
}

// startBoth is what edgegauge cannot do of a service that it does not start.
const startBoth = "start both versions, each at a URL of its own"

// asking is nil where edgegauge starts what is asked.
func (r *Report) asking() *asking {
	if !r.asksServices() {
		return nil
	}
	return &asking{r.studyFile(), r.setsBut("server.url")}
}

// ofBoth is the command that measures two versions in one study, that of the results in dir.
func (a asking) ofBoth(dir string) string {
	return fmt.Sprintf("edgegauge run %s%s --set 'factors.server.url=[OLD-URL, NEW-URL]' --out both && "+
		"edgegauge report both", QuotedPath(filepath.Join(dir, a.file)), Sets(a.sets))
}

// sayServices says what cannot be known where the server was there before the lab.
func (r *Report) sayServices() {
	var urls []string
	seen := map[string]bool{}
	all := true
	for _, t := range r.Treatments {
		switch {
		case t.setup == nil || t.setup.URL == "":
			all = false
		case !seen[t.setup.URL]:
			seen[t.setup.URL] = true
			urls = append(urls, t.setup.URL)
		}
	}
	if len(urls) == 0 {
		return
	}
	whose, its, it := "the server was", "its", "it"
	if !all {
		whose = "the server at " + urls[0] + " was"
	}
	if len(urls) > 1 {
		whose, its, it = "the servers at "+list(urls, 4)+" were", "their", "them"
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s not started by the lab, but measured from outside: %s phases "+
		"(deserialization, processing, serialization), CPU and memory are unknown; RTT includes %[2]s work and the network "+
		"to %[3]s",
		whose, its, it))
}

// IsLocal reports whether a URL's host is this machine by its name or address.
func IsLocal(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && a.IsLoopback()
}

// requestOf is equal for treatments that ask the same.
func requestOf(s *study.Setup) string {
	if s.Request == nil {
		return ""
	}
	return s.Request.String()
}
