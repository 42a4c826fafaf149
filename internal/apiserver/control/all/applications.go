package all

import (
	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/policies"
	"github.com/flyball-io/flyball/internal/apiserver/control/scale"
	"github.com/flyball-io/flyball/internal/apiserver/control/services"
	"github.com/flyball-io/flyball/internal/apiserver/control/volumes"
	"github.com/flyball-io/flyball/internal/apiserver/control/workload"
)

// applications has the controllers of applications, services, autoscaling and volumes, without those of Deployments.
var applications = []control.Known{
	{Name: "statefulset-controller", Short: "statefulset", New: workload.StatefulSets},
	{Name: "daemonset-controller", Short: "daemonset", New: workload.DaemonSets},
	{Name: "job-controller", Short: "job", New: workload.Jobs},
	{Name: "cronjob-controller", Short: "cronjob", New: workload.CronJobs},
	{Name: "ttl-after-finished-controller", Short: "ttl-after-finished", New: workload.FinishedJobs},
	{Name: "endpoints-controller", Short: "endpoint", New: services.Addresses},
	{Name: "endpointslice-controller", Short: "endpointslice", New: services.Slices},
	{Name: "endpointslice-mirroring-controller", Short: "endpointslicemirroring", New: services.Mirrors},
	{Name: "horizontal-pod-autoscaler-controller", Short: "horizontalpodautoscaling", New: scale.Autoscalers},
	{Name: "disruption-controller", Short: "disruption", New: scale.Budgets},
	{Name: "persistentvolume-binder-controller", Short: "persistentvolume-binder", New: volumes.Binder},
	{Name: "persistentvolumeclaim-protection-controller", Short: "pvc-protection", New: volumes.ClaimProtection},
	{Name: "persistentvolume-protection-controller", Short: "pv-protection", New: volumes.VolumeProtection},
	{Name: "ephemeral-volume-controller", Short: "ephemeral-volume", New: volumes.Ephemeral},
	{Name: "volume-provisioner", Short: "volumes", New: volumes.Provisioner, Boot: volumes.Boot},
	{Name: "resourcequota-controller", Short: "resourcequota", New: policies.Quotas},
	{Name: "clusterrole-aggregation-controller", Short: "clusterrole-aggregation", New: policies.Roles},
}
