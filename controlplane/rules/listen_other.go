//go:build !linux && !darwin

package main

import (
	"errors"
	"time"
)

func (s *server) listen(string, time.Duration) error { return errors.ErrUnsupported }
