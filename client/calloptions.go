package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GetOptions says how to read one object. The zero value reads the object itself.
type GetOptions struct {
	// Kind is the kind of an unstructured or metadata-only object that does not name its own.
	Kind schema.GroupVersionKind
	// ResourceVersion asks for a state that is not older; "0" allows any age. Empty: the latest state of
	// the server, and of a cache the one that it holds. A cache refuses any version but "0".
	ResourceVersion string
	// Live asks the server, past any cache. A reader without a server returns an [ErrNotLive].
	Live bool
	// Subresource is read instead of the object, for example "scale". Parent is the kind that has
	// the subresource, if it differs from the kind of the object read into. Parent alone is an
	// error.
	Subresource string
	Parent      schema.GroupVersionKind
	// EvenUnavailable lets a cache answer while the kind is unavailable. A kind is unavailable while
	// the server answers as if it did not serve the kind, and has not confirmed that the kind is
	// gone. The answer may be out of date. Without the option the read is an error that is
	// [object.ErrNoAnswer]. Reads from the server ignore it.
	EvenUnavailable bool
}

// ListOptions says which objects of a kind to read, and how. The zero value reads the objects of all
// namespaces, in pages.
type ListOptions struct {
	// Kind is the kind of unstructured or metadata-only objects.
	Kind schema.GroupVersionKind
	// Selection is which objects to read. Its MetadataOnly is that of the objects' type: set for
	// another type than *metav1.PartialObjectMetadata it is an error.
	Selection
	// Limit is the maximum number of objects in a page. Zero: 500. Negative: one page for all. It
	// bounds the answer of [ListPage] and the memory of [List], never how many objects List yields.
	Limit int64
	// Continue is the token of an earlier page: the list starts at the page after it.
	Continue string
	// ResourceVersion and Match ask for a state of a certain age, as the API defines them. Empty: as in
	// [GetOptions]. They apply to the first page; later pages show the state of the first.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Inconsistent lets [List] continue when the server's snapshot has expired (410). Later objects
	// are then of a newer state than earlier ones. False: the list ends with a [GoneError].
	Inconsistent bool
	// EvenUnavailable is that of [GetOptions].
	EvenUnavailable bool

	err error // of an option
}

// GetOption changes how one object is read.
type GetOption interface {
	ApplyToGet(*GetOptions)
}

// ListOption changes what a list reads.
type ListOption interface {
	ApplyToList(*ListOptions)
}

// WriteOption changes a write. An option without a meaning for the verb is an [ArgumentError].
type WriteOption interface {
	ApplyToWrite(*Op)
}

// Apply applies options in order.
func (o *GetOptions) Apply(opts ...GetOption) {
	for _, opt := range opts {
		opt.ApplyToGet(o)
	}
}

// Apply applies options in order. Label and field selectors add up: an object must match all of them. The
// error is an [ArgumentError] for a selector.
func (o *ListOptions) Apply(opts ...ListOption) error {
	for _, opt := range opts {
		opt.ApplyToList(o)
	}
	return o.err
}

// ApplyToGet implements [GetOption]: it sets the options that g has, and leaves the others.
func (g GetOptions) ApplyToGet(o *GetOptions) {
	set(&o.Kind, g.Kind)
	set(&o.ResourceVersion, g.ResourceVersion)
	set(&o.Live, g.Live)
	set(&o.Subresource, g.Subresource)
	set(&o.Parent, g.Parent)
	set(&o.EvenUnavailable, g.EvenUnavailable)
}

