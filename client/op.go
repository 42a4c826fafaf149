package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// Verb is what an Op does, in the words of RBAC.
type Verb string

// The verbs of an Op.
const (
	VerbCreate    Verb = "create"
	VerbUpdate    Verb = "update"
	VerbPatch     Verb = "patch"
	VerbApply     Verb = "apply" // a server-side apply; RBAC calls it patch
	VerbDelete    Verb = "delete"
	VerbDeleteAll Verb = "deletecollection"
)

// Op is one write, as a value: what a [Writer] is asked to do. A wrapper may look at it, change
// its copy, record it or refuse it; it must not change what the pointers in it point to.
type Op struct {
	Verb Verb
	// Object is what is written. Of the object of a patch or a delete only the kind, the
	// namespace and the name count; of that of a VerbDeleteAll only the kind.
	Object object.Object
	// Subresource is written instead of the object itself; empty: the object.
	Subresource string
	// Body is what is sent (create, update, apply) and the type of the answer, where a
	// subresource is of another kind than its object: a Scale, an Eviction, a TokenRequest.
	// nil: Object.
	Body object.Object
	// Patch is the change of a VerbPatch.
	Patch PatchData
	// Owner of the fields that are set. Empty: the client's default; an apply must have one.
	Owner string
	// Force takes fields over from other owners, in an apply.
	Force bool
	// IfAbsent has an apply create the object, and fail with an [AlreadyExistsError] where there is one.
	IfAbsent bool
	// DryRun has the server keep nothing.
	DryRun bool
	// Validation of unknown and duplicate fields. Empty: Strict for an apply, else the server's
	// default.
	Validation FieldValidation
	// DropUnknown lets an update remove fields that the Go type of the object does not have.
	DropUnknown bool
	// IfUID and IfVersion are the preconditions of a delete; nil: none.
	IfUID     *types.UID
	IfVersion *string
	// Propagation and Grace of a delete; empty and nil: the default of the kind. Grace is in
	// seconds.
	Propagation Propagation
	Grace       *int64
	// Select says which objects a VerbDeleteAll deletes: its namespace and selectors.
	Select ListOptions
}

// InvalidOpError is the error for a call that makes no sense: a write, or an option that the call would
// have to ignore. Nothing was sent.
type InvalidOpError struct {
	Verb Verb
	// Field of [Op], [GetOptions] or [ListOptions] that is wrong.
	Field string
	// Problem with it.
	Problem string
}

func (e *InvalidOpError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Verb, e.Field, e.Problem) }

// validate finds the first field that makes no sense for the verb.
func (op *Op) validate() error {
	bad := func(field, problem string) error {
		return &InvalidOpError{Verb: op.Verb, Field: field, Problem: problem}
	}
	switch op.Verb {
	case VerbCreate, VerbUpdate, VerbPatch, VerbApply, VerbDelete, VerbDeleteAll:
	default:
		return bad("Verb", "unknown")
	}
	deletes := op.Verb == VerbDelete || op.Verb == VerbDeleteAll
	switch {
	case isNil(op.Object):
		return bad("Object", "is nil")
	case op.Body != nil && op.Subresource == "":
		return bad("Body", "is for subresources only")
	case op.Verb == VerbPatch && op.Patch.err != nil:
		return op.Patch.err
	case op.Verb == VerbPatch && op.Patch.kind == "":
		return bad("Patch", "is empty")
	case op.Verb != VerbPatch && op.Patch.kind != "":
		return bad("Patch", "is for a patch only")
	case op.Force && op.Verb != VerbApply:
		return bad("Force", "is for an apply only")
	case op.IfAbsent && (op.Verb != VerbApply || op.Subresource != ""):
		return bad("IfAbsent", "is for an apply of an object only")
	case op.DropUnknown && op.Verb != VerbUpdate:
		return bad("DropUnknown", "is for an update only")
	case deletes && op.Validation != "":
		return bad("Validation", "has no meaning for a delete")
	case deletes && op.Subresource != "":
		return bad("Subresource", "cannot be deleted")
	case !deletes && (op.IfUID != nil || op.IfVersion != nil):
		return bad("IfUID, IfVersion", "are for a delete only")
	case !deletes && (op.Propagation != "" || op.Grace != nil):
		return bad("Propagation, Grace", "are for a delete only")
	case op.Verb != VerbDeleteAll && op.Select != (ListOptions{}):
		return bad("Select", "is for deletecollection only")
	case op.Verb == VerbDeleteAll && !op.Select.onlySelects():
		return bad("Select", "has more than a kind, a namespace and selectors")
	}
	switch op.Validation {
	case "", Strict, Warn, Ignore:
	default:
		return bad("Validation", fmt.Sprintf("%q is none of Strict, Warn, Ignore", string(op.Validation)))
	}
	return nil
}

// onlySelects reports whether no option is set but those that a deletecollection honors.
func (o ListOptions) onlySelects() bool {
	o.Kind, o.Namespace, o.Labels, o.Fields = schema.GroupVersionKind{}, "", nil, nil
	return o == ListOptions{}
}
