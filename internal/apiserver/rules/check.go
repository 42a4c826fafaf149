package rules

import (
	"errors"
	"fmt"
	"time"
)

// ErrProtocol says that a program is no rules program, or one of another version.
var ErrProtocol = errors.New("it does not speak the protocol of this version: build it from the same version of Flyball")

// checkBound is how long a program may take to say which protocol it speaks.
const checkBound = 30 * time.Second

// Check starts the program, and asks it for its protocol. For a program that somebody else has built.
func (c *Client) Check() error {
	p, err := c.running()
	if err != nil {
		return err
	}
	// What is no rules program may never answer. The timer ends it.
	late := time.AfterFunc(checkBound, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	switch answer, err := p.do(&Request{Method: methodProtocol}); {
	case err != nil:
		c.forget(p)
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case string(answer.Body) != Protocol():
		return ErrProtocol
	}
	return nil
}
