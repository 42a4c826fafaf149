package rules

import (
	"errors"
	"fmt"
	"time"
)

// ErrProtocol is the error of [Client.Check] for a program that is no rules program, or one of another version.
var ErrProtocol = errors.New("it does not speak the protocol of this version: build it from the same version of Flyball")

// checkBound bounds the time until the answer of [Client.Check].
const checkBound = 30 * time.Second

// Check starts the program and compares its protocol with [Protocol]. It is for programs that were built elsewhere.
func (c *Client) Check() error {
	p, err := c.running()
	if err != nil {
		return err
	}
	// Another program may never answer. The timer kills it.
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
