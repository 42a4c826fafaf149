package ctrl

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Watch implements client.WithWatch: a watch of its own at the server, without a cache. Limit, Continue and
// ResourceVersionMatch mean nothing to it. Stop ends it, and so does ctx.
func (c *clientOf) Watch(ctx context.Context, list crclient.ObjectList, opts ...crclient.ListOption) (watch.Interface, error) {
	o := crclient.ListOptions{}
	o.ApplyOptions(opts)
	raw := metav1.ListOptions{}
	if o.Raw != nil {
		raw = *o.Raw
	}
	lo, err := listOptions(&o)
	if err != nil {
		return nil, err
	}
	proto, err := c.protoOf(list)
	if err != nil {
		return nil, err
	}
	_, lo.MetadataOnly = proto.(*metav1.PartialObjectMetadata)
	q := wire.WatchQuery{ResourceVersion: lo.ResourceVersion, SendInitialEvents: raw.SendInitialEvents != nil && *raw.SendInitialEvents}
	if raw.TimeoutSeconds != nil {
		q.Timeout = time.Duration(*raw.TimeoutSeconds) * time.Second
	}
	frames, err := c.live.Feed(proto.GetObjectKind().GroupVersionKind(), lo.Selection).Watch(ctx, q)
	if err != nil {
		return nil, translate(err)
	}
	return watch.NewStreamWatcher(&decoder{frames: frames, proto: proto, bookmarks: raw.AllowWatchBookmarks}, reporter{}), nil
}

// decoder implements watch.Decoder.
type decoder struct {
	frames    *wire.Watch
	proto     object.Object
	bookmarks bool
	closed    atomic.Bool
}

// Decode implements watch.Decoder. It returns the next event.
func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	for {
		f, err := d.frames.Next()
		switch {
		case err != nil && d.closed.Load():
			return "", nil, io.EOF // Stop is no failure
		case err != nil && !wire.IsObjectError(err):
			return "", nil, err
		}
		kind := watch.EventType(f.Type.String())
		switch {
		case err != nil:
			return watch.Error, undecodable(err), nil
		case f.Type == wire.Error:
			return kind, f.Status, nil
		case f.Type == wire.Bookmark && !d.bookmarks:
			continue
		case f.Type == wire.Bookmark:
			return kind, d.bookmark(f), nil
		}
		obj := d.proto.DeepCopyObject().(object.Object)
		if err := f.Object.Decode(obj); err != nil {
			return watch.Error, undecodable(err), nil
		}
		untag(obj)
		return kind, obj, nil
	}
}

func (d *decoder) bookmark(f wire.Frame) runtime.Object {
	obj := d.proto.DeepCopyObject().(object.Object)
	untag(obj)
	obj.SetResourceVersion(f.ResourceVersion)
	if f.InitialEventsEnd {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj
}

// undecodable is the Status of an object that cannot be decoded. The watch goes on.
func undecodable(err error) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: fmt.Sprintf("unable to decode an event from the watch stream: %v", err),
	}
}

// Close implements watch.Decoder. It ends Decode.
func (d *decoder) Close() {
	d.closed.Store(true)
	_ = d.frames.Close()
}

// reporter implements watch.Reporter.
type reporter struct{}

// AsObject implements watch.Reporter.
func (reporter) AsObject(err error) runtime.Object {
	if s, ok := translate(err).(apierrors.APIStatus); ok {
		status := s.Status()
		return &status
	}
	return undecodable(err)
}
