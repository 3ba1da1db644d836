package cloud

import "context"

// Name is the cloud of clouds.yaml that is used, "" when there is none.
func (c *Cloud) Name() string {
	if c.start(context.Background()) != nil {
		return ""
	}
	return c.settings.cloud
}