// ApplyToList implements [ListOption]: it sets the options that l has, and leaves the others. Selectors
// add up.
func (l ListOptions) ApplyToList(o *ListOptions) {
	set(&o.Kind, l.Kind)
	set(&o.Limit, l.Limit)
	set(&o.Continue, l.Continue)
	set(&o.ResourceVersion, l.ResourceVersion)
	set(&o.Match, l.Match)
	set(&o.Inconsistent, l.Inconsistent)
	set(&o.EvenUnavailable, l.EvenUnavailable)
	set(&o.err, l.err)
	l.Selection.ApplyToList(o)
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (l ListOptions) ApplyToWrite(op *Op) { l.ApplyToList(&op.Select) }

// set copies a value that is not zero.
func set[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// OfKind names the kind for a call on unstructured or metadata-only objects. For typed objects it must
// agree with their Go type.
type OfKind schema.GroupVersionKind

// ApplyToGet implements [GetOption].
func (k OfKind) ApplyToGet(o *GetOptions) { o.Kind = schema.GroupVersionKind(k) }

// ApplyToList implements [ListOption].
func (k OfKind) ApplyToList(o *ListOptions) { o.Kind = schema.GroupVersionKind(k) }

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (k OfKind) ApplyToWrite(op *Op) { k.ApplyToList(&op.Select) }

// InNamespace restricts a list, a watch or a [DeleteAll] to one namespace. Empty: all namespaces.
type InNamespace string

// ApplyToList implements [ListOption].
func (n InNamespace) ApplyToList(o *ListOptions) { o.Namespace = string(n) }

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (n InNamespace) ApplyToWrite(op *Op) { n.ApplyToList(&op.Select) }

// AtVersion asks for a state that is not older than this resourceVersion. "0" allows any age, so the
// server may answer from its cache.
type AtVersion string

// ApplyToGet implements [GetOption].
func (v AtVersion) ApplyToGet(o *GetOptions) { o.ResourceVersion = string(v) }

// ApplyToList implements [ListOption].
func (v AtVersion) ApplyToList(o *ListOptions) {
	o.ResourceVersion = string(v)
	if v != "" {
		o.Match = metav1.ResourceVersionMatchNotOlderThan
	}
}

// Sub names a subresource of the kind to read or write instead of the object: "status", "scale",
// "token" and so on.
type Sub string

// ApplyToGet implements [GetOption].
func (s Sub) ApplyToGet(o *GetOptions) { o.Subresource = string(s) }

// ApplyToWrite implements [WriteOption].
func (s Sub) ApplyToWrite(op *Op) { op.Subresource = string(s) }

// DryRun lets the server check and answer the write without storing it.
type DryRun struct{}

// ApplyToWrite implements [WriteOption].
func (DryRun) ApplyToWrite(op *Op) { op.DryRun = true }

// FieldOwner is the field manager that owns the fields a write sets.
type FieldOwner string

// ApplyToWrite implements [WriteOption].
func (f FieldOwner) ApplyToWrite(op *Op) { op.Owner = string(f) }

// Force lets an [Apply] take over fields that others own. Without it they are a [ConflictError].
type Force struct{}

// ApplyToWrite implements [WriteOption].
func (Force) ApplyToWrite(op *Op) { op.Force = true }

// IfAbsent makes an [Apply] create the object or fail with an [AlreadyExistsError]. It never changes an
// existing object, however recently that was created.
type IfAbsent struct{}

// ApplyToWrite implements [WriteOption].
func (IfAbsent) ApplyToWrite(op *Op) { op.IfAbsent = true }

// FieldValidation says what the server does with unknown and duplicate fields:
//   - [metav1.FieldValidationStrict] refuses the write. The error is an [InvalidError] or a
//     [RejectedError] that names the fields. It is the default of [Apply].
//   - [metav1.FieldValidationWarn] drops the fields and sends a warning, which [Live] logs. It is the
//     server's default for all other writes.
//   - [metav1.FieldValidationIgnore] drops the fields.
type FieldValidation string

// ApplyToWrite implements [WriteOption].
func (v FieldValidation) ApplyToWrite(op *Op) { op.Validation = v }

// IfUID is the precondition of a delete that the object has this uid. It protects a later object of the
// same name.
type IfUID types.UID

// ApplyToWrite implements [WriteOption].
func (u IfUID) ApplyToWrite(op *Op) { op.preconditions().UID = (*types.UID)(&u) }

// DeleteOptions are options of a [Delete] or [DeleteAll]: preconditions, a grace period, and what becomes of
// the dependents of the object. Without one the kind's default applies. The other fields are not used.
type DeleteOptions metav1.DeleteOptions

// ApplyToWrite implements [WriteOption]: it sets the options that d has, and leaves the others.
func (d DeleteOptions) ApplyToWrite(op *Op) {
	set(&op.Delete.GracePeriodSeconds, d.GracePeriodSeconds)
	set(&op.Delete.PropagationPolicy, d.PropagationPolicy)
	if p := d.Preconditions; p != nil {
		set(&op.preconditions().UID, p.UID)
		set(&op.preconditions().ResourceVersion, p.ResourceVersion)
	}
}
