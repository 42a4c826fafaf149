package main

// operator is a published operator, and the line of it that changes.
type operator struct {
	name, module, version string
	goMod                 []string // more arguments of go mod edit
	file, line, to        string
	newCache              string   // the constructor of the packed cache
	packages              []string // those whose tests make the cache
}

var operators = []operator{
	{
		name: "cluster-api", module: "sigs.k8s.io/cluster-api", version: "v1.14.2",
		// A published module cannot replace another one by a folder.
		goMod:    []string{"-dropreplace=sigs.k8s.io/cluster-api/api", "-require=sigs.k8s.io/cluster-api/api@v1.14.2"},
		file:     "internal/test/envtest/environment.go",
		line:     "\t\tCache:  managerCacheOptions,\n",
		to:       "\t\tCache:  managerCacheOptions, NewCache: packed.New,\n",
		newCache: "ctrlcache.Options{IgnoreNewInformer: true}.New", // its NewInformer names informers for client-go's metrics
		packages: []string{
			"core/reconcilers/cluster", "core/reconcilers/clusterclass", "core/reconcilers/clusterresourceset",
			"core/reconcilers/extensionconfig", "core/reconcilers/machine", "core/reconcilers/machinedeployment",
			"core/reconcilers/machinehealthcheck", "core/reconcilers/machinepool", "core/reconcilers/machineset",
			"core/reconcilers/topology/cluster", "core/reconcilers/topology/cluster/structuredmerge", "core/webhooks/admission/test",
		},
	},
	{
		name: "karpenter", module: "sigs.k8s.io/karpenter", version: "v1.14.1",
		file:     "pkg/test/environment.go",
		line:     "cache := lo.Must(cache.New(environment.Config,",
		to:       "cache := lo.Must(packed.New(environment.Config,",
		newCache: "ctrlcache.New",
		packages: []string{
			"pkg/controllers/node/health", "pkg/controllers/node/hydration", "pkg/controllers/node/termination",
			"pkg/controllers/node/termination/terminator", "pkg/controllers/nodeclaim/consistency", "pkg/controllers/nodeclaim/disruption",
			"pkg/controllers/nodeclaim/expiration", "pkg/controllers/nodeclaim/garbagecollection", "pkg/controllers/nodeclaim/hydration",
			"pkg/controllers/nodeclaim/lifecycle", "pkg/controllers/nodeclaim/podevents", "pkg/utils/node", "pkg/utils/nodeclaim", "pkg/utils/pdb",
		},
	},
}
