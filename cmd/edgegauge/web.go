package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/testbed"
	"edgegauge.example/edgegauge/internal/web"
)

// webAddress is where the page is served unless another address is given.
const webAddress = "127.0.0.1:8642"

type webFlags struct {
	listen, cert, key string
	hosts             []string
	token, control    bool
	studies           string
}

func webCmd(a *app) *cobra.Command {
	var f webFlags
	c := &cobra.Command{
		Use:   "web [RESULTS...]",
		Short: "serve a page: watch a study run, look through results, compare them",
		Long: `Web serves a page for the browser. It shows the results in the folders given (default: results), the study that
runs now, and of each result its report, trials, requests and packets, and it checks new studies as you write them. It
listens on this machine's loopback address; elsewhere it needs a certificate (--tls-cert, --tls-key) and asks every
browser for the token that it prints.

It only reads, unless --control is given. Then the page also stops and resumes studies, and saves and starts new ones,
which runs programs: it asks for the token on loopback, too. Results go into the first folder. A study that was started
continues when the page ends.`,
		Example: "  edgegauge web\n  edgegauge web results/quickstart --listen 127.0.0.1:9000\n  " +
			"edgegauge web --control --studies my-studies\n  " +
			"edgegauge web export page results/latest",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"results"}
				if f.control { // a first study has none yet
					_ = os.Mkdir("results", 0o777)
				}
			}
			return a.web(cmd.Context(), cmd.OutOrStdout(), args, f)
		},
	}
	c.Flags().StringVar(&f.listen, "listen", webAddress, "address and port; port 0: any free port")
	c.Flags().BoolVar(&f.token, "token", false, "also ask for a token on loopback, which other users of this "+
		"machine can reach")
	c.Flags().BoolVar(&f.control, "control", false, "let the page stop, resume, save and start studies")
	c.Flags().StringVar(&f.studies, "studies", ".", "folder in which the page saves studies")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "certificate file (PEM), needed beyond loopback")
	c.Flags().StringVar(&f.key, "tls-key", "", "its key file (PEM)")
	c.Flags().StringArrayVar(&f.hosts, "host", nil, "another name by which browsers may call this server (repeatable)")
	goWith(c, []string{"control"}, "studies")
	c.AddCommand(webExportCmd(a))
	return c
}

func webExportCmd(a *app) *cobra.Command {
	var trials int
	var asJSON bool
	c := &cobra.Command{
		Use:   "export DIR RESULTS...",
		Short: "write the pages of results as files that need no server",
		Long: `Export writes the pages of results into a new folder: reports, trials with their slowest requests, and for
two or more results a comparison with the first. The pages open from disk, load nothing from elsewhere, and can be sent
to others.`,
		Example: "  edgegauge web export page results/latest\n  edgegauge web export both baseline results/latest",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := folders(args[1:]); err != nil {
				return err
			}
			if trials < 0 {
				return exit{exitUsage, fmt.Errorf("--trials %d: write how many trials of each result get a page", trials)}
			}
			n, without, err := web.Export(cmd.Context(), a.webOptions(args[1:]), args[0], trials)
			var unreadable web.Unreadable
			if errors.As(err, &unreadable) || err != nil && (cmd.Context().Err() != nil || exitCode(err) == exitUnmeasured) {
				return exit{exitUnmeasured, err}
			}
			if err != nil {
				return exit{exitUsage, err}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Format  int    `json:"format"`
					Page    string `json:"page"`
					Files   int    `json:"files"`
					Without int    `json:"trials_without_page"`
				}{jsonFormat, args[0] + "/index.html", n, without})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s/index.html\n", args[0])
			fmt.Fprintln(a.notes(), plural.Count(n, "file"))
			if without > 0 {
				fmt.Fprintf(a.notes(), "%s got no page: more than %d of one result; --trials says how many get one\n",
					plural.Count(without, "trial"), trials)
			}
			return err
		},
	}
	jsonFlag(c, &asJSON)
	c.Flags().IntVar(&trials, "trials", web.ExportTrials,
		"how many trials of each result get a page, the first of the plan")
	return c
}

