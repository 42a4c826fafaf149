package main

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// plainly encodes objects as JSON, without what the real server loses: it stores protobuf, which has no lists
// that are empty and yet there.
type plainly struct {
	runtime.Codec
	stored runtime.Codec
}

func (p plainly) Encode(obj runtime.Object, w io.Writer) error {
	text, err := runtime.Encode(p.Codec, obj)
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte(":[]")) {
		raw, err := runtime.Encode(p.stored, obj)
		if err != nil {
			return err
		}
		if obj, err = runtime.Decode(p.stored, raw); err != nil {
			return err
		}
		if text, err = runtime.Encode(p.Codec, obj); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}
