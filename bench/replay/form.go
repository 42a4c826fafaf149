package replay

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Form is the encoding of objects on the wire.
type Form string

// These are the forms, by their names on the command line.
const (
	JSON             Form = "json"
	Protobuf         Form = "protobuf"
	MetadataJSON     Form = "metadata-json"
	MetadataProtobuf Form = "metadata-protobuf"
)

func (f Form) protobuf() bool { return f == Protobuf || f == MetadataProtobuf }
func (f Form) metadata() bool { return f == MetadataJSON || f == MetadataProtobuf }

// negotiate returns the first supported form of an Accept header. protobuf says whether the kind
// has that form.
func negotiate(accept string, protobuf bool) (Form, bool) {
	for clause := range strings.SplitSeq(accept, ",") {
		media, rest, _ := strings.Cut(strings.TrimSpace(clause), ";")
		params := map[string]string{}
		for p := range strings.SplitSeq(rest, ";") {
			k, v, _ := strings.Cut(strings.TrimSpace(p), "=")
			params[k] = v
		}
		as := params["as"]
		meta := as == "PartialObjectMetadata" || as == "PartialObjectMetadataList"
		if as != "" && !meta {
			continue // a Table, say
		}
		switch {
		case media == "application/vnd.kubernetes.protobuf" && meta:
			return MetadataProtobuf, true
		case media == "application/vnd.kubernetes.protobuf" && protobuf:
			return Protobuf, true
		case (media == "application/json" || media == "*/*") && meta:
			return MetadataJSON, true
		case media == "application/json" || media == "*/*":
			return JSON, true
		}
	}
	return "", false
}

// contentType returns the content type of a list, or of the frames of a watch.
func (f Form) contentType(watch bool) string {
	switch {
	case !f.protobuf():
		return "application/json"
	case watch:
		return "application/vnd.kubernetes.protobuf;stream=watch"
	}
	return "application/vnd.kubernetes.protobuf"
}

// kinds returns the kinds of an object and of a list in this form.
func (f Form) kinds(of schema.GroupVersionKind) (item, list schema.GroupVersionKind) {
	if f.metadata() {
		of = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	return of, of.GroupVersion().WithKind(of.Kind + "List")
}
