// Package devices carries the device profiles into the binary.
package devices

import "embed"

// Profiles holds NAME.yaml for each device known by name.
//
//go:embed *.yaml
var Profiles embed.FS
