// Package batteries holds the batteries the program comes with.
package batteries

import "embed"

// Files are the batteries, one YAML file each.
//
//go:embed *.yaml
var Files embed.FS
