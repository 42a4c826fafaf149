// Package all lists the controllers of an API server in memory.
package all

import (
	"slices"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/events"
	"github.com/flyball-io/flyball/internal/apiserver/control/garbage"
	"github.com/flyball-io/flyball/internal/apiserver/control/kubelet"
	"github.com/flyball-io/flyball/internal/apiserver/control/namespaces"
	"github.com/flyball-io/flyball/internal/apiserver/control/rollout"
	"github.com/flyball-io/flyball/internal/apiserver/control/scheduler"
)

// Controllers are all controllers, in the order in which they are stepped. Their names and short names are those of
// kube-controller-manager. The scheduler, the kubelet, the provisioner of volumes and what writes Events are not among
// its controllers.
var Controllers = slices.Concat([]control.Known{
	{Name: "serviceaccount-controller", Short: "serviceaccount", New: namespaces.Accounts},
	{Name: "root-ca-certificate-publisher-controller", Short: "root-ca-cert-publisher", New: namespaces.Certificates},
	{Name: "namespace-controller", Short: "namespace", New: namespaces.Clear},
	{Name: "garbage-collector-controller", Short: "garbagecollector", New: garbage.New},
	{Name: "deployment-controller", Short: "deployment", New: rollout.Deployments},
	{Name: "replicaset-controller", Short: "replicaset", New: rollout.ReplicaSets},
	{Name: "replicationcontroller-controller", Short: "replicationcontroller", New: rollout.ReplicationControllers},
	{Name: "pod-garbage-collector-controller", Short: "podgc", New: kubelet.Lost},
	{Name: "kube-scheduler", Short: "scheduler", New: scheduler.New},
	{Name: "kubelet", Short: "kubelet", New: kubelet.New, Boot: kubelet.Boot},
}, applications, []control.Known{
	{Name: "event-recorder", Short: "events", New: events.New}, // the last: it tells of the others
})
