package cloud

// password is that of the settings, or asked for.
func (c *Cloud) password() (string, error) {
	return c.settings.text("password"), nil
}
