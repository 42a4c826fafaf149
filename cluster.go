package flyball

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/flyball-io/flyball/internal/readiness"
	"github.com/flyball-io/flyball/ops/metrics"
	"github.com/flyball-io/flyball/option"
)

// ofCluster are the fields of Options that [Manager.Cluster] reads.
var ofCluster = []string{"Config", "Kubeconfig", "Context", "Scheme", "Cache", "Client", "Events", "OnLiveRead", "Logger"}

// Cluster adds another cluster to the program:
//
//	east, err := mgr.Cluster("east", flyball.Options{Kubeconfig: "east.kubeconfig"})
//	_, err = controller.New(mgr, "mirror", mirror, controller.For[corev1.ConfigMap](),
//		controller.Watches[corev1.ConfigMap](handler.Self()).From(east))
//
// The result has a cache, clients and a recorder of events for that cluster. It shares all else with m: the
// phases, the election, the servers, the checks and the names of controllers. So a controller that is made
// with it runs with those of m, and [Manager.Run] is called on m alone. With Options.Leader the lease of m
// fences the writes to all clusters.
//
// Of the Options it reads Config, Kubeconfig, Context, Scheme, Cache, Client, Events, OnLiveRead and Logger.
// Any other field that is set is an *[option.Error], and so is a name with other characters than letters,
// digits, "-", "_" and ".". A name that is taken is a *[DuplicateNameError].
//
// Run does not ask whether that cluster answers. While it does not, controllers work without its sources, and its
// checks fail; see controller.Options.CacheSyncTimeout and [Manager.Ready]. The metrics of its cache, clients, events and controllers have the label cluster, and its
// lines in the log the key cluster. A cluster stays as long as m.
func (m *Manager) Cluster(name string, o Options) (*Manager, error) {
	if name == "" || readiness.CheckName(name) != name || strings.Contains(name, ":") {
		return nil, &option.Error{Of: "flyball.Manager.Cluster", Field: "name", Err: errors.New("has characters other than letters, digits, dots and the signs - and _")}
	}
	c := &Manager{program: m.program, cluster: name, o: m.o}
	for i, given := range reflect.ValueOf(o).Fields() {
		switch {
		case slices.Contains(ofCluster, i.Name):
			reflect.ValueOf(&c.o).Elem().FieldByIndex(i.Index).Set(given)
		case !given.IsZero():
			return nil, badOption(i.Name, errors.New("is one of the program, and not of its further clusters"))
		}
	}
	c.o.Logger = m.o.loggerOr(o.Logger).With("cluster", name)
	var err error
	if c.o, err = c.o.connected(); err != nil {
		return nil, err
	}
	c.files = newKubeconfig(o.Config, c.o)
	c.logger, c.metrics = c.o.Logger, metrics.New(metrics.Options{Cluster: name, WithoutRuntime: true, Logger: c.o.Logger})
	if err := c.connect(); err != nil {
		return nil, err
	}
	c.newClients()
	if err := c.addParts(" of " + name); err != nil {
		return nil, addError(name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters = append(m.clusters, c)
	m.clusters[0].metrics.AddCluster(c.metrics)
	return c, nil
}

// allClusters are the managers of all clusters; that of the program itself is the first.
func (m *Manager) allClusters() []*Manager {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.clusters)
}
