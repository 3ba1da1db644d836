// Package move moves the Cluster API inventory of a namespace from one management
// cluster to another, so that a crash at any instruction loses nothing: the same
// call, made again, ends where the first would have ended.
//
// The clusterctl library finds and copies the objects, and does nothing else. It
// reads the source through a client that cannot write, and stops where it would
// begin to delete. What decides and what destroys is in this package:
//
//	 source: ConfigMap krops-move          target: ConfigMap krops-moved
//	─────────────────────────────────────────────────────────────────────────────
//	 (none) ── discover, preflight: any problem ends here, nothing was touched
//	   │
//	   ▼
//	 pausing   who pauses what is written down, then the Clusters are paused that
//	   │       nobody paused before, then every controller is proven idle
//	   ▼
//	 copying   the list of all objects ───► copying    the library copies; then
//	   │                                               every object, its owners
//	   │                                               and every secret are compared
//	   ▼
//	 removing  THE POINT OF NO RETURN ────► complete   the list is deleted at the
//	   │                                               source, dependents first;
//	   │                                               then the target is resumed
//	   ▼
//	 done ────────────────────────────────► done
//
//	 pausing, copying ── a failure, or Release ──► released: what we paused runs
//	                     again at the source; the copies stay paused at the target
//
// What must hold, and how:
//
//   - Until removing is written nothing is deleted at the source: the library
//     cannot, and this package does not. So the source has everything.
//   - Once removing is written the target has everything: that was verified before
//     it was written. So only going on is right: what is left at the source is
//     deleted, by UID, and never made again.
//   - No controller of the source sees an object that is being deleted: finalizers
//     are taken off first, and the deletion holds for that very version of the
//     object only, so it is gone at once.
//   - A pause of an operator is never lifted, not for a moment: the library, which
//     refuses paused Clusters, is shown them without the pause.
//   - What stays of a copy that was given up is known by the list, and is removed
//     from the target, paused as it is, if the source has lost the object since:
//     a stale Machine would be counted by the controllers of the target.
//   - Two records that do not fit each other are a reason to stop, not to guess.
package move
