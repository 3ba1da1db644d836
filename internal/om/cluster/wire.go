package cluster

import (
	"encoding/json"
	"fmt"
	"time"
)

// resourceConfig is a [ResourceConfig] as it travels.
type resourceConfig struct {
	IsDisabled   bool   `json:"is_disabled"`
	IsMonitored  bool   `json:"is_monitored"`
	IsStandby    bool   `json:"is_standby"`
	Restart      int    `json:"restart"`
	RestartDelay string `json:"restart_delay"`
}

// MarshalJSON writes the delay as a duration, "500ms".
func (c ResourceConfig) MarshalJSON() ([]byte, error) {
	return json.Marshal(resourceConfig{c.IsDisabled, c.IsMonitored, c.IsStandby, c.Restart, c.RestartDelay.String()})
}

// UnmarshalJSON is the inverse of [ResourceConfig.MarshalJSON]. No delay is zero.
func (c *ResourceConfig) UnmarshalJSON(data []byte) error {
	var w resourceConfig
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*c = ResourceConfig{IsDisabled: w.IsDisabled, IsMonitored: w.IsMonitored, IsStandby: w.IsStandby, Restart: w.Restart}
	if w.RestartDelay == "" {
		return nil
	}
	delay, err := time.ParseDuration(w.RestartDelay)
	if err != nil {
		return fmt.Errorf("restart_delay: %w", err)
	}
	c.RestartDelay = delay
	return nil
}

// MarshalJSON writes the maps that nothing was put in as empty ones.
func (m InstanceMonitor) MarshalJSON() ([]byte, error) {
	type plain InstanceMonitor // without this method
	if m.GlobalExpectOptions == nil {
		m.GlobalExpectOptions = map[string]any{}
	}
	if m.Resources == nil {
		m.Resources = map[string]ResourceMonitor{}
	}
	if m.Parents == nil {
		m.Parents = map[string]Status{}
	}
	if m.Children == nil {
		m.Children = map[string]Status{}
	}
	return json.Marshal(plain(m))
}
