// Edgegauge-hub is the message server of a fleet: coordinator and benches reach each
// other through it. edgegauge run --benches starts it where none is named.
package main

import (
	"os"

	"edgegauge.example/edgegauge/internal/fleet/hub"
)

func main() { os.Exit(hub.Main(os.Args[1:])) }
