// Command fluxclient pulls an artifact with the client library of Flux, the one its
// source-controller pulls with, and unpacks it into a directory.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/crane"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fluxclient HOST:PORT/REPOSITORY:TAG DIRECTORY")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := oci.NewClient(append(oci.DefaultOptions(), crane.Insecure)).Pull(ctx, os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("revision %s\nsource %s\ncreated %s\ndigest %s\n", m.Revision, m.Source, m.Created, m.Digest)
}
