package replay

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/lab/bench/corpus"
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

// Of returns the form of a kind on a tape of form f: JSON for a kind without protobuf.
func (f Form) Of(r corpus.Resource) Form {
	if f == Protobuf && !HasProtobuf(r) {
		return JSON
	}
	return f
}

// HasProtobuf reports whether a kind has a protobuf form, as those of k8s.io/api do.
func HasProtobuf(r corpus.Resource) bool {
	o, err := corpus.Scheme.New(r.GVK)
	if err != nil {
		return false
	}
	_, ok := o.(interface{ Marshal() ([]byte, error) })
	return ok
}

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
