package wire

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/decode"
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
		meta, _, err = embedded(msg, metaField)
	}
	if err != nil {
		// The body is broken; the metadata before it may still name the object.
		if c := (cursor{b: msg}); c.next() && c.num == metaField && c.typ == typeBytes {
			s := metaScanner{}
			s.scan(c.bytes())
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
	c := cursor{b: meta}
	for start := 0; c.next(); start = c.i {
		switch c.num {
		case metaLabels:
			labels++
			labelBytes += c.i - start
			s.labels.add(meta, start, c.i)
		case metaAnnotations:
			annotations++
			annotationBytes += c.i - start
			s.annotations.add(meta, start, c.i)
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
	c = cursor{b: meta}
	for c.next() && s.err == nil {
		switch {
		case c.num == metaLabels && !newLabels, c.num == metaAnnotations && !newAnnotations:
		default:
			s.one(&c)
		}
	}
	switch {
	case s.err != nil:
		return
	case c.err != nil:
		s.field, s.err = "metadata", c.err
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
func (s *metaScanner) one(c *cursor) {
	switch c.num {
	case metaName:
		s.h.Name = s.str(c, "metadata.name")
	case metaNamespace:
		s.h.Namespace = s.str(c, "metadata.namespace")
	case metaUID:
		s.h.UID = types.UID(s.str(c, "metadata.uid"))
	case metaResourceVersion:
		s.h.ResourceVersion = s.str(c, "metadata.resourceVersion")
	case metaGeneration:
		s.h.Generation = int64(c.uint())
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
func (s *metaScanner) str(c *cursor, field string) string {
	b := c.bytes()
	switch {
	case c.err != nil:
		s.fail(field, c.err)
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

// time reads a Timestamp: seconds = 1. As in apimachinery, parts of a second are dropped, and an empty message is the
// zero time.
func (s *metaScanner) time(c *cursor) {
	msg := c.bytes()
	s.h.DeletionTimestamp = time.Time{}
	if c.err == nil && len(msg) == 0 {
		return
	}
	sub, seconds := cursor{b: msg, err: c.err}, int64(0)
	for sub.next() {
		if sub.num == 1 {
			seconds = int64(sub.uint())
		}
	}
	if sub.err != nil {
		s.fail("metadata.deletionTimestamp", sub.err)
		return
	}
	s.h.DeletionTimestamp = time.Unix(seconds, 0).UTC()
}

// entry adds one map entry: key = 1, value = 2.
func (s *metaScanner) entry(c *cursor, into map[string]string, field string) {
	sub := cursor{b: c.bytes(), err: c.err}
	var key, value string
	for sub.next() {
		switch sub.num {
		case 1:
			key = s.str(&sub, field)
		case 2:
			value = s.str(&sub, field)
		}
	}
	if sub.err != nil {
		s.fail(field, sub.err)
		return
	}
	into[key] = value
}

// owner adds one OwnerReference: kind = 1, name = 3, uid = 4, apiVersion = 5, controller = 6.
func (s *metaScanner) owner(c *cursor) {
	const field = "metadata.ownerReferences"
	sub := cursor{b: c.bytes(), err: c.err}
	var o object.Owner
	for sub.next() {
		switch sub.num {
		case 1:
			o.Kind = s.str(&sub, field)
		case 3:
			o.Name = s.str(&sub, field)
		case 4:
			o.UID = types.UID(s.str(&sub, field))
		case 5:
			o.APIVersion = s.str(&sub, field)
		case 6:
			o.Controller = sub.uint() != 0
		}
	}
	if sub.err != nil {
		s.fail(field, sub.err)
		return
	}
	s.h.Owners = append(s.h.Owners, o)
}
