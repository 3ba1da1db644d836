package cloud

// Name is the cloud of clouds.yaml that is used, "" when there is none.
func (c *Cloud) Name() string {
	if c.start() != nil {
		return ""
	}
	return c.settings.cloud
}
