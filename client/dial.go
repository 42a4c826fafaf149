package client

import "context"

// Dial calls [Config], [New] and [Live.Check]: it reads the configuration, makes a client for that
// cluster, and asks the server for its version. It returns their errors.
func Dial(ctx context.Context, where ConfigOptions, o Options) (*Live, error) {
	cfg, err := Config(where)
	if err != nil {
		return nil, err
	}
	c, err := New(cfg, o)
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
