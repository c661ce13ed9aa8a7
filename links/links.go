// Package links holds the link profiles the program comes with.
package links

import "embed"

// Files are the profiles, one YAML file each.
//
//go:embed *.yaml
var Files embed.FS
