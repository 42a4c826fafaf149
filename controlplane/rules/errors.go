package main

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// inOrder sorts the errors of an answer where the real handlers list them in the random order of a map: those about one
// map of a built-in kind, all about a custom resource, and the managers whose fields an apply would change. Other errors
// keep their places.
func inOrder(body []byte, contentType string, custom bool) []byte {
	return withStatus(body, contentType, func(s *metav1.Status) bool {
		if s.Details == nil || len(s.Details.Causes) < 2 {
			return false
		}
		if s.Reason == metav1.StatusReasonConflict {
			sortManagers(s.Details.Causes)
			return true
		}
		return s.Reason == metav1.StatusReasonInvalid && sortInvalid(s, custom)
	})
}

// unnamed removes a generated name from the error for a role or binding that grants more than the user has. The real
// server looks at that before it generates the name.
func unnamed(body []byte, contentType, name string) []byte {
	return withStatus(body, contentType, func(s *metav1.Status) bool {
		if s.Details == nil || s.Details.Name != name || !strings.Contains(s.Message, "attempting to grant RBAC permissions not currently held") {
			return false
		}
		s.Details.Name, s.Message = "", strings.Replace(s.Message, strconv.Quote(name)+" ", "", 1)
		return true
	})
}

// withStatus returns an answer whose Status change has changed; the answer itself if it reports that it has not, or if
// there is no Status.
func withStatus(body []byte, contentType string, change func(*metav1.Status) bool) []byte {
	mediaType, _, _ := strings.Cut(contentType, ";")
	info, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return body
	}
	s := &metav1.Status{}
	if _, _, err := info.Serializer.Decode(body, nil, s); err != nil || !change(s) {
		return body
	}
	encoder := info.Serializer
	if info.PrettySerializer != nil && bytes.HasPrefix(body, []byte("{\n")) {
		encoder = info.PrettySerializer
	}
	var changed bytes.Buffer
	if err := encoder.Encode(s, &changed); err != nil {
		return body
	}
	return changed.Bytes()
}

// sortManagers sorts the fields of other managers by manager. Those of one are in order already.
func sortManagers(causes []metav1.StatusCause) {
	slices.SortStableFunc(causes, func(a, b metav1.StatusCause) int {
		if a.Type != metav1.CauseTypeFieldManagerConflict || b.Type != metav1.CauseTypeFieldManagerConflict {
			return 0
		}
		return strings.Compare(a.Message, b.Message)
	})
}

// sortInvalid sorts the errors about an invalid object, and reports whether they may be sorted.
func sortInvalid(s *metav1.Status, custom bool) bool {
	head, _, ok := strings.Cut(s.Message, " is invalid: [")
	if !ok || strings.HasPrefix(s.Message, "admission webhook ") { // a webhook's errors are in the order that it has chosen
		return false
	}
	if custom {
		slices.SortFunc(s.Details.Causes, ofCustom)
	} else {
		sortMaps(s.Details.Causes)
	}
	var texts []string
	for _, c := range s.Details.Causes {
		if text := c.Field + ": " + c.Message; !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	s.Message = head + " is invalid: [" + strings.Join(texts, ", ") + "]"
	return true
}

// ofCustom orders errors about a custom resource. Errors about its own metadata come first, as on the real server.
func ofCustom(a, b metav1.StatusCause) int {
	own := func(c metav1.StatusCause) int {
		if first, _, _ := strings.Cut(c.Field, "."); first == "metadata" {
			return 0
		}
		return 1
	}
	return cmp.Or(own(a)-own(b), bySchema(a, b))
}

// bySchema orders errors by field, type and message. An error about the whole object comes last: it says that rules
// were not checked because of the others.
func bySchema(a, b metav1.StatusCause) int {
	const whole = "<nil>"
	if (a.Field == whole) != (b.Field == whole) {
		return strings.Compare(b.Field, a.Field)
	}
	return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Message, b.Message))
}

// sortMaps sorts each run of errors about the maps of one object.
func sortMaps(causes []metav1.StatusCause) {
	for begin := 0; begin < len(causes); {
		owner, end := mapOwner(causes[begin].Field), begin+1
		for owner != "" && end < len(causes) && mapOwner(causes[end].Field) == owner {
			end++
		}
		slices.SortFunc(causes[begin:end], bySchema)
		begin = end
	}
}

// mapField matches fields that are maps, and whose errors name no key in brackets: these errors are about the whole
// map, or have the key as a field.
var mapField = regexp.MustCompile(`(^|\.)((labels|annotations|matchLabels|nodeSelector|parameters|data|binaryData|limits|requests|capacity|allocatable|overhead|hard)(\.|$)|selector$)`)

// mapOwner returns the field of the struct whose map an error is about; "" if the error is about no map.
func mapOwner(field string) string {
	for at, c := range field {
		if c != '[' {
			continue
		}
		key, _, _ := strings.Cut(field[at+1:], "]")
		if _, err := strconv.Atoi(key); err != nil { // an index is that of a list
			return "." + field[:max(0, strings.LastIndexByte(field[:at], '.'))]
		}
	}
	if at := mapField.FindStringIndex(field); at != nil {
		return "." + field[:at[0]]
	}
	return ""
}
