package client

import (
	"context"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// listChange has the lists that a difference replaces, if their elements may have fields that the Go type of
// the object does not have. A merge patch replaces a list as a whole. So [Live.Write] puts such fields
// back into the lists, as it does for an update.
type listChange struct {
	typ          reflect.Type // of the object, without the pointer
	uid          types.UID    // of the object before
	version      string
	after        []byte // the object before with the lists of after, in JSON
	replacements map[string]any
}

// newListChange returns nil if nothing can be lost. It changes a, the content of before.
func newListChange(before object.Object, a, patch map[string]any) (*listChange, error) {
	if formOf(before) != typed || !wire.Partial(before) {
		return nil, nil
	}
	lists := onlyLists(patch)
	if len(lists) == 0 {
		return nil, nil
	}
	put(a, lists)
	after, err := json.Marshal(a)
	return &listChange{reflect.TypeOf(before).Elem(), before.GetUID(), before.GetResourceVersion(), after, lists}, err
}

// onlyLists is the part of a patch that replaces lists with objects in them.
func onlyLists(patch map[string]any) map[string]any {
	lists := map[string]any{}
	for k, v := range patch {
		switch v := v.(type) {
		case map[string]any:
			if sub := onlyLists(v); len(sub) > 0 {
				lists[k] = sub
			}
		case []any:
			if hasObjects(v) {
				lists[k] = v
			}
		}
	}
	return lists
}

func hasObjects(list []any) bool {
	for _, v := range list {
		switch v := v.(type) {
		case map[string]any:
			return true
		case []any:
			if hasObjects(v) {
				return true
			}
		}
	}
	return false
}

// put sets the lists in a document.
func put(doc, lists map[string]any) {
	for k, v := range lists {
		sub, ok := v.(map[string]any)
		below, is := doc[k].(map[string]any)
		if ok && !is {
			below = map[string]any{}
			doc[k] = below
		}
		if ok {
			put(below, sub)
		} else {
			doc[k] = v
		}
	}
}

// pick returns the lists as they are in a document.
func pick(doc, lists map[string]any) map[string]any {
	picked := map[string]any{}
	for k, v := range lists {
		if sub, ok := v.(map[string]any); ok {
			below, _ := doc[k].(map[string]any)
			picked[k] = pick(below, sub)
		} else {
			picked[k] = doc[k]
		}
	}
	return picked
}

// withLists is the body of a patch whose lists have the fields that the Go type does not have. They come from the
// version that the difference was made from, or else from that of the server.
func (c *Live) withLists(ctx context.Context, p *plan, r *request) ([]byte, error) {
	l := p.op.Patch.lists
	o := reflect.New(l.typ).Interface().(object.Object)
	o.SetUID(l.uid)
	o.SetResourceVersion(l.version)
	read, ok, err := c.asRead(ctx, p, o, wire.JSON, true)
	return r.keeping(ctx, ok, err, func() ([]byte, error) { return l.restored(o, read, r.body) })
}

func (l *listChange) restored(o object.Object, read wire.Raw, body []byte) ([]byte, error) {
	if err := json.Unmarshal(l.after, o); err != nil {
		return nil, err
	}
	after, _, err := wire.Encode(o, read.Kind.GVK, wire.JSON)
	if err != nil {
		return nil, err
	}
	if after, err = wire.Restore(after, o, read); err != nil {
		return nil, err
	}
	doc, err := sparse.Parse(after)
	if err != nil {
		return nil, err
	}
	patch, err := sparse.Parse(body)
	if err != nil {
		return nil, err
	}
	put(patch, pick(doc, l.replacements))
	return json.Marshal(patch)
}
