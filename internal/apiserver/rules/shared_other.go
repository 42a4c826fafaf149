//go:build !linux && !darwin

package rules

import "errors"

func found(Options) (*conn, error) { return nil, errors.ErrUnsupported }

func shared(string, Options) (*conn, error) { return nil, errors.ErrUnsupported }