// folders refuses what is no folder.
func folders(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil && path == "results" {
			return exit{exitUsage, errors.New("results: no such folder; edgegauge run makes it: measure first, for example " +
				"with edgegauge web --control, or name a folder that holds results")}
		}
		if err == nil && !info.IsDir() {
			return exit{exitUsage, fmt.Errorf("%s is a file; name a folder that holds results, such as results", path)}
		}
		if err != nil {
			return exit{exitUsage, fmt.Errorf("%s: no such folder; name one that holds results, such as results", path)}
		}
	}
	return nil
}

// webOptions are those of every page: what reports say besides the results.
func (a *app) webOptions(paths []string) web.Options {
	known := calibrations(a.notes())
	return web.Options{Folders: paths, Version: version(), Finish: func(dir string, r *report.Report) {
		r.Predict(known, time.Now())
		r.Next = propose(dir, r)
	}}
}

func (a *app) web(ctx context.Context, w io.Writer, paths []string, f webFlags) error {
	fresh := f.control && slices.Equal(paths, []string{"results"}) && !exists("results") // it is there to measure first
	if err := folders(paths); err != nil && !fresh {
		return err
	}
	beyond, err := f.beyondLoopback()
	if err != nil {
		return exit{exitUsage, err}
	}
	p := pageSetting{Folders: paths, Hosts: f.hosts, Stacks: a.stackFolders, Cert: f.cert, Key: f.key,
		StudiesIn: f.studies, Control: f.control}
	if beyond {
		p.Hosts = append(p.Hosts, names(f.listen)...)
	}
	if beyond || f.token || f.control {
		p.Token = web.NewToken()
	}
	if info, err := os.Stat(f.studies); f.control && (err != nil || !info.IsDir()) {
		return exit{exitUsage, fmt.Errorf("--studies %s: no such folder; make it, or name another", f.studies)}
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return exit{exitUnmeasured, fmt.Errorf("%w; name another address with --listen, such as 127.0.0.1:0", err)}
	}
	defer l.Close()
	if fresh {
		if err := os.Mkdir("results", 0o777); err != nil {
			return exit{exitUnmeasured, err}
		}
	}
	o, err := a.pageOptions(p)
	if err != nil {
		return err
	}
	s, err := web.New(o) // to say here what is wrong with the folders
	if err != nil {
		return exit{exitUsage, err}
	}
	s.Close()
	scheme := "http"
	if f.cert != "" {
		scheme = "https"
	}
	address := fmt.Sprintf("%s://%s/", scheme, l.Addr())
	if p.Token != "" {
		address += "?token=" + p.Token
	}
	if _, err := fmt.Fprintln(w, address); err != nil { // nobody would find it
		return err
	}
	return a.servePages(ctx, l, p)
}

// pageOptions are those of a page that serves folders for as long as it is let.
func (a *app) pageOptions(p pageSetting) (web.Options, error) {
	o := a.webOptions(p.Folders)
	bed, err := a.bed()
	if err != nil {
		return o, err
	}
	o.Cache, o.Bed, o.Hosts, o.Token = bed.Cache, bed, p.Hosts, p.Token
	return o, nil
}

// endsWith has a server end when ctx does.
func endsWith(ctx context.Context) func(*http.Server) {
	return func(h *http.Server) {
		context.AfterFunc(ctx, func() {
			late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if h.Shutdown(late) != nil {
				h.Close()
			}
		})
	}
}

