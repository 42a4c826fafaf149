package corpus

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cluster is a corpus with all kinds of a cluster, in the proportions and with the churn that
// published tests and traces have. Its objects refer to one another as in a cluster.
//
// These are the sources of the proportions. What is not published is marked as a choice.
//
//	Pods            30 for each Node (kubernetes/perf-tests, clusterloader2/testing/load/config.yaml:
//	                PODS_PER_NODE; the thresholds of SIG Scalability, 150,000 Pods and 5,000 Nodes,
//	                are in the same proportion). A tenth is of Jobs (a choice). For the sizes of the
//	                owners see ownerSizes.
//	ReplicaSets     the current one and ten old ones for each Deployment (revisionHistoryLimit,
//	                whose default is 10)
//	EndpointSlices  services are half as many as Deployments (the same load test); 100 endpoints in
//	                a slice (the default of kube-controller-manager)
//	ConfigMaps      one for each Deployment (the same load test) with 0.1 to 4 kB of text (a choice),
//	                and kube-root-ca.crt in each namespace
//	Secrets         one for each Deployment (the same load test) with 2,048 random characters (as in
//	                the cluster-density workload of kube-burner), and one to pull images in each
//	                namespace, all alike (a choice)
//	Leases          one for each Node
//	widgets         one for two Deployments (a choice), of about 10 kB of JSON
//	Events          the rest, about one for two Pods (a choice)
//
// Each namespace has twenty Deployments (a choice). For the churn see [Cluster.Churn].
type Cluster struct {
	objects       int
	managedFields bool
	seed          uint64

	nodes      int
	namespaces int
	apps       []app
	jobs       []app
	later      []int // the sizes of Jobs that the churn makes
	refs       []ref // of the objects in the first list
}

// ClusterKind is the name of the corpus on the command line, beside Kinds.
const ClusterKind = "cluster"

// app is an owner of Pods: a Deployment with its ReplicaSets, or a Job.
type app struct {
	number   int
	size     int // number of Pods
	revision int // of the first list
	job      bool
}

// ref says which object of the cluster one is.
type ref struct {
	kind uint8
	// owner is the number of the app or Job, or of the Node or namespace. index is the number of the
	// object among those of its owner and revision.
	owner, index, revision int32
}

// state is what changes of an object.
type state struct {
	at, born int32 // seconds after the first list: of the change, and when the object was made, or 0
	// step is how far a Pod has come in its life, or how many objects of a rollout are replaced.
	step            int32
	replicas, ready int32 // of a ReplicaSet, Deployment or Job
}

// These are the kinds of a cluster, by their index in Resources. A handler that blocks is one of the
// first.
const (
	podKind = iota
	nodeKind
	replicaSetKind
	deploymentKind
	jobKind
	eventKind
	sliceKind
	leaseKind
	secretsKind
	configMapKind
	widgetKind
)

// clusterKind is one kind of a cluster.
type clusterKind struct {
	gvk      schema.GroupVersionKind
	resource string
	global   bool
	// managers are those of managedFields: of the object, and of its status.
	managers [2]string
}

