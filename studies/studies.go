// Package studies holds the studies that the program comes with.
package studies

import "embed"

// Files are the studies, one YAML file each.
//
//go:embed *.yaml
var Files embed.FS