// beyondLoopback says whether others than this machine reach the page. There it needs
// a certificate, or the token would be read on its way.
func (f webFlags) beyondLoopback() (bool, error) {
	host, _, err := net.SplitHostPort(f.listen)
	switch {
	case err != nil:
		return false, fmt.Errorf("--listen %s: write ADDRESS:PORT, such as %s", f.listen, webAddress)
	case (f.cert == "") != (f.key == ""):
		return false, errors.New("--tls-cert and --tls-key belong together; give both")
	case web.IsLoopback(host) && f.cert == "":
		return false, nil
	case f.cert == "":
		return false, fmt.Errorf("--listen %s: beyond loopback the page needs --tls-cert and --tls-key; or listen on %s and "+
			"reach it with ssh -L 8642:%[2]s", f.listen, webAddress)
	}
	if _, err := admit.KeyPair(f.cert, f.key); err != nil { // before an address is printed
		return false, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return !web.IsLoopback(host), nil
}

// names are those by which browsers elsewhere may call this machine.
func names(listen string) []string {
	host, _, _ := net.SplitHostPort(listen) // beyondLoopback has read it
	if addr, err := netip.ParseAddr(host); host != "" && (err != nil || !addr.IsUnspecified()) {
		return []string{host}
	}
	var out []string
	if own, err := os.Hostname(); err == nil {
		out = append(out, own)
	}
	addrs, _ := net.InterfaceAddrs() // none: the name alone
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().String())
		}
	}
	return out
}

// watchVerb is the hidden verb of the page that run --web opens: watch DIR. Its
// listener is file 3, and the lab's steps come on stdin.
const watchVerb = "web-watch"

// A watched run has a page, which is a process of its own.
type watched struct {
	cmd   *exec.Cmd
	steps *os.File
	dir   string
}

// watchable says what is wrong with the address of a run's page.
func watchable(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !web.IsLoopback(host) {
		return exit{exitUsage, fmt.Errorf("--web=%s: write a port of this machine, such as %s; edgegauge web serves "+
			"other machines", address, webAddress)}
	}
	return nil
}

// listenForPage listens where the page of a run is to be.
func listenForPage(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, exit{exitUnmeasured, fmt.Errorf("%w; name another address with --web=127.0.0.1:0", err)}
	}
	return l, nil
}

// watch opens the page of a run. It is a process that gets only the time nothing else
// wants, on the CPU that the lab would choose last.
func watch(e *testbed.Experiment, l net.Listener, notes io.Writer) (*watched, error) {
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	defer socket.Close()
	told, tells, err := os.Pipe()
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	defer told.Close()
	dir, err := filepath.Abs(e.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as the page knows it
	}
	if err != nil {
		return nil, exit{exitUnmeasured, err}
	}
	w := &watched{cmd: exec.Command("/proc/self/exe", watchVerb, e.Dir), steps: tells, dir: dir}
	w.cmd.Stdin, w.cmd.Stderr, w.cmd.ExtraFiles = told, os.Stderr, []*os.File{socket}
	where := kernel.Placement{Idle: true}
	if n := len(e.Lab.CPUs); n > 1 {
		where.CPUs = e.Lab.CPUs[n-1:]
	}
	if err := where.Start(w.cmd); err != nil {
		tells.Close()
		return nil, exit{exitUnmeasured, err}
	}
	fmt.Fprintf(notes, "watch it at http://%s/now/\n", l.Addr())
	return w, nil
}

// tell says what the lab does now. It never waits: a page that reads slowly misses
// steps.
func (w *watched) tell(x lab.Progress) {
	line, err := json.Marshal(map[string]string{"dir": w.dir, "step": x.Step})
	if err != nil {
		return
	}
	raw, err := w.steps.SyscallConn()
	if err == nil {
		_ = raw.Write(func(fd uintptr) bool {
			_, _ = unix.Write(int(fd), append(line, '\n')) // full, or nobody reads: this step is not shown
			return true
		})
	}
}

// end tells the page that the lab has ended, and waits for it.
func (w *watched) end() {
	w.steps.Close()
	_ = endOf(w.cmd) // it wrote to stderr what went wrong
}

// watchMain serves the page of a run until the lab has ended.
func watchMain(args []string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the lab gets them, too, and ends in order
	if err := watchRun(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUnmeasured
	}
	return exitDone
}

func watchRun(args []string) error {
	if len(args) != 1 {
		return errors.New("it takes a results directory")
	}
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	a := &app{quiet: true}
	s, err := web.New(a.webOptions(slices.Clone(args)))
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		s.Follow(os.Stdin)
		cancel()
	}()
	return s.Serve(l, "", "", endsWith(ctx))
}
