package ctrl

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Get implements client.Reader. If it fails, obj stays as it was, unless its bytes could not be decoded.
func (c *clientOf) Get(ctx context.Context, key crclient.ObjectKey, obj crclient.Object, opts ...crclient.GetOption) error {
	o := crclient.GetOptions{}
	version := o.ApplyOptions(opts).AsGetOptions().ResourceVersion
	t, err := c.target(obj)
	if err != nil {
		return err
	}
	defer t.done()
	held, err := c.held(version, func() error {
		return c.cache.Get(ctx, object.Key(key), t.object, client.GetOptions{})
	})
	if !held {
		err = c.rw.Get(ctx, object.Key(key), t.object, client.GetOptions{ResourceVersion: version})
	}
	if held && err == nil {
		t.had = t.kind // as the default cache does
	}
	return translate(err)
}

// held reads from the cache. It is false if the client must ask the server, or say why it does not.
func (c *clientOf) held(version string, read func() error) (bool, error) {
	if c.cache == nil || version != "" && version != "0" {
		return false, nil
	}
	err := read()
	return !errors.Is(err, object.ErrNoAnswer), err
}

// List implements client.Reader, in the order of the keys. A list without a limit is one request, if the
// server answers it.
//
// Objects that cannot be decoded do not hide the others: the list has those, and the error names the bad ones.
func (c *clientOf) List(ctx context.Context, list crclient.ObjectList, opts ...crclient.ListOption) error {
	o := crclient.ListOptions{}
	o.ApplyOptions(opts)
	lo, err := listOptions(&o)
	if err != nil {
		return err
	}
	proto, err := c.protoOf(list)
	if err != nil {
		return err
	}
	if lo.Limit == 0 {
		lo.Limit = -1
	}
	var page client.Page[object.Object]
	held, err := c.held(lo.ResourceVersion, func() error {
		page, err = c.cache.Page(ctx, proto, lo)
		return err
	})
	if !held {
		page, err = c.pages.Page(ctx, proto, lo)
	}
	if err != nil && len(page.Items) == 0 {
		return translate(err)
	}
	items := make([]runtime.Object, len(page.Items))
	for i, item := range page.Items {
		if items[i] = item; !held {
			untag(item)
		}
	}
	if err := meta.SetList(list, items); err != nil {
		return err
	}
	list.SetResourceVersion(page.ResourceVersion)
	list.SetContinue(page.Continue)
	list.SetRemainingItemCount(nil)
	if page.Remaining > 0 {
		list.SetRemainingItemCount(&page.Remaining)
	}
	return translate(err)
}

// protoOf returns an empty object of the kind of a list.
func (c *clientOf) protoOf(list runtime.Object) (object.Object, error) {
	kind, err := c.GroupVersionKindFor(list)
	if err != nil {
		return nil, err
	}
	return newLike(list, itemKind(kind), c.Scheme())
}

// itemKind is the kind of the items of a list.
func itemKind(list schema.GroupVersionKind) schema.GroupVersionKind {
	list.Kind = strings.TrimSuffix(list.Kind, "List")
	return list
}

// listOptions translates the options of a list. What only a watch takes is left out.
func listOptions(o *crclient.ListOptions) (lo client.ListOptions, err error) {
	if o.Raw != nil { // AsListOptions writes to it
		raw := *o.Raw
		o.Raw = &raw
	}
	raw := o.AsListOptions()
	lo.Limit, lo.Continue, lo.ResourceVersion, lo.Match = raw.Limit, raw.Continue, raw.ResourceVersion, raw.ResourceVersionMatch
	lo.Namespace, lo.Labels, lo.Fields = o.Namespace, o.LabelSelector, o.FieldSelector
	if lo.Labels == nil && raw.LabelSelector != "" {
		if lo.Labels, err = labels.Parse(raw.LabelSelector); err != nil {
			return lo, err
		}
	}
	if lo.Fields == nil && raw.FieldSelector != "" {
		lo.Fields, err = fields.ParseSelector(raw.FieldSelector)
	}
	return lo, err
}
