package client

import "context"

// Dial is [Config], [New] and [Live.Check] in one: it reads the configuration, makes a client for
// that cluster, and asks the server for its version. Its errors are theirs.
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
