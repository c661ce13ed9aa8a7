// Package published carries the tables and claims of five papers into the
// binary. They are facts to compare with, never targets to tune to.
package published

import "embed"

// Files holds NAME.csv for each paper, papers.yaml (what each one measured and
// on what) and claims.yaml (what each one concludes).
//
//go:embed *.csv *.yaml
var Files embed.FS
