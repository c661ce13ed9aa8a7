// Package radios holds the classes of radios the program comes with.
package radios

import "embed"

// Files are the classes, one YAML file each.
//
//go:embed *.yaml
var Files embed.FS
