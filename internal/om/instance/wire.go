package instance

import (
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// RequestOf is the request that the parameters of the API make. It is the only
// place that copies them, one by one.
func RequestOf(action Action, in api.InstanceAction) (Request, error) {
	r := Request{
		Action: action, RID: commaWords(in.Rid), Tag: commaWords(in.Tag), Subset: commaWords(in.Subset), To: in.To,
		Force: in.Force, Leader: in.Leader, StateOnly: in.StateOnly, DisableRollback: in.DisableRollback,
		Confirm: in.Confirm, Cron: in.Cron, NoLock: in.NoLock, Env: in.Env, Session: in.SessionID,
	}
	if err := checkText(in); err != nil {
		return r, err
	}
	if in.WaitLock == "" {
		return r, nil
	}
	d, err := config.ParseDuration(in.WaitLock)
	if err != nil {
		return r, fmt.Errorf("wait_lock: %w", err)
	}
	if r.WaitLock = d; d <= 0 {
		r.WaitLock = NoWait
	}
	return r, nil
}

func commaWords(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
