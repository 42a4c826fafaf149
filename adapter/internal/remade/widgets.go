// Package remade is an API server with a definition that is deleted and made again, for tests of the adapters.
package remade

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/replicas"
	"github.com/flyball-io/flyball/object"
)

// Widgets is one API server with a kind whose definition is deleted and made again.
type Widgets struct {
	*replicas.State
	Config  *rest.Config // of its clients
	Kind    schema.GroupVersionKind
	Cluster bool // the kind has no namespaces now

	rand      *rand.Rand
	manner    replicas.Manner
	balancer  *replicas.Balancer
	transport *http.Transport
}

// NewWidgets starts a server with four widgets. They are in the namespaces ns0 and ns1, or in none, which is drawn from
// r. The caller calls Close.
func NewWidgets(r *rand.Rand) *Widgets {
	w := &Widgets{State: replicas.NewState(), Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, rand: r}
	w.balancer = replicas.New(r, w.State, 1, true)
	w.manner = replicas.Manner{Streams: r.IntN(2) == 0}
	w.balancer.Servers[0].Start(w.manner)
	w.transport = &http.Transport{DialContext: w.balancer.Dial}
	w.Config = &rest.Config{Host: "http://api.test", Transport: w.transport}
	w.define()
	return w
}

// Close ends the server and the connections to it.
func (w *Widgets) Close() {
	w.transport.CloseIdleConnections()
	w.balancer.Shutdown()
}

// Content returns the keys of the widgets.
func (w *Widgets) Content() map[object.Key]replicas.Item { return w.State.Content("widgets") }

// Remake deletes the widgets and their definition. After up to two minutes it makes both again, as [NewWidgets] does. One
// time in three the server is restarted for it, so that no watch shows what was deleted.
func (w *Widgets) Remake() {
	if w.rand.IntN(3) == 0 {
		w.balancer.Servers[0].Stop()
		defer w.balancer.Servers[0].Start(w.manner)
	}
	for key := range w.Content() {
		w.Delete("widgets", key)
	}
	w.Delete(replicas.Definitions, object.Key{Name: "widgets.example.com"})
	time.Sleep(time.Duration(w.rand.IntN(3)*w.rand.IntN(60)) * time.Second)
	w.define()
}

func (w *Widgets) define() {
	w.Cluster = w.rand.IntN(2) == 0
	w.balancer.Servers[0].Serve(replicas.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"},
		replicas.Resource{Group: w.Kind.Group, Version: w.Kind.Version, Kind: w.Kind.Kind, Plural: "widgets", Custom: true, Cluster: w.Cluster})
	w.Put(replicas.Definitions, object.Key{Name: "widgets.example.com"})
	for i := range 4 {
		key := object.Key{Name: fmt.Sprint("o", i)}
		if !w.Cluster {
			key.Namespace = fmt.Sprint("ns", i%2)
		}
		w.Put("widgets", key)
	}
}
