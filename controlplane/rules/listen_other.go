//go:build !linux && !darwin

package main

import (
	"errors"
	"time"
)

func (p *program) listen(string, time.Duration) error { return errors.ErrUnsupported }
