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

// Check compares the protocol of the program with [Protocol]. It is for programs that were built elsewhere. A program
// that nobody shares yet is started for it: whatever the program is, it has ended afterwards.
func (c *Client) Check() error {
	if c.options.Socket != "" {
		if p, err := found(c.options); err == nil {
			err := speaks(p, func() { p.out.Close() })
			p.close()
			if err == nil {
				return nil
			}
		}
	}
	p, kill, err := own(c.binary, c.options.Frame)
	if err != nil {
		return fmt.Errorf("rules: start of the rules program: %w", err)
	}
	defer p.close()
	defer kill()
	return speaks(p, kill)
}

// speaks asks a program for its protocol. A program that does not answer in time is ended by a call of end.
func speaks(p *conn, end func()) error {
	late := time.AfterFunc(checkBound, end)
	defer late.Stop()
	switch answer, err := p.do(&Request{Protocol: true}); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case string(answer.Body) != Protocol():
		return ErrProtocol
	}
	return nil
}
