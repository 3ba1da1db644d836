//go:build tools

// Package pebble pins the ACME server that the lab builds.
package pebble

import _ "github.com/letsencrypt/pebble/v2/cmd/pebble"
