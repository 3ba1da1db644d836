// Package kube speaks to Kubernetes API servers: it reads, applies, patches and
// deletes objects of any kind, and says of each failed question what it proves.
//
// A [Cluster] is bound to one API server by a kubeconfig and a context. The
// context a user has chosen for his shell is never read, and never changed.
//
// What matters to a reader: the answer of a server is only believed when it is
// one. An empty list is a list with items in it, of which there are none; an
// object is absent when the server says so of that object by its name; a kind is
// absent when the server listed its kinds. All else is an error, and an error is
// no evidence of absence, see [Classify].
package kube
