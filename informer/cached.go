package informer

import (
	"net/url"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/internal/wire"
)

// cached shows the informer to a simulation.
func (in *Informer) cached() ctxkey.Cached {
	return ctxkey.Cached{URL: in.listURL(), Done: in.done, Held: in.held}
}

// listURL returns the URL of the list that the cache follows.
func (in *Informer) listURL() string {
	r, s, q := in.o.Kind.Resource, in.o.Selection, url.Values{}
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if s.Namespace != "" && !in.o.Kind.ClusterScoped {
		path += "/namespaces/" + s.Namespace
	}
	if s.Labels != nil && !s.Labels.Empty() {
		q.Set("labelSelector", s.Labels.String())
	}
	if s.Fields != nil && !s.Fields.Empty() {
		q.Set("fieldSelector", s.Fields.String())
	}
	return (&url.URL{Path: path + "/" + r.Resource, RawQuery: q.Encode()}).RequestURI()
}

// held returns the objects of the store.
func (in *Informer) held() (out []ctxkey.Held, synced bool) {
	whole := in.o.Transform == nil && !in.o.Selection.MetadataOnly
	for e := range in.store.Snapshot().All() {
		h := ctxkey.Held{Namespace: e.Key().Namespace, Name: e.Key().Name, UID: string(e.UID()), Version: e.ResourceVersion()}
		if raw := e.Raw(); whole && e.Err() == nil && raw.Encoding == wire.JSON {
			h.JSON = raw.Bytes
		}
		out = append(out, h)
	}
	return out, in.HasSynced()
}
