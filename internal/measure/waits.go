package measure

import "time"

// Waits are what requests at a rate waited for before they left, as the client's records show it.
type Waits struct {
	Requests int
	Waited   int           // of them, for a free connection: all were in use when they were due
	Wait     time.Duration // for a free connection, of all requests together
	Late     time.Duration // for the client itself, though a connection was free, likewise
	// Pace is the share of the rate at which they left: how long the schedule was, over how long it took to send it.
	Pace float64
	Use  time.Duration // for which a request keeps a connection from others, p99
	// AtOnce is how many requests would have been under way at once, at most, had each left when it was due; as far as
	// records tell: one that waited would have been answered no sooner than any other was; 0: unknown.
	AtOnce int
}
