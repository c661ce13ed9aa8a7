// Package published carries the tables and claims of five papers into the
// binary. They are facts to compare with, never targets to tune to.
package published

import "embed"

// Files holds NAME.csv for each paper, papers.yaml (what each paper measured and
// on what) and claims.yaml (what it concludes).
//
//go:embed *.csv *.yaml
var Files embed.FS
