package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// Verb is what an Op does, mostly in the words of RBAC.
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

// Op is one write as a value, for a [Writer]. A wrapper may read it, change its copy, record it or
// refuse it. It must not change what the pointers in it point to.
type Op struct {
	Verb Verb
	// Object is the object to write. A patch and a delete read only its kind, namespace and name;
	// a VerbDeleteAll only its kind.
	Object object.Object
	// Subresource is written instead of the object itself; empty: the object.
	Subresource string
	// Body is sent instead of Object (create, update, apply), and is the type of the answer, if a
	// subresource is of another kind: a Scale, an Eviction, a TokenRequest. nil: Object.
	Body object.Object
	// Patch is the patch of a VerbPatch.
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
	// DropUnknown lets an update remove fields that the object's Go type does not have.
	DropUnknown bool
	// IfUID and IfVersion are the preconditions of a delete; nil: none.
	IfUID     *types.UID
	IfVersion *string
	// Propagation and Grace are for a delete; empty and nil: the default of the kind. Grace is in
	// seconds.
	Propagation Propagation
	Grace       *int64
	// Select says which objects a VerbDeleteAll deletes, by Kind, Namespace, Labels and Fields. Any
	// other option in it is an error.
	Select ListOptions
}

// InvalidOpError is the error for a write that makes no sense, and for an option that a call cannot
// honor. Nothing was sent.
type InvalidOpError struct {
	Verb Verb
	// Field is the field of [Op], [GetOptions] or [ListOptions] that is wrong.
	Field string
	// Problem says what is wrong with it.
	Problem string
}

func (e *InvalidOpError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Verb, e.Field, e.Problem) }

// validate returns an error for the first field that makes no sense for the verb.
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

// onlySelects reports whether only options are set that a deletecollection honors.
func (o ListOptions) onlySelects() bool {
	o.Kind, o.Namespace, o.Labels, o.Fields = schema.GroupVersionKind{}, "", nil, nil
	return o == ListOptions{}
}
