package wire

import (
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

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

// metaScanner reads one ObjectMeta. All strings of the header are parts of one copy of the
// message: one allocation instead of one for each string.
type metaScanner struct {
	h     object.Header
	text  string // copy of the message up to the last field that the header needs, without the hole
	hole  hole   // labels and annotations that come from textCache
	field string
	err   error

	digests             bool // computes them
	labels, annotations fields
}

// hole is a part of a message that is not copied.
type hole struct{ from, to int }

// widen adds the part from start to end. If it does not touch the hole, the hole becomes empty.
func (h *hole) widen(start, end int) {
	if h.to == 0 {
		h.from = start
	} else if h.to != start {
		h.from = end
	}
	h.to = end
}

// after returns the offset in the copy of the byte at i, which is outside of the hole.
func (h hole) after(i int) int {
	if i >= h.to {
		i -= h.to - h.from
	}
	return i
}

func (s *metaScanner) scan(meta []byte) {
	end, labels, annotations, owners := 0, 0, 0, 0
	c := cursor{b: meta}
	for start := 0; c.next(); start = c.i {
		switch c.num {
		case metaName, metaNamespace, metaUID, metaResourceVersion:
		case metaLabels:
			labels++
			s.labels.add(meta, start, c.i)
			s.hole.widen(start, c.i)
		case metaAnnotations:
			annotations++
			s.annotations.add(meta, start, c.i)
			s.hole.widen(start, c.i)
		case metaOwners:
			owners++
		default:
			continue
		}
		end = c.i
	}
	if s.digests {
		s.labels.flush(meta)
		s.annotations.flush(meta)
		s.h.Labels, s.h.Annotations = cachedTexts(s.labels.hash), cachedTexts(s.annotations.hash)
	}
	newLabels, newAnnotations := labels > 0 && s.h.Labels == nil, annotations > 0 && s.h.Annotations == nil
	// The pass below finds the error, after the readable fields before it.
	if newLabels || newAnnotations {
		s.hole = hole{}
	}
	var text strings.Builder
	text.Grow(end - (s.hole.to - s.hole.from))
	text.Write(meta[:s.hole.from])
	text.Write(meta[s.hole.to:end])
	s.text = text.String()
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
		cacheTexts(s.labels.hash, s.h.Labels, len(s.text))
	}
	if newAnnotations && s.digests {
		cacheTexts(s.annotations.hash, s.h.Annotations, len(s.text))
	}
}

// one reads the field under the cursor.
func (s *metaScanner) one(c *cursor) {
	switch c.num {
	case metaName:
		s.h.Name = s.str(c, 0, "metadata.name")
	case metaNamespace:
		s.h.Namespace = s.str(c, 0, "metadata.namespace")
	case metaUID:
		s.h.UID = types.UID(s.str(c, 0, "metadata.uid"))
	case metaResourceVersion:
		s.h.ResourceVersion = s.str(c, 0, "metadata.resourceVersion")
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

// str returns the string of the field under c. The message of c starts at base of the text.
func (s *metaScanner) str(c *cursor, base int, field string) string {
	if c.bytes(); c.err != nil {
		s.fail(field, c.err)
		return ""
	}
	from := s.hole.after(base + c.from)
	t := s.text[from : from+c.to-c.from]
	if !utf8.ValidString(t) {
		s.fail(field, errUTF8)
		return ""
	}
	return t
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
	sub, base := cursor{b: c.bytes(), err: c.err}, c.from
	var key, value string
	for sub.next() {
		switch sub.num {
		case 1:
			key = s.str(&sub, base, field)
		case 2:
			value = s.str(&sub, base, field)
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
	sub, base := cursor{b: c.bytes(), err: c.err}, c.from
	var o object.Owner
	for sub.next() {
		switch sub.num {
		case 1:
			o.Kind = s.str(&sub, base, field)
		case 3:
			o.Name = s.str(&sub, base, field)
		case 4:
			o.UID = types.UID(s.str(&sub, base, field))
		case 5:
			o.APIVersion = s.str(&sub, base, field)
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
