package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GetOptions says how to read one object. The zero value reads the object itself in its latest state.
type GetOptions struct {
	// Kind is the kind of an unstructured or metadata-only object that does not name its own.
	Kind schema.GroupVersionKind
	// ResourceVersion asks for a state that is not older; "0" allows any age. Empty: the latest
	// state. A cache returns an error for any version but "0".
	ResourceVersion string
	// Live asks the server, past any cache. A reader without a server returns an [ErrNotLive].
	Live bool
	// Subresource is read instead of the object, for example "scale". Parent is the kind that has
	// the subresource, if it differs from the kind of the object read into. Parent alone is an
	// error.
	Subresource string
	Parent      schema.GroupVersionKind
	// EvenUnavailable reads from a cache while the kind is unavailable; see the option
	// [EvenUnavailable]. Reads from the server ignore it.
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
	// ResourceVersion and Match ask for a state of a certain age, as the API defines them. Empty:
	// the latest state. They apply to the first page; later pages show the state of the first.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Inconsistent lets [List] continue when the server's snapshot has expired (410). Later objects
	// are then of a newer state than earlier ones. False: the list ends with a [GoneError].
	Inconsistent bool
	// EvenUnavailable reads from a cache while the kind is unavailable; see the option
	// [EvenUnavailable]. Reads from the server ignore it.
	EvenUnavailable bool
}

// GetOption changes how one object is read.
type GetOption interface {
	ApplyToGet(*GetOptions) error
}

// ListOption changes what a list reads.
type ListOption interface {
	ApplyToList(*ListOptions) error
}

// WriteOption changes a write. An option without a meaning for the verb is an [*InvalidOpError].
type WriteOption interface {
	ApplyToWrite(*Op) error
}

