package replicate

// KeepGone has a replicator remember that many deletions.
func (r *Replicator) KeepGone(n int) { r.maxGone = n }
