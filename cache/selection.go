package cache

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// selectionKey identifies an informer. Two selections have one key if they mean the same.
type selectionKey struct {
	gvk                       schema.GroupVersionKind
	namespace, labels, fields string
	within                    string
	metadataOnly              bool
}

func keyOf(gvk schema.GroupVersionKind, sel client.Selection) selectionKey {
	return selectionKey{
		gvk: gvk, namespace: sel.Namespace, metadataOnly: sel.MetadataOnly,
		labels: labelsKey(sel.Labels), fields: fieldsKey(sel.Fields),
	}
}

// nothingKey is the key of a selector that matches nothing. The text of such a selector is empty, as
// is that of one that matches everything.
const nothingKey = "nothing"

// labelsKey quotes the requirements: their text alone is ambiguous.
func labelsKey(sel labels.Selector) string {
	if sel == nil || sel.Empty() {
		return ""
	}
	requirements, selectable := sel.Requirements()
	if !selectable {
		return nothingKey
	}
	var terms []string
	for _, r := range requirements {
		terms = append(terms, fmt.Sprintf("%q %s %q", r.Key(), r.Operator(), r.Values().List()))
	}
	return joinTerms(terms)
}

// fieldsKey is labelsKey for fields. Only a selector that matches nothing has no requirement and is
// not empty.
func fieldsKey(sel fields.Selector) string {
	if sel == nil || sel.Empty() {
		return ""
	}
	var terms []string
	for _, r := range sel.Requirements() {
		terms = append(terms, fmt.Sprintf("%q %s %q", r.Field, r.Operator, r.Value))
	}
	if len(terms) == 0 {
		return nothingKey
	}
	return joinTerms(terms)
}

// joinTerms joins terms that must all hold, in any order.
func joinTerms(terms []string) string {
	slices.Sort(terms)
	return strings.Join(slices.Compact(terms), ", ")
}
