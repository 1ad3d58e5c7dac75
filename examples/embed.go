// Package examples holds the example files, so that the demo can use them wherever it runs.
package examples

import _ "embed"

// Acme is the catalogue of the fictional vendor Acme Audio.
//
//go:embed acme.yaml
var Acme []byte
