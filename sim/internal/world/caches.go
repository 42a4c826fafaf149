package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/ctxkey"
)

// show takes a cache of the program.
func (i *incarnation) show(c ctxkey.Cached) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.caches = append(i.caches, c)
}

// shown returns the caches that have not ended.
func (i *incarnation) shown() []ctxkey.Cached {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.caches = slices.DeleteFunc(i.caches, func(c ctxkey.Cached) bool {
		select {
		case <-c.Done:
			return true
		default:
			return false
		}
	})
	return slices.Clone(i.caches)
}

// cachesDiffer says what the caches of the programs have otherwise than the server. While a fault holds something back
// that is nothing. Programs of other frameworks show no caches.
func (w *world) cachesDiffer() (out []string) {
	if w.holds() {
		return nil
	}
	for _, p := range w.procs {
		if p.now == nil {
			continue
		}
		for _, c := range p.now.shown() {
			if what := w.cacheDiffers(c); what != "" {
				out = append(out, fmt.Sprintf("a cache of %s is not as the server, at rest: %s", p, what))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// item is what the server says of an object.
type item struct {
	Metadata struct{ Namespace, Name, UID, ResourceVersion string }
	text     []byte
}

// cacheDiffers names the first object that a cache has otherwise than the server; "" if there is none. A kind that the
// server does not list says nothing.
func (w *world) cacheDiffers(c ctxkey.Cached) string {
	r := core.Request{Method: http.MethodGet, URL: c.URL, Accept: "application/json", UserAgent: "simulation", User: core.Administrator.Name, Groups: core.Administrator.Groups}
	resource := resourceOf(r.Target())
	if heartbeat(resource) {
		return ""
	}
	a := w.state.Now().Read(time.Now(), r)
	if a.Code != http.StatusOK || a.Pending != nil {
		return ""
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		return err.Error()
	}
	held, synced := c.Held()
	if !synced {
		return resource + " have not been listed"
	}
	there := map[string]*item{}
	for _, text := range list.Items {
		i := &item{text: text}
		if err := json.Unmarshal(text, i); err != nil {
			return err.Error()
		}
		there[i.Metadata.Namespace+"/"+i.Metadata.Name] = i
	}
	for _, h := range held {
		key := h.Namespace + "/" + h.Name
		i := there[key]
		delete(there, key)
		switch name := resource + " " + key; {
		case i == nil:
			return name + " is held, and there is none"
		case h.UID != i.Metadata.UID:
			return name + " is held as it was before it was made anew"
		case h.Version != i.Metadata.ResourceVersion:
			return fmt.Sprintf("%s is held in version %s, and has %s", name, h.Version, i.Metadata.ResourceVersion)
		case h.JSON != nil && !sameObject(h.JSON, i.text):
			return name + " is held with another content"
		}
	}
	for _, key := range slices.Sorted(maps.Keys(there)) {
		return resource + " " + key + " is not held"
	}
	return ""
}

// compared remembers which pairs of texts are one object, by their digests. Runs have many in common.
var compared struct {
	sync.Mutex
	same map[[2]uint64]bool
}

// maxCompared bounds what is remembered.
const maxCompared = 50000

// sameObject reports whether a held object is that of the server, but for managedFields and the kind, which lists leave
// out.
func sameObject(held, server []byte) bool {
	if bytes.Equal(held, server) {
		return true
	}
	pair := [2]uint64{digest(held), digest(server)}
	compared.Lock()
	same, known := compared.same[pair]
	compared.Unlock()
	if known {
		return same
	}
	same = reflect.DeepEqual(content(held), content(server))
	compared.Lock()
	defer compared.Unlock()
	if compared.same == nil || len(compared.same) >= maxCompared {
		compared.same = map[[2]uint64]bool{}
	}
	compared.same[pair] = same
	return same
}

// content returns what of an object is compared.
func content(text []byte) any {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return err.Error()
	}
	delete(doc, "kind")
	delete(doc, "apiVersion")
	if md, ok := doc["metadata"].(map[string]any); ok {
		delete(md, "managedFields")
	}
	return doc
}
