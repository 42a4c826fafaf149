package wire

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Encoding is how the bytes of an object are written.
type Encoding uint8

const (
	// JSON is an object as the API server sends it for custom resources, or where it was asked to.
	JSON Encoding = iota + 1
	// Protobuf is the message of a built-in kind, without the envelope that carries its kind.
	Protobuf
)

func (e Encoding) String() string {
	switch e {
	case JSON:
		return "json"
	case Protobuf:
		return "protobuf"
	}
	return "unknown encoding"
}

// Kind says what the bytes of a Raw are. One Kind is shared by all objects of a list or watch.
type Kind struct {
	GVK schema.GroupVersionKind
	// Scheme knows the Go type of the kind, if there is one. It is needed to read protobuf into an
	// unstructured object; nil is fine otherwise.
	Scheme *runtime.Scheme
}

// Raw is one object as it came over the wire. The bytes are never changed once the Raw is made
// and may be kept; whoever reads them must not write to them.
type Raw struct {
	Kind     *Kind
	Encoding Encoding
	Bytes    []byte
}