var clusterKinds = []clusterKind{
	podKind:        {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", false, [2]string{"kube-controller-manager", "kubelet"}},
	nodeKind:       {schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "nodes", true, [2]string{"kubelet", "kubelet"}},
	replicaSetKind: {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets", false, [2]string{"kube-controller-manager", "kube-controller-manager"}},
	deploymentKind: {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", false, [2]string{"helm", "kube-controller-manager"}},
	jobKind:        {schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs", false, [2]string{"kube-controller-manager", "kube-controller-manager"}},
	eventKind:      {schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "events", false, [2]string{"kubelet", ""}},
	sliceKind:      {schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, "endpointslices", false, [2]string{"kube-controller-manager", ""}},
	leaseKind:      {schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, "leases", false, [2]string{"kubelet", ""}},
	secretsKind:    {schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "secrets", false, [2]string{"helm", ""}},
	configMapKind:  {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", false, [2]string{"helm", ""}},
	widgetKind:     {widgets.WithKind("Widget"), "widgets", false, [2]string{"helm", "widget-controller"}},
}

const (
	podsOfNode   = 30
	jobsPart     = 10 // one Pod in so many is of a Job
	oldSets      = 10 // ReplicaSets of former revisions
	ofSlice      = 100
	ofNamespace  = 20 // Deployments
	meanSize     = 4.55
	objectsOfOne = 137 // for each Node, of all kinds
)

// NewCluster returns a cluster with that many objects, at least 200.
func NewCluster(objects int, managedFields bool, seed uint64) (*Cluster, error) {
	if objects < 200 {
		return nil, fmt.Errorf("objects: a cluster has at least 200, not %d", objects)
	}
	c := &Cluster{objects: objects, managedFields: managedFields, seed: seed}
	for c.nodes = 1 + objects/objectsOfOne; ; c.nodes-- {
		if c.lay(); len(c.refs) <= objects*19/20 || c.nodes == 1 {
			break
		}
	}
	for k := len(c.refs); k < objects; k++ {
		c.add(eventKind, k%len(c.apps), k/len(c.apps), 0)
	}
	c.refs = c.refs[:objects]
	return c, nil
}

// lay lays out all objects but Events.
func (c *Cluster) lay() {
	r := c.rand("owners", 0)
	pods := podsOfNode * c.nodes
	c.refs, c.apps, c.jobs = nil, nil, nil
	for i, size := range ownerSizes(max(1, int(float64(pods*(jobsPart-1)/jobsPart)/meanSize)), r) {
		c.apps = append(c.apps, app{number: i, size: size, revision: oldSets + 1 + r.IntN(20)})
	}
	for i, size := range ownerSizes(max(1, int(float64(pods/jobsPart)/meanSize)), r) {
		c.jobs = append(c.jobs, app{number: i, size: size, job: true})
	}
	c.later = ownerSizes(100, r)
	c.namespaces = 1 + len(c.apps)/ofNamespace
	for _, a := range c.apps {
		for i := range a.size {
			c.add(podKind, a.number, i, a.revision)
		}
	}
	for _, j := range c.jobs {
		for i := range j.size {
			c.add(podKind, j.number, i, 0)
		}
	}
	for i := range c.nodes {
		c.add(nodeKind, i, 0, 0)
		c.add(leaseKind, i, 0, 0)
	}
	for _, a := range c.apps {
		c.add(deploymentKind, a.number, 0, a.revision)
		c.add(configMapKind, a.number, 0, a.revision)
		c.add(secretsKind, a.number, 0, a.revision)
		for revision := a.revision - oldSets; revision <= a.revision; revision++ {
			c.add(replicaSetKind, a.number, 0, revision)
		}
		if a.number%2 == 0 {
			c.add(widgetKind, a.number, 0, a.revision)
			for i := 0; i*ofSlice < a.size; i++ {
				c.add(sliceKind, a.number, i, a.revision)
			}
		}
	}
	for _, j := range c.jobs {
		c.add(jobKind, j.number, 0, 0)
	}
	for i := range c.namespaces {
		c.add(configMapKind, i, 1, 0)
		c.add(secretsKind, i, 1, 0)
	}
}

func (c *Cluster) add(kind, owner, index, revision int) {
	c.refs = append(c.refs, ref{uint8(kind), int32(owner), int32(index), int32(revision)})
}

// ID implements Corpus.
func (c *Cluster) ID() string {
	const version = 1 // of the objects that a seed makes
	return fmt.Sprintf("cluster-%d-%d-%t-%d", version, c.objects, c.managedFields, c.seed)
}

// Resources implements Corpus.
func (c *Cluster) Resources() []Resource {
	var all []Resource
	for _, k := range clusterKinds {
		all = append(all, Resource{GVK: k.gvk, GVR: k.gvk.GroupVersion().WithResource(k.resource), Namespaced: !k.global})
	}
	return all
}

// KindOf implements Corpus.
func (c *Cluster) KindOf(i int) int { return int(c.refs[i].kind) }

// Len implements Corpus.
func (c *Cluster) Len() int { return len(c.refs) }

// At implements Corpus.
func (c *Cluster) At(i int) Object {
	o := c.make(c.refs[i], c.first(c.refs[i]))
	o.SetResourceVersion(fmt.Sprint(FirstVersion + i))
	return o
}

// first returns the state of an object in the first list.
func (c *Cluster) first(f ref) state {
	switch f.kind {
	case podKind:
		return state{step: podReady}
	case replicaSetKind:
		if a := c.apps[f.owner]; int(f.revision) == a.revision {
			return state{replicas: int32(a.size), ready: int32(a.size)}
		}
	case deploymentKind:
		return state{replicas: int32(c.apps[f.owner].size), ready: int32(c.apps[f.owner].size)}
	case jobKind:
		return state{step: jobDone, replicas: int32(c.jobs[f.owner].size)}
	}
	return state{}
}

// jobOf returns a Job of the first list, or a later one.
func (c *Cluster) jobOf(number int) app {
	if k := number - len(c.jobs); k >= 0 {
		return app{number: number, size: c.later[k%len(c.later)], job: true}
	}
	return c.jobs[number]
}

// make returns an object in a state.
func (c *Cluster) make(f ref, s state) Object {
	k := &clusterKinds[f.kind]
	g := &member{Cluster: c, ref: f, state: s, r: c.rand(k.resource, f.number())}
	o := g.make()
	if c.managedFields {
		o.SetManagedFields(managedFields(o, k.gvk.GroupVersion().String(), k.managers, [2]metav1.Time{g.created(), g.time(0)}))
	}
	return o
}

func (g *member) make() Object {
	switch g.kind {
	case podKind:
		return g.pod()
	case nodeKind:
		return g.node()
	case replicaSetKind:
		return g.replicaSet()
	case deploymentKind:
		return g.deployment()
	case jobKind:
		return g.job()
	case eventKind:
		return g.event()
	case sliceKind:
		return g.slice()
	case leaseKind:
		return g.lease()
	case secretsKind:
		return g.secret()
	case configMapKind:
		return g.configMap()
	}
	return g.widget()
}

// number returns a number that no other object of the kind has. Other objects than Pods and
// ReplicaSets are the same in every revision.
func (f ref) number() uint64 {
	if f.kind != podKind && f.kind != replicaSetKind {
		f.revision = 0
	}
	return uint64(f.owner)<<40 | uint64(f.revision)<<20 | uint64(f.index)
}

// rand returns random numbers of an object. The name says what they are for.
func (c *Cluster) rand(name string, number uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", c.seed, name)
	return rand.New(rand.NewPCG(h.Sum64(), number))
}
