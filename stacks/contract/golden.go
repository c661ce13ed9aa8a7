// Package contract holds what the conformance kit must have at hand of the
// wire contract: messages in forms that nothing in Go can write.
package contract

import "embed"

// Compact has messages in the compact forms of XML, named as in compact/.
//
//go:embed compact/echo-2-7.request.* compact/monitor-2-7.request.*
var Compact embed.FS
