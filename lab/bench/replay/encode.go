package replay

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// These are parts of protobuf on the wire. An envelope names the kind and contains the bytes of a
// message. A list consists of its metadata and its items. A watch event consists of its type and an
// object in an envelope of its own; a frame is a length of four bytes and an event.
const (
	magic = "k8s\x00"

	envelopeType = 1 // the numbers of fields
	envelopeRaw  = 2
	listMeta     = 1
	listItem     = 2
	eventType    = 1
	eventObject  = 2
)

// Message returns one object in this form, without an envelope.
func (f Form) Message(o corpus.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	if f.metadata() {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metaOf(o)}
		if f.protobuf() {
			return m.Marshal()
		}
		m.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
		return json.Marshal(m)
	}
	if f.protobuf() {
		p, ok := o.(interface{ Marshal() ([]byte, error) })
		if !ok {
			return nil, fmt.Errorf("%s has no protobuf form", gvk.Kind)
		}
		return p.Marshal()
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(o)
}

func metaOf(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), GenerateName: o.GetGenerateName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Generation: o.GetGeneration(), CreationTimestamp: o.GetCreationTimestamp(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		OwnerReferences: o.GetOwnerReferences(), Finalizers: o.GetFinalizers(), ManagedFields: o.GetManagedFields(),
	}
}

// envelope returns the bytes before a message of n bytes.
func envelope(gvk schema.GroupVersionKind, n int) []byte {
	tm := runtime.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	head, err := (&runtime.Unknown{TypeMeta: tm}).Marshal()
	if err != nil {
		panic(err) // it has two strings
	}
	// Only the first field of the envelope is needed: the others come after the message.
	_, _, skip := protowire.ConsumeTag(head)
	size := skip + protowire.ConsumeFieldValue(envelopeType, protowire.BytesType, head[skip:])
	head = append([]byte(magic), head[:size]...)
	head = protowire.AppendTag(head, envelopeRaw, protowire.BytesType)
	return protowire.AppendVarint(head, uint64(n))
}

func metadataOfList(version int, next string, remaining int64) []byte {
	m := metav1.ListMeta{ResourceVersion: strconv.Itoa(version), Continue: next}
	if next != "" {
		m.RemainingItemCount = &remaining
	}
	b, err := m.Marshal()
	if err != nil {
		panic(err) // it has two strings and a number
	}
	return b
}

// frame appends a watch event to b.
func (f Form) frame(b []byte, event string, gvk schema.GroupVersionKind, message []byte) []byte {
	if !f.protobuf() {
		b = append(b, `{"type":"`+event+`","object":`...)
		return append(append(b, message...), "}\n"...)
	}
	env := envelope(gvk, len(message))
	object := len(env) + len(message)
	raw := protowire.SizeTag(1) + protowire.SizeBytes(object)
	size := protowire.SizeTag(eventType) + protowire.SizeBytes(len(event)) + protowire.SizeTag(eventObject) + protowire.SizeBytes(raw)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = protowire.AppendTag(b, eventType, protowire.BytesType)
	b = protowire.AppendString(b, event)
	b = protowire.AppendTag(b, eventObject, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(raw))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(object))
	return append(append(b, env...), message...)
}

// bookmark returns the message of a bookmark. ended marks the one that ends a streaming list.
func (f Form) bookmark(gvk schema.GroupVersionKind, version int, ended bool) []byte {
	meta := metav1.ObjectMeta{ResourceVersion: strconv.Itoa(version)}
	if ended {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	m := &metav1.PartialObjectMetadata{ObjectMeta: meta}
	var b []byte
	var err error
	if f.protobuf() {
		// Every kind has its metadata in the first field, as this one.
		b, err = m.Marshal()
	} else {
		m.TypeMeta = metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
		b, err = json.Marshal(m)
	}
	if err != nil {
		panic(err) // it has a few strings
	}
	return b
}
