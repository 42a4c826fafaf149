package object

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Header is the part of an object's metadata that the framework needs on every change. It is
// scanned from the wire without building the object. The caller owns a Header from a store, a cache
// or an informer.
type Header struct {
	Key
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// DeletionTimestamp is zero until deletion is requested. It has a precision of seconds.
	DeletionTimestamp time.Time
	Labels            map[string]string
	Annotations       map[string]string
	// Owners are the ownerReferences, in the order of the object.
	Owners []Owner
}

// Owner is one ownerReference. Owners live in the namespace of their dependent or are
// cluster-scoped.
type Owner struct {
	APIVersion string
	Kind       string
	Name       string
	UID        types.UID
	Controller bool
}

// Deleting reports whether deletion was requested and the object waits for its finalizers.
func (h *Header) Deleting() bool { return !h.DeletionTimestamp.IsZero() }

// Same reports whether two states are of one incarnation of an object. A state without a uid, as of
// an unreadable object, matches any.
func (h *Header) Same(other *Header) bool {
	return h.UID == other.UID || h.UID == "" || other.UID == ""
}

// ControllerOwner returns the owner that controls the object, if one does.
func (h *Header) ControllerOwner() (Owner, bool) {
	for _, o := range h.Owners {
		if o.Controller {
			return o, true
		}
	}
	return Owner{}, false
}

// CompareVersions orders two resourceVersions of objects of one kind from one server. It compares
// them as numbers, as the API promises since Kubernetes 1.35. ok is false if one of them is not a
// number; their order is then unknown.
func CompareVersions(a, b string) (order int, ok bool) {
	x, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return 0, false
	}
	y, err := strconv.ParseUint(b, 10, 64)
	if err != nil {
		return 0, false
	}
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}
