package sizes

import (
	"bytes"
	"encoding/binary"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

var (
	builtIn    = scheme.New()
	stockProto = protobuf.NewSerializerWithOptions(builtIn, builtIn, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})
	stockJSON  = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, builtIn, builtIn, kjson.SerializerOptions{StreamingCollectionsEncoding: true})
	custom     = unstructured.UnstructuredJSONScheme
)

// encode encodes as an API server does.
func encode(o runtime.Object, enc wire.Encoding) []byte {
	s := runtime.Encoder(stockJSON)
	if enc == wire.Protobuf {
		s = stockProto
	}
	var b bytes.Buffer
	if err := s.Encode(o, &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// decode decodes as client-go does.
func decode(b []byte, enc wire.Encoding, isCustom bool) runtime.Object {
	s := runtime.Decoder(stockJSON)
	switch {
	case enc == wire.Protobuf:
		s = stockProto
	case isCustom:
		s = custom
	}
	o, _, err := s.Decode(b, nil, nil)
	if err != nil {
		panic(err)
	}
	return o
}

// Object encodes one object.
func (c *Case) Object(o object.Object) []byte { return encode(c.named(o), c.Encoding) }

// named returns a shallow copy of an object that says its kind.
func (c *Case) named(o object.Object) runtime.Object {
	if m, ok := o.(*corev1.ConfigMap); ok {
		m := *m
		m.SetGroupVersionKind(c.GVK)
		return &m
	}
	return o
}

// Decode decodes an object of the kind as client-go does.
func (c *Case) Decode(b []byte, contentType string) object.Object {
	enc, _, err := wire.ParseContentType(contentType)
	if err != nil {
		panic(err)
	}
	return decode(b, enc, c.GVK == Things).(object.Object)
}

// List encodes a list, or a page of one.
func (c *Case) List(items []object.Object, next string) []byte {
	meta := metav1.ListMeta{ResourceVersion: "1000", Continue: next}
	if c.GVK == Things {
		l := &unstructured.UnstructuredList{Object: map[string]any{}}
		l.SetGroupVersionKind(c.GVK.GroupVersion().WithKind(c.GVK.Kind + "List"))
		l.SetResourceVersion(meta.ResourceVersion)
		l.SetContinue(next)
		for _, o := range items {
			l.Items = append(l.Items, *o.(*unstructured.Unstructured))
		}
		return encode(l, c.Encoding)
	}
	l := &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: meta}
	for _, o := range items {
		l.Items = append(l.Items, *o.(*corev1.ConfigMap))
	}
	return encode(l, c.Encoding)
}

// Frame encodes a watch event.
func (c *Case) Frame(e Event) []byte {
	w := metav1.WatchEvent{Type: e.Type, Object: runtime.RawExtension{Raw: bytes.TrimRight(c.Object(e.Object), "\n")}}
	if c.Encoding == wire.JSON {
		b, err := json.Marshal(w)
		if err != nil {
			panic(err)
		}
		return append(b, '\n')
	}
	w.Object.Raw = c.Object(e.Object)
	b, err := w.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// Bookmark encodes a bookmark, which may end a streaming list.
func (c *Case) Bookmark(version string, ends bool) []byte {
	o := c.New("", 0)
	o.SetResourceVersion(version)
	if ends {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return c.Frame(Event{"BOOKMARK", o})
}

// Watch encodes a whole watch: the objects of a streaming list, if streaming is set, the events, and a bookmark.
func (c *Case) Watch(streaming bool) (b []byte) {
	if streaming {
		for _, o := range c.First {
			b = append(b, c.Frame(Event{"ADDED", o})...)
		}
		b = append(b, c.Bookmark("1000", true)...)
	}
	for _, e := range c.Events {
		b = append(b, c.Frame(e)...)
	}
	return append(b, c.Bookmark("2000", false)...)
}

// ContentType is that of lists and objects.
func (c *Case) ContentType() string {
	if c.Encoding == wire.Protobuf {
		return wire.ContentTypeProtobuf
	}
	return wire.ContentTypeJSON
}

// Kind is that of the objects.
func (c *Case) Kind() *wire.Kind { return &wire.Kind{GVK: c.GVK, Scheme: builtIn} }

// Proto returns an empty object for readers: typed if there is a Go type.
func (c *Case) Proto() object.Object {
	if c.GVK == configMaps {
		return &corev1.ConfigMap{}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.GVK)
	return u
}

// JSON encodes one object in JSON.
func (c *Case) JSON(o object.Object) []byte { return bytes.TrimSpace(encode(c.named(o), wire.JSON)) }

// GVR is the resource of the objects.
func (c *Case) GVR() schema.GroupVersionResource {
	return c.GVK.GroupVersion().WithResource(plural(c.GVK.Kind))
}

// Path is the path of the objects in a namespace.
func (c *Case) Path(namespace string) string {
	group := "/api/v1"
	if c.GVK == Things {
		group = "/apis/" + Things.GroupVersion().String()
	}
	return group + "/namespaces/" + namespace + "/" + plural(c.GVK.Kind)
}
