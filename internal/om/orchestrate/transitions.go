package orchestrate

// step names what is done about a goal from a state.
type step int

const (
	_        step = iota
	settle        // learn enough to start from: a status, the boot
	pursue        // at rest: take the next step towards the goal
	resume        // something is waited for: look again, from the same state
	await         // an action is under way: its end decides
	conclude      // an action has ended well: go on from there
	reset         // a leftover of something else: back to rest, and pursue
	fail          // an action has failed: so has the goal
)

// transition is the step a goal takes from a state: what is particular to the
// goal, else what is common to all. A pair without a step is a mistake of the
// program, see the test.
//
// Actions under way are always awaited, whoever started them. Waiting states
// belong to the goal that entered them, so a goal resumes those it uses and
// resets the others. A failure fails the goal it happened under; a goal accepted
// later starts from rest (see [Accept]), so it never meets an older one, except
// the goals about freezing, which failures do not concern.
func transition(goal, state string) step {
	if s, ok := particular[goal][state]; ok {
		return s
	}
	if _, ok := particular[goal]; !ok {
		return 0
	}
	return common[state]
}

var common = map[string]step{
	StateInit: settle,
	StateIdle: pursue,

	StateBooting:        await,
	StateShutting:       await,
	StateStarting:       await,
	StateStopping:       await,
	StateFreezing:       await,
	StateUnfreezing:     await,
	StateProvisioning:   await,
	StateUnprovisioning: await,
	StateDeleting:       await,
	StateRunning:        await,
	StateSyncing:        await,

	StateBooted:        conclude,
	StateShutdown:      conclude,
	StateStarted:       conclude,
	StateStopped:       conclude,
	StateRestarted:     conclude,
	StateFrozen:        conclude,
	StateUnfrozen:      conclude,
	StateProvisioned:   conclude,
	StateUnprovisioned: conclude,
	StateDeleted:       conclude,

	StateBootFailed:        fail,
	StateShutdownFailed:    fail,
	StateStartFailed:       fail,
	StateStopFailed:        fail,
	StateFreezeFailed:      fail,
	StateUnfreezeFailed:    fail,
	StateProvisionFailed:   fail,
	StateUnprovisionFailed: fail,
	StatePurgeFailed:       fail,
	StateDeleteFailed:      fail,

	StateReady:         reset,
	StateWaitChildren:  reset,
	StateWaitParents:   reset,
	StateWaitLeader:    reset,
	StateWaitNonLeader: reset,
	StateWaitPriors:    reset,
}

var particular = map[string]map[string]step{
	None: {
		StateReady:             resume,
		StateWaitParents:       resume,
		StateBootFailed:        pursue, // failures stay, but for what proves them wrong
		StateShutdownFailed:    pursue,
		StateStartFailed:       pursue,
		StateStopFailed:        pursue,
		StateFreezeFailed:      pursue,
		StateUnfreezeFailed:    pursue,
		StateProvisionFailed:   pursue,
		StateUnprovisionFailed: pursue,
		StatePurgeFailed:       pursue,
		StateDeleteFailed:      pursue,
	},
	Started: {
		StateReady:       resume,
		StateWaitParents: resume,
	},
	Stopped: {
		StateWaitChildren: resume,
	},
	PlacedAt: {
		StateReady:        resume,
		StateWaitChildren: resume,
		StateWaitParents:  resume,
	},
	Placed: {
		StateReady:        resume,
		StateWaitChildren: resume,
		StateWaitParents:  resume,
	},
	Restarted: {
		StateReady:        resume,
		StateWaitChildren: resume,
		StateWaitParents:  resume,
		StateWaitPriors:   resume,
	},
	Frozen:   freezable,
	Unfrozen: freezable,
	Provisioned: {
		StateReady:       resume,
		StateWaitLeader:  resume,
		StateWaitParents: resume,
	},
	Unprovisioned: {
		StateWaitNonLeader: resume,
		StateWaitChildren:  resume,
	},
	Purged: {
		StateWaitLeader:    resume,
		StateWaitNonLeader: resume,
		StateWaitChildren:  resume,
	},
	Deleted: { // whatever the state
		StateInit:              pursue,
		StateWaitChildren:      resume,
		StateBootFailed:        pursue,
		StateStartFailed:       pursue,
		StateStopFailed:        pursue,
		StateShutdownFailed:    pursue,
		StateProvisionFailed:   pursue,
		StateUnprovisionFailed: pursue,
	},
}

// freezable: a freeze or a thaw leaves what is waited for, and failures, alone.
var freezable = map[string]step{
	StateReady:             pursue,
	StateWaitChildren:      pursue,
	StateWaitParents:       pursue,
	StateWaitLeader:        pursue,
	StateWaitNonLeader:     pursue,
	StateWaitPriors:        pursue,
	StateBootFailed:        pursue,
	StateShutdownFailed:    pursue,
	StateStartFailed:       pursue,
	StateStopFailed:        pursue,
	StateProvisionFailed:   pursue,
	StateUnprovisionFailed: pursue,
	StatePurgeFailed:       pursue,
	StateDeleteFailed:      pursue,
}
