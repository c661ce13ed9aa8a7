//go:build race

package fleet

// fewer is by what tests that repeat themselves are divided: the race detector makes the ledger's SQLite, which is Go,
// some ten times slower, and looks at the order of events in each repetition.
const fewer = 10
