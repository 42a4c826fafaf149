package main

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// likeProtobuf is the codec of objects that the real server stores in protobuf. That makes no difference between an
// empty list and none, so both are written alike here, too.
type likeProtobuf struct {
	runtime.Codec
	protobuf runtime.Codec
}

func (s likeProtobuf) Encode(obj runtime.Object, w io.Writer) error {
	var b bytes.Buffer
	if err := s.Codec.Encode(obj, &b); err != nil {
		return err
	}
	if text := b.Bytes(); bytes.Contains(text, []byte(":[]")) || bytes.Contains(text, []byte(":null")) {
		raw, err := runtime.Encode(s.protobuf, obj)
		if err != nil {
			return err
		}
		if obj, err = runtime.Decode(s.protobuf, raw); err != nil {
			return err
		}
		return s.Codec.Encode(obj, w)
	}
	_, err := w.Write(b.Bytes())
	return err
}
