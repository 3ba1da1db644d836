package cloud

// Name is the cloud of clouds.yaml that is used, "" when there is none or the
// session has not begun.
func (c *Cloud) Name() string {
	if c.settings == nil {
		return ""
	}
	return c.settings.cloud
}
