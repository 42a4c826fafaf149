//go:build !linux

package heap

import "errors"

func mapRange(int) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapRange([]byte) error      { return errors.ErrUnsupported }
func discard([]byte)               {}
