package wire

import (
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/protoscan"
	"github.com/flyball-io/flyball/object"
)

// Field numbers of metav1.ObjectMeta.
const (
	metaName              = 1
	metaNamespace         = 3
	metaUID               = 5
	metaResourceVersion   = 6
	metaGeneration        = 7
	metaDeletionTimestamp = 9
	metaLabels            = 11
	metaAnnotations       = 12
	metaOwners            = 13
	metaManagedFields     = 17
)

// metaField is the field of every kind that holds its ObjectMeta.
const metaField = 1

// scanProtobuf reads the header of an object, and on request the digests. After an error the header has the fields
// that were read before, and field is the path of the error.
func scanProtobuf(msg []byte, kind *Kind, digests bool) (h object.Header, d Digest, field string, err error) {
	var meta []byte
	if digests {
		meta, d, err = splitProtobuf(msg, kind.parts())
	} else {
		meta, _, err = protoscan.Embedded(msg, metaField)
	}
	if err != nil {
		// The body is broken; the metadata before it may still name the object.
		if c := (protoscan.Cursor{B: msg}); c.Next() && c.Num == metaField && c.Type == protoscan.Bytes {
			s := metaScanner{}
			s.scan(c.Bytes())
			h.Key = s.h.Key
		}
		return h, d, "", err
	}
	s := metaScanner{digests: digests}
	s.scan(meta)
	d.Labels, d.Annotations = s.labels.hash, s.annotations.hash
	return s.h, d, s.field, s.err
}

// metaScanner reads one ObjectMeta.
type metaScanner struct {
	h     object.Header
	texts decode.Strings
	field string
	err   error

	digests             bool // computes them
	labels, annotations fields
}

func (s *metaScanner) scan(meta []byte) {
	var labels, annotations, owners, labelBytes, annotationBytes int
	c := protoscan.Cursor{B: meta}
	for start := 0; c.Next(); start = c.I {
		switch c.Num {
		case metaLabels:
			labels++
			labelBytes += c.I - start
			s.labels.add(meta, start, c.I)
		case metaAnnotations:
			annotations++
			annotationBytes += c.I - start
			s.annotations.add(meta, start, c.I)
		case metaOwners:
			owners++
		}
	}
	if s.digests {
		s.labels.flush(meta)
		s.annotations.flush(meta)
		s.h.Labels, s.h.Annotations = cachedTexts(s.labels.hash), cachedTexts(s.annotations.hash)
	}
	newLabels, newAnnotations := labels > 0 && s.h.Labels == nil, annotations > 0 && s.h.Annotations == nil
	// The pass below finds the error, after the readable fields before it.
	if newLabels {
		s.h.Labels = make(map[string]string, labels)
	}
	if newAnnotations {
		s.h.Annotations = make(map[string]string, annotations)
	}
	if owners > 0 {
		s.h.Owners = make([]object.Owner, 0, owners)
	}
	c = protoscan.Cursor{B: meta}
	for c.Next() && s.err == nil {
		switch {
		case c.Num == metaLabels && !newLabels, c.Num == metaAnnotations && !newAnnotations:
		default:
			s.one(&c)
		}
	}
	switch {
	case s.err != nil:
		return
	case c.Err != nil:
		s.field, s.err = "metadata", c.Err
		return
	}
	if newLabels && s.digests {
		cacheTexts(s.labels.hash, s.h.Labels, labelBytes)
	}
	if newAnnotations && s.digests {
		cacheTexts(s.annotations.hash, s.h.Annotations, annotationBytes)
	}
}

// one reads the field under the cursor.
func (s *metaScanner) one(c *protoscan.Cursor) {
	switch c.Num {
	case metaName:
		s.h.Name = s.str(c, "metadata.name")
	case metaNamespace:
		s.h.Namespace = s.str(c, "metadata.namespace")
	case metaUID:
		s.h.UID = types.UID(s.str(c, "metadata.uid"))
	case metaResourceVersion:
		s.h.ResourceVersion = s.str(c, "metadata.resourceVersion")
	case metaGeneration:
		s.h.Generation = int64(c.Uint())
	case metaDeletionTimestamp:
		s.time(c)
	case metaLabels:
		s.entry(c, s.h.Labels, "metadata.labels")
	case metaAnnotations:
		s.entry(c, s.h.Annotations, "metadata.annotations")
	case metaOwners:
		s.owner(c)
	}
}

// str returns the string of the field under c.
func (s *metaScanner) str(c *protoscan.Cursor, field string) string {
	b := c.Bytes()
	switch {
	case c.Err != nil:
		s.fail(field, c.Err)
	case !utf8.Valid(b):
		s.fail(field, errUTF8)
	default:
		return s.texts.Keep(b)
	}
	return ""
}

func (s *metaScanner) fail(field string, err error) {
	if s.err == nil {
		s.field, s.err = field, err
	}
}

// time reads a Timestamp.
func (s *metaScanner) time(c *protoscan.Cursor) {
	var t metav1.Time
	b := c.Bytes()
	err := c.Err
	if err == nil {
		err = decode.Protobuf(b, &t)
	}
	if err != nil {
		s.fail("metadata.deletionTimestamp", err)
	}
	s.h.DeletionTimestamp = t.UTC()
}

// entry adds one map entry: key = 1, value = 2.
func (s *metaScanner) entry(c *protoscan.Cursor, into map[string]string, field string) {
	sub := c.Message()
	var key, value string
	for sub.Next() {
		switch sub.Num {
		case 1:
			key = s.str(&sub, field)
		case 2:
			value = s.str(&sub, field)
		}
	}
	if sub.Err != nil {
		s.fail(field, sub.Err)
		return
	}
	into[key] = value
}

// owner adds one OwnerReference: kind = 1, name = 3, uid = 4, apiVersion = 5, controller = 6.
func (s *metaScanner) owner(c *protoscan.Cursor) {
	const field = "metadata.ownerReferences"
	sub := c.Message()
	var o object.Owner
	for sub.Next() {
		switch sub.Num {
		case 1:
			o.Kind = s.str(&sub, field)
		case 3:
			o.Name = s.str(&sub, field)
		case 4:
			o.UID = types.UID(s.str(&sub, field))
		case 5:
			o.APIVersion = s.str(&sub, field)
		case 6:
			o.Controller = sub.Uint() != 0
		}
	}
	if sub.Err != nil {
		s.fail(field, sub.Err)
		return
	}
	s.h.Owners = append(s.h.Owners, o)
}
