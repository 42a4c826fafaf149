package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// GetOptions says how to read one object. The zero value reads the object itself, as it is now.
type GetOptions struct {
	// Kind names the kind of an unstructured or metadata-only object that does not name its own.
	Kind schema.GroupVersionKind
	// ResourceVersion allows an answer that is not older than it; "0" allows any age. Empty: the
	// latest state. A cache that is asked for any version but "0" answers with an error.
	ResourceVersion string
	// Live has the server answer: what a cache holds does not count. A reader that has no server
	// behind it answers with an [ErrNotLive].
	Live bool
	// Subresource is read instead of the object, for example "scale". Parent is then the kind
	// that has the subresource, if that is not the kind of the object read into.
	Subresource string
	Parent      schema.GroupVersionKind
	// EvenUnavailable reads what a cache holds also while the kind is unavailable; see the option
	// [EvenUnavailable]. The server ignores it.
	EvenUnavailable bool
}

// ListOptions says which objects of a kind to read, and how. The zero value reads all of them,
// in all namespaces, in pages.
type ListOptions struct {
	// Kind names the kind of unstructured or metadata-only objects.
	Kind schema.GroupVersionKind
	// Selection is which objects to read. Its MetadataOnly is that of the objects' type: set for
	// another type than *metav1.PartialObjectMetadata it is an error.
	Selection
	// Limit is the most objects in a page. Zero: 500. Negative: no pages, one answer. It bounds
	// the answer of [ListPage] and the memory of [List], never how many objects List yields.
	Limit int64
	// Continue starts at the page that this token of an earlier page names.
	Continue string
	// ResourceVersion and Match ask for a certain age of the answer, as the API defines them.
	// Empty: the latest state. They hold for the first page; the others belong to it.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Inconsistent lets [List] go on when the snapshot it was reading has expired (410): the
	// objects that follow are then of a newer state than those before. False: it ends with a
	// [GoneError].
	Inconsistent bool
	// EvenUnavailable reads what a cache holds also while the kind is unavailable; see the option
	// [EvenUnavailable]. The server ignores it.
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

// WriteOption changes a write. One that has no meaning for the verb is an error of type
// [*InvalidOpError], not ignored.
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

// NewListOptions applies the options in order. Label and field selectors add up: all must match.
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

// OfKind names the kind of the objects of a call on unstructured or metadata-only objects. For
// typed objects it must agree with their Go type.
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

// InNamespace limits a list, a watch or a [DeleteAll] to one namespace. Empty: all.
type InNamespace string

// ApplyToList implements [ListOption].
func (n InNamespace) ApplyToList(o *ListOptions) error {
	o.Namespace = string(n)
	return nil
}

// ApplyToWrite implements [WriteOption], for [DeleteAll].
func (n InNamespace) ApplyToWrite(op *Op) error { return n.ApplyToList(&op.Select) }

// Limit is the most objects in a page; see [ListOptions.Limit].
type Limit int64

// ApplyToList implements [ListOption].
func (l Limit) ApplyToList(o *ListOptions) error {
	o.Limit = int64(l)
	return nil
}

// Continue goes on where an earlier page ended, with its token.
type Continue string

// ApplyToList implements [ListOption].
func (c Continue) ApplyToList(o *ListOptions) error {
	o.Continue = string(c)
	return nil
}

// AllowInconsistent lets a list go on with newer objects when its snapshot has expired; see
// [ListOptions.Inconsistent].
type AllowInconsistent struct{}

// ApplyToList implements [ListOption].
func (AllowInconsistent) ApplyToList(o *ListOptions) error {
	o.Inconsistent = true
	return nil
}

// EvenUnavailable has a cache answer a read from what it holds also while the kind is unavailable:
// while the server answers as if it did not serve the kind, and has not confirmed that the kind is
// gone. The answer may be out of date. Without it the read is an error that is [object.ErrNoAnswer]. Reads
// from the server ignore it.
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

// FromServer has the server answer a read, past any cache; see [GetOptions.Live].
type FromServer struct{}

// ApplyToGet implements [GetOption].
func (FromServer) ApplyToGet(o *GetOptions) error {
	o.Live = true
	return nil
}

// AtVersion allows an answer that is not older than this resourceVersion; "0" allows any age, so
// that the server may answer from its cache.
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

// Sub names a subresource to read or to write instead of the object itself: "status", "scale",
// "token", or any other that the kind has.
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

// DryRun has the server do everything but keep the change.
type DryRun struct{}

// ApplyToWrite implements [WriteOption].
func (DryRun) ApplyToWrite(op *Op) error {
	op.DryRun = true
	return nil
}

// FieldOwner names who owns the fields that a write sets.
type FieldOwner string

// ApplyToWrite implements [WriteOption].
func (f FieldOwner) ApplyToWrite(op *Op) error {
	op.Owner = string(f)
	return nil
}

// Force takes over the fields of an [Apply] that others own, instead of a [ConflictError].
type Force struct{}

// ApplyToWrite implements [WriteOption].
func (Force) ApplyToWrite(op *Op) error {
	op.Force = true
	return nil
}

// IfAbsent makes an [Apply] create the object, or else fail with an [AlreadyExistsError]: an object that
// exists stays as it is, whoever made it and however short before.
type IfAbsent struct{}

// ApplyToWrite implements [WriteOption].
func (IfAbsent) ApplyToWrite(op *Op) error {
	op.IfAbsent = true
	return nil
}

// FieldValidation says what the server does with fields that are unknown or given twice.
type FieldValidation string

const (
	// Strict refuses the write: an [InvalidError] or a [RejectedError] that names the fields. It is the
	// default of [Apply].
	Strict FieldValidation = "Strict"
	// Warn drops the fields and says so in a warning, which [Live] logs. It is the server's
	// default for all other writes.
	Warn FieldValidation = "Warn"
	// Ignore drops the fields.
	Ignore FieldValidation = "Ignore"
)

// ApplyToWrite implements [WriteOption].
func (v FieldValidation) ApplyToWrite(op *Op) error {
	op.Validation = v
	return nil
}

// IfUID makes a delete happen only while the object is this one, not another of its name.
type IfUID types.UID

// ApplyToWrite implements [WriteOption].
func (u IfUID) ApplyToWrite(op *Op) error {
	uid := types.UID(u)
	op.IfUID = &uid
	return nil
}

// IfVersion makes a delete happen only while the object has this resourceVersion.
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
	// Background deletes the object at once; the garbage collector then deletes its dependents.
	Background = Propagation(metav1.DeletePropagationBackground)
	// Foreground keeps the object until its blocking dependents are gone.
	Foreground = Propagation(metav1.DeletePropagationForeground)
	// Orphan leaves the dependents alone.
	Orphan = Propagation(metav1.DeletePropagationOrphan)
)

// ApplyToWrite implements [WriteOption].
func (p Propagation) ApplyToWrite(op *Op) error {
	op.Propagation = p
	return nil
}

// GraceSeconds is how long a deleted object (a Pod) has to end. Zero: it goes at once. Without
// the option the kind has its own.
type GraceSeconds int64

// ApplyToWrite implements [WriteOption].
func (g GraceSeconds) ApplyToWrite(op *Op) error {
	s := int64(g)
	op.Grace = &s
	return nil
}
