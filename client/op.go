package client

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// The verbs of requests, mostly in the words of RBAC. RBAC calls an apply patch.
const (
	verbGet       = "get"
	verbList      = "list"
	verbWatch     = "watch"
	verbCreate    = "create"
	verbUpdate    = "update"
	verbPatch     = "patch"
	verbApply     = "apply"
	verbDelete    = "delete"
	verbDeleteAll = "deletecollection"
)

// Op is one write as a value, for a [Writer]. A wrapper may read it, change its copy, record it or
// refuse it. It must not change what the pointers in it point to.
type Op struct {
	// Verb is "create", "update", "patch", "apply", "delete" or "deletecollection".
	Verb string
	// Object is the object to write. A patch and a delete read only its kind, namespace and name;
	// a "deletecollection" only its kind.
	Object object.Object
	// Subresource is written instead of the object itself; empty: the object.
	Subresource string
	// Body is sent instead of Object (create, update, apply), and is the type of the answer, if a
	// subresource is of another kind: a Scale, an Eviction, a TokenRequest. nil: Object.
	Body object.Object
	// Patch is that of a "patch".
	Patch PatchData
	// Owner is the field manager. Empty: the client's default. An apply must have one.
	Owner string
	// Force lets an apply take over fields of other owners.
	Force bool
	// IfAbsent makes an apply create the object or fail with an [AlreadyExistsError].
	IfAbsent bool
	// DryRun asks the server to store nothing.
	DryRun bool
	// Validation of unknown and duplicate fields. Empty: Strict for an apply, else the server's
	// default.
	Validation FieldValidation
	// DropUnknown lets an update remove fields that the object's Go type does not have, and a [Diff] those of
	// elements of the lists that it changes.
	DropUnknown bool
	// Delete has the preconditions, the propagation and the grace period of a delete. Its other
	// fields are not used.
	Delete metav1.DeleteOptions
	// Select says which objects a "deletecollection" deletes, by Kind, Namespace, Labels and Fields. Any
	// other option in it is an error.
	Select ListOptions
}

// validate returns an error for the first field that makes no sense for the verb.
func (op *Op) validate() error {
	bad := func(field, problem string) error {
		return &ArgumentError{Call: Call{Verb: op.Verb}, Argument: field, Problem: problem}
	}
	switch op.Verb {
	case verbCreate, verbUpdate, verbPatch, verbApply, verbDelete, verbDeleteAll:
	default:
		return bad("Verb", "unknown")
	}
	deletes := op.Verb == verbDelete || op.Verb == verbDeleteAll
	switch {
	case isNil(op.Object):
		return bad("Object", "is nil")
	case op.Body != nil && op.Subresource == "":
		return bad("Body", "is for subresources only")
	case op.Verb == verbPatch && op.Patch.err != nil:
		return op.Patch.err
	case op.Verb == verbPatch && op.Patch.kind == "":
		return bad("Patch", "is empty")
	case op.Verb != verbPatch && op.Patch.kind != "":
		return bad("Patch", "is for a patch only")
	case op.Force && op.Verb != verbApply:
		return bad("Force", "is for an apply only")
	case op.IfAbsent && (op.Verb != verbApply || op.Subresource != ""):
		return bad("IfAbsent", "is for an apply of an object only")
	case op.DropUnknown && op.Verb != verbUpdate && op.Verb != verbPatch:
		return bad("DropUnknown", "is for an update or a patch only")
	case deletes && op.Validation != "":
		return bad("Validation", "has no meaning for a delete")
	case deletes && op.Subresource != "":
		return bad("Subresource", "cannot be deleted")
	case !deletes && !reflect.DeepEqual(op.Delete, metav1.DeleteOptions{}):
		return bad("Delete", "is for a delete only")
	case op.Verb != verbDeleteAll && op.Select != (ListOptions{}):
		return bad("Select", "is for deletecollection only")
	case op.Verb == verbDeleteAll && !op.Select.onlySelects():
		return bad("Select", "has more than a kind, a namespace and selectors")
	}
	switch op.Validation {
	case "", metav1.FieldValidationStrict, metav1.FieldValidationWarn, metav1.FieldValidationIgnore:
	default:
		return bad("Validation", fmt.Sprintf("%q is none of Strict, Warn, Ignore", string(op.Validation)))
	}
	return nil
}

// preconditions are those of a delete.
func (op *Op) preconditions() *metav1.Preconditions {
	if op.Delete.Preconditions == nil {
		op.Delete.Preconditions = &metav1.Preconditions{}
	}
	return op.Delete.Preconditions
}

// onlySelects reports whether only options are set that a deletecollection honors.
func (o ListOptions) onlySelects() bool {
	o.Kind, o.Namespace, o.Labels, o.Fields = schema.GroupVersionKind{}, "", nil, nil
	return o == ListOptions{}
}
