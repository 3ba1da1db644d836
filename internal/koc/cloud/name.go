package cloud

import "context"

// Name is the cloud of clouds.yaml that is used, "" when there is none.
func (c *Cloud) Name(ctx context.Context) string {
	if c.start(ctx) != nil {
		return ""
	}
	return c.settings.cloud
}
