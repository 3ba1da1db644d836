// Package helm installs releases of Helm charts on a cluster, and removes them.
//
// It reads no configuration of Helm and of no other program: charts are pulled
// into memory, without credentials, from where the caller says. Nothing is
// written to the disk, and no environment variable of Helm is looked at.
//
// What matters to a reader: a release that a killed process left in the middle of
// an installation is healed by the next one, see [Ensure]; that a release is not
// there is only said on evidence, see [Exists].
package helm
