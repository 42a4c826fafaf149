//go:build !linux && !darwin

package rules

import "errors"

func found(string) (*conn, error) { return nil, errors.ErrUnsupported }

func shared(string, Options) (*conn, error) { return nil, errors.ErrUnsupported }
