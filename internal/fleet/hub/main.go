package hub

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"edgegauge.example/edgegauge/internal/kernel"
)

// heapGrowth is by how many per cent a hub's memory may grow before it is collected: it has
// little to do, and half of the memory of a thousand benches would be garbage.
const heapGrowth = 25

// Main is the program edgegauge-hub: it prints where it listens, as JSON, and runs until
// a signal ends it. It returns the exit code.
func Main(args []string) int {
	var o Options
	flags := flag.NewFlagSet("edgegauge-hub", flag.ContinueOnError)
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:0", "address to listen on; beyond loopback it needs -cert and -key")
	flags.StringVar(&o.Store, "store", "", "folder for the hub's data")
	flags.StringVar(&o.Keys, "keys", "", "file of admitted keys, as edgegauge benches add writes it")
	flags.StringVar(&o.Cert, "cert", "", "file of the hub's certificate (PEM)")
	flags.StringVar(&o.Key, "key", "", "file of the certificate's key (PEM)")
	child := flags.Bool("child", false, "end when standard input ends, for a hub that another program starts")
	cluster := flags.String("cluster", "", "addresses HOST:PORT, with commas, of the three or five hubs of a cluster")
	flags.StringVar(&o.Route, "route", "", "this hub's address among those")
	flags.StringVar(&o.CA, "ca", "", "file of the certificate that vouches for the hubs' (PEM; default: -cert)")
	err := flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || o.Store == "" || o.Keys == "") {
		err = fmt.Errorf("usage: edgegauge-hub -store FOLDER -keys FILE [-listen HOST:PORT -cert FILE -key FILE] " +
			"[-cluster HOST:PORT,HOST:PORT,HOST:PORT -route HOST:PORT -ca FILE]")
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if *cluster != "" {
		o.Cluster = strings.Split(*cluster, ",")
	}
	debug.SetGCPercent(heapGrowth)
	h, err := Start(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	defer h.Stop()
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, kernel.Ends()...)
	if *child {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			ends <- syscall.SIGTERM
		}()
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"url": h.URL()}); err != nil {
		return 3
	}
	<-ends
	return 0
}
