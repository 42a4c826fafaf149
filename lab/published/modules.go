package main

// module is a published API module, and how its own Makefile calls controller-gen.
type module struct {
	name, path, version string
	read                []string // packages
	objectMeta, floats  bool     // generateEmbeddedObjectMeta, allowDangerousTypes
}

// modules need no newer Go version than this tree.
var modules = []module{
	{name: "cluster-api", path: "sigs.k8s.io/cluster-api/api", version: "v1.14.2", read: []string{"./..."}},
	{name: "kueue", path: "sigs.k8s.io/kueue", version: "v0.17.0", read: []string{"./apis/...", "./pkg/controller/...", "./pkg/webhooks/..."}, objectMeta: true},
	{name: "prometheus-operator", path: "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring", version: "v0.95.2", read: []string{"./..."}},
	{name: "cert-manager", path: "github.com/cert-manager/cert-manager", version: "v1.21.2", read: []string{"./pkg/apis/..."}},
	{name: "gatekeeper", path: "github.com/open-policy-agent/gatekeeper/v3", version: "v3.23.1", read: []string{"./apis/...", "./pkg/..."}},
	{name: "keda", path: "github.com/kedacore/keda/v2", version: "v2.21.0", read: []string{"./apis/..."}, objectMeta: true},
	{name: "gateway-api", path: "sigs.k8s.io/gateway-api", version: "v1.6.3", read: []string{"./apis/...", "./apisx/..."}},
	{name: "external-secrets", path: "github.com/external-secrets/external-secrets", version: "v0.16.2", read: []string{"./apis/..."}},
	{name: "karpenter", path: "sigs.k8s.io/karpenter", version: "v1.14.1", read: []string{"./pkg/apis/..."}},
	{name: "argo-rollouts", path: "github.com/argoproj/argo-rollouts", version: "v1.10.1", read: []string{"./pkg/apis/..."}},
	{name: "flux-source", path: "github.com/fluxcd/source-controller/api", version: "v1.9.6", read: []string{"./..."}},
}
