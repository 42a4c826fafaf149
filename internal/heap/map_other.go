//go:build !linux

package heap

import "errors"

func mapMemory(int) ([]byte, error) { return nil, errors.ErrUnsupported }
func unmapMemory([]byte)            {}
