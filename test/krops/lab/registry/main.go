// Command registry is a registry of images in memory, for a container that has
// nothing else in it: the lab cannot pull registry:2.
package main

import (
	"net/http"
	"os"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact/registrytest"
)

func main() {
	server := &http.Server{Addr: ":5000", Handler: registrytest.New(), ReadHeaderTimeout: time.Minute}
	if err := server.ListenAndServe(); err != nil {
		os.Exit(1)
	}
}
