// Package plan decides what a bootstrap, a pivot or a teardown has to do.
//
// It is a pure function of the settings and of the world that was observed: no
// clock, no network, no file. A run observes, plans, does the first step that is
// left, and begins again; so a rerun is the recovery, and printing a plan and
// carrying it out cannot differ.
//
//	observe ──► World ──► Make ──► Plan ──► first step left ──► do it ─┐
//	   ▲                                                               │
//	   └───────────────────────────────────────────────────────────────┘
//
// What was not asked, and what was asked in vain, is unknown. Unknown is never
// absent: nothing is deleted on the ground of it.
package plan
