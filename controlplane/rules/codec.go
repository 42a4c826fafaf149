package main

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// protobufJSON encodes an object as the JSON that is left of it after a round trip through protobuf. The real server
// stores protobuf, which cannot tell an empty list from none.
type protobufJSON struct {
	runtime.Codec               // JSON
	stored        runtime.Codec // protobuf
}

func (p protobufJSON) Encode(obj runtime.Object, w io.Writer) error {
	text, err := runtime.Encode(p.Codec, obj)
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte(":[]")) || bytes.Contains(text, []byte(":null")) {
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
