//go:build tools

// Package oidc pins the OpenID provider that the lab builds.
package oidc

import _ "github.com/zitadel/oidc/v3/example/server"