// NewGetOptions applies the options in order.
func NewGetOptions(opts ...GetOption) (GetOptions, error) {
	var o GetOptions
	for _, opt := range opts {
		if err := opt.ApplyToGet(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// NewListOptions applies the options in order. Label and field selectors add up: an object must match
// all of them.
func NewListOptions(opts ...ListOption) (ListOptions, error) {
	var o ListOptions
	for _, opt := range opts {
		if err := opt.ApplyToList(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Kinded is an option for reads; see [OfKind].
type Kinded schema.GroupVersionKind

// OfKind names the kind for a call on unstructured or metadata-only objects. For typed objects it must
// agree with their Go type.
func OfKind(gvk schema.GroupVersionKind) Kinded { return Kinded(gvk) }

// ApplyToGet implements [GetOption].
func (k Kinded) ApplyToGet(o *GetOptions) error {
	o.Kind = schema.GroupVersionKind(k)
	return nil
}

// ApplyToList implements [ListOption].
func (k Kinded) ApplyToList(o *ListOptions) error {
	o.Kind = schema.GroupVersionKind(k)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll] of unstructured or metadata-only objects.
func (k Kinded) ApplyToWrite(op *Op) error {
	op.Select.Kind = schema.GroupVersionKind(k)
	return nil
}

// InNamespace restricts a list, a watch or a [DeleteAll] to one namespace. Empty: all namespaces.
type InNamespace string

// ApplyToList implements [ListOption].
func (n InNamespace) ApplyToList(o *ListOptions) error {
	o.Namespace = string(n)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (n InNamespace) ApplyToWrite(op *Op) error { return n.ApplyToList(&op.Select) }

// Limit is the maximum number of objects in a page; see [ListOptions.Limit].
type Limit int64

// ApplyToList implements [ListOption].
func (l Limit) ApplyToList(o *ListOptions) error {
	o.Limit = int64(l)
	return nil
}

// Continue is the token of an earlier page; see [ListOptions.Continue].
type Continue string

// ApplyToList implements [ListOption].
func (c Continue) ApplyToList(o *ListOptions) error {
	o.Continue = string(c)
	return nil
}

// AllowInconsistent lets a list continue with newer objects when its snapshot has expired; see
// [ListOptions.Inconsistent].
type AllowInconsistent struct{}

// ApplyToList implements [ListOption].
func (AllowInconsistent) ApplyToList(o *ListOptions) error {
	o.Inconsistent = true
	return nil
}

// EvenUnavailable lets a cache answer while the kind is unavailable. A kind is unavailable while the
// server answers as if it did not serve the kind, and has not confirmed that the kind is gone. The
// answer may be out of date. Without the option the read is an error that is [object.ErrNoAnswer].
// Reads from the server ignore the option.
type EvenUnavailable struct{}

// ApplyToGet implements [GetOption].
func (EvenUnavailable) ApplyToGet(o *GetOptions) error {
	o.EvenUnavailable = true
	return nil
}

// ApplyToList implements [ListOption].
func (EvenUnavailable) ApplyToList(o *ListOptions) error {
	o.EvenUnavailable = true
	return nil
}

// FromServer asks the server, past any cache; see [GetOptions.Live].
type FromServer struct{}

// ApplyToGet implements [GetOption].
func (FromServer) ApplyToGet(o *GetOptions) error {
	o.Live = true
	return nil
}

// AtVersion asks for a state that is not older than this resourceVersion. "0" allows any age, so the
// server may answer from its cache.
type AtVersion string

// ApplyToGet implements [GetOption].
func (v AtVersion) ApplyToGet(o *GetOptions) error {
	o.ResourceVersion = string(v)
	return nil
}

// ApplyToList implements [ListOption].
func (v AtVersion) ApplyToList(o *ListOptions) error {
	o.ResourceVersion = string(v)
	if v != "" {
		o.Match = metav1.ResourceVersionMatchNotOlderThan
	}
	return nil
}

// Sub names a subresource of the kind to read or write instead of the object: "status", "scale",
// "token" and so on.
type Sub string

// ApplyToGet implements [GetOption].
func (s Sub) ApplyToGet(o *GetOptions) error {
	o.Subresource = string(s)
	return nil
}

// ApplyToWrite implements [WriteOption].
func (s Sub) ApplyToWrite(op *Op) error {
	op.Subresource = string(s)
	return nil
}

// DryRun lets the server check and answer the write without storing it.
type DryRun struct{}

// ApplyToWrite implements [WriteOption].
func (DryRun) ApplyToWrite(op *Op) error {
	op.DryRun = true
	return nil
}

// FieldOwner is the field manager that owns the fields a write sets.
type FieldOwner string

// ApplyToWrite implements [WriteOption].
func (f FieldOwner) ApplyToWrite(op *Op) error {
	op.Owner = string(f)
	return nil
}

// Force lets an [Apply] take over fields that others own. Without it they are a [ConflictError].
type Force struct{}

// ApplyToWrite implements [WriteOption].
func (Force) ApplyToWrite(op *Op) error {
	op.Force = true
	return nil
}

// IfAbsent makes an [Apply] create the object or fail with an [AlreadyExistsError]. It never changes an
// existing object, however recently that was created.
type IfAbsent struct{}

// ApplyToWrite implements [WriteOption].
func (IfAbsent) ApplyToWrite(op *Op) error {
	op.IfAbsent = true
	return nil
}

// FieldValidation says what the server does with unknown and duplicate fields.
type FieldValidation string

const (
	// Strict refuses the write: the error is an [InvalidError] or a [RejectedError] that names the
	// fields. It is the default of [Apply].
	Strict FieldValidation = "Strict"
	// Warn drops the fields and sends a warning, which [Live] logs. It is the server's default for
	// all other writes.
	Warn FieldValidation = "Warn"
	// Ignore drops the fields.
	Ignore FieldValidation = "Ignore"
)

// ApplyToWrite implements [WriteOption].
func (v FieldValidation) ApplyToWrite(op *Op) error {
	op.Validation = v
	return nil
}

// IfUID is the precondition of a delete that the object has this uid. It protects a later object of the
// same name.
type IfUID types.UID

// ApplyToWrite implements [WriteOption].
func (u IfUID) ApplyToWrite(op *Op) error {
	uid := types.UID(u)
	op.IfUID = &uid
	return nil
}

// IfVersion is the precondition of a delete that the object has this resourceVersion.
type IfVersion string

// ApplyToWrite implements [WriteOption].
func (v IfVersion) ApplyToWrite(op *Op) error {
	rv := string(v)
	op.IfVersion = &rv
	return nil
}

// Propagation says what a delete does with the dependents of the object.
type Propagation metav1.DeletionPropagation

const (
	// Background deletes the object at once. The garbage collector deletes its dependents later.
	Background = Propagation(metav1.DeletePropagationBackground)
	// Foreground keeps the object until its blocking dependents are gone.
	Foreground = Propagation(metav1.DeletePropagationForeground)
	// Orphan keeps the dependents.
	Orphan = Propagation(metav1.DeletePropagationOrphan)
)

// ApplyToWrite implements [WriteOption].
func (p Propagation) ApplyToWrite(op *Op) error {
	op.Propagation = p
	return nil
}

// GraceSeconds is how long a deleted object (a Pod) may take to end. Zero: none. Without the option the
// kind's default applies.
type GraceSeconds int64

// ApplyToWrite implements [WriteOption].
func (g GraceSeconds) ApplyToWrite(op *Op) error {
	s := int64(g)
	op.Grace = &s
	return nil
}
