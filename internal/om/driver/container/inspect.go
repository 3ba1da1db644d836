package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The labels of a container.
const (
	labelPrefix = "com.opensvc."
	labelID     = labelPrefix + "id"
	labelPath   = labelPrefix + "path"
	labelRID    = labelPrefix + "rid"
)

// found is a container as an engine describes it. Podman and docker agree on these.
type found struct {
	ID    string `json:"Id"`
	Name  string `json:"Name"`  // docker: after a slash
	Image string `json:"Image"` // identity of the image
	State struct {
		Status   string `json:"Status"`
		ExitCode int    `json:"ExitCode"`
		Error    string `json:"Error"`
		Pid      int    `json:"Pid"`
	} `json:"State"`
	Config struct {
		Hostname   string            `json:"Hostname"`
		Tty        bool              `json:"Tty"`
		Cmd        []string          `json:"Cmd"`
		Entrypoint words             `json:"Entrypoint"`
		Labels     map[string]string `json:"Labels"`
	} `json:"Config"`
	HostConfig struct {
		Privileged     bool   `json:"Privileged"`
		ReadonlyRootfs bool   `json:"ReadonlyRootfs"`
		NetworkMode    string `json:"NetworkMode"`
		PidMode        string `json:"PidMode"`
		IpcMode        string `json:"IpcMode"`
		UTSMode        string `json:"UTSMode"`
		CgroupParent   string `json:"CgroupParent"`
	} `json:"HostConfig"`
}

// words is a list that podman, before version 5, writes as one text.
type words []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *words) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil {
		*w = nil
		if one != "" {
			*w = words{one}
		}
		return nil
	}
	var list []string
	err := json.Unmarshal(b, &list)
	*w = list
	return err
}

// parseInspect reads the description of one container.
func parseInspect(b []byte) (*found, error) {
	var list []*found
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("the description of the container does not read: %w", err)
	}
	if len(list) != 1 || list[0] == nil || list[0].ID == "" || list[0].State.Status == "" {
		return nil, errors.New("the engine does not describe one container")
	}
	return list[0], nil
}

// phase is what the state of a container comes to.
type phase int

const (
	between phase = iota // neither: paused, restarting, being removed, or unknown to us
	runs
	ended // or not begun
)

func (f *found) phase() phase {
	switch f.State.Status {
	case "running":
		return runs
	case "created", "configured", "initialized", "stopped", "exited", "dead":
		return ended
	}
	return between
}

// joins reports whether a namespace is that of the container of that identity.
func joins(mode, id string) bool { return strings.TrimPrefix(mode, "container:") == id }
