package study

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of study files, for editors. Parse
// does not use it: it knows more, and says it better.
//
//go:embed study.schema.json
var Schema []byte
