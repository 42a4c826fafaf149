package main

import (
	"maps"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	apiregistrationinstall "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	apiservice "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/kubelet/client"
	mutatingwebhook "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration/storage"
	validatingwebhook "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration/storage"
	controllerrevision "k8s.io/kubernetes/pkg/registry/apps/controllerrevision/storage"
	daemonset "k8s.io/kubernetes/pkg/registry/apps/daemonset/storage"
	deployment "k8s.io/kubernetes/pkg/registry/apps/deployment/storage"
	replicaset "k8s.io/kubernetes/pkg/registry/apps/replicaset/storage"
	statefulset "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
	autoscaler "k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler/storage"
	cronjob "k8s.io/kubernetes/pkg/registry/batch/cronjob/storage"
	job "k8s.io/kubernetes/pkg/registry/batch/job/storage"
	certificate "k8s.io/kubernetes/pkg/registry/certificates/certificates/storage"
	lease "k8s.io/kubernetes/pkg/registry/coordination/lease/storage"
	configmap "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	endpoint "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	event "k8s.io/kubernetes/pkg/registry/core/event/storage"
	limitrange "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	namespace "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	node "k8s.io/kubernetes/pkg/registry/core/node/storage"
	volume "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	volumeclaim "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	pod "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplate "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	replication "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	quota "k8s.io/kubernetes/pkg/registry/core/resourcequota/storage"
	secret "k8s.io/kubernetes/pkg/registry/core/secret/storage"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	service "k8s.io/kubernetes/pkg/registry/core/service/storage"
	account "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	endpointslice "k8s.io/kubernetes/pkg/registry/discovery/endpointslice/storage"
	ingress "k8s.io/kubernetes/pkg/registry/networking/ingress/storage"
	ingressclass "k8s.io/kubernetes/pkg/registry/networking/ingressclass/storage"
	networkpolicy "k8s.io/kubernetes/pkg/registry/networking/networkpolicy/storage"
	runtimeclass "k8s.io/kubernetes/pkg/registry/node/runtimeclass/storage"
	disruption "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/storage"
	clusterrolepolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	clusterrole "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/storage"
	clusterrolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	clusterrolebinding "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/storage"
	rolepolicy "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	role "k8s.io/kubernetes/pkg/registry/rbac/role/storage"
	rolebindingpolicy "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
	rolebinding "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/storage"
	priorityclass "k8s.io/kubernetes/pkg/registry/scheduling/priorityclass/storage"
	csidriver "k8s.io/kubernetes/pkg/registry/storage/csidriver/storage"
	csinode "k8s.io/kubernetes/pkg/registry/storage/csinode/storage"
	csicapacity "k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity/storage"
	storageclass "k8s.io/kubernetes/pkg/registry/storage/storageclass/storage"
	attachment "k8s.io/kubernetes/pkg/registry/storage/volumeattachment/storage"
	attributesclass "k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass/storage"
	"k8s.io/kubernetes/pkg/serviceaccount"

	// The types of each group, with their defaults and conversions.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// group is an API group. Discovery lists groups by priority, the highest first, as on the real server.
type group struct {
	name     string
	priority int
	versions []groupVersion
}

// groupVersion is one version of a group and its resources, subresources included.
type groupVersion struct {
	name     string
	priority int
	storage  resources
}

type resources map[string]rest.Storage

// table makes the storages of all resources. It keeps the first error, and then its methods do nothing more.
type table struct {
	err       error
	services  *allocations
	evictions *callLock
	tokens    *callLock
	// inner makes a request of the server itself within a call. See [api.inner].
	inner func(c *call, method, path string, body []byte) error
}

// groups returns the built-in groups with the storages of all their resources.
func (t *table) groups() ([]group, error) {
	events := t.one(event.NewREST(t, 3600))
	scalers := t.two("horizontalpodautoscalers")(autoscaler.NewREST(t))
	stable := func(storage resources) []groupVersion { return []groupVersion{{"v1", 15, storage}} }
	authentication, authorization := t.reviews()
	all := []group{
		{"", 18000, []groupVersion{{"v1", 1, t.core(events)}}},
		{registrationGroup, 20000, stable(t.apiServices())},
		{"events.k8s.io", 17750, stable(resources{"events": events})},
		{"apps", 17800, stable(t.apps())},
		{"authentication.k8s.io", 17700, stable(authentication)},
		{"authorization.k8s.io", 17600, stable(authorization)},
		{"autoscaling", 17500, []groupVersion{{"v2", 30, scalers}, {"v1", 15, scalers}}},
		{"batch", 17400, stable(join(t.two("cronjobs")(cronjob.NewREST(t)), t.two("jobs")(job.NewREST(t))))},
		{"certificates.k8s.io", 17300, stable(t.certificates())},
		{"networking.k8s.io", 17200, stable(join(t.networks(), t.two("ingresses")(ingress.NewREST(t)), resources{
			"ingressclasses": t.one(ingressclass.NewREST(t)), "networkpolicies": t.one(networkpolicy.NewREST(t))}))},
		{"policy", 17100, stable(t.two("poddisruptionbudgets")(disruption.NewREST(t)))},
		{"rbac.authorization.k8s.io", 17000, stable(t.roles())},
		{"storage.k8s.io", 16800, stable(t.volumes())},
		{"admissionregistration.k8s.io", 16700, stable(join(t.policies(), resources{
			"mutatingwebhookconfigurations": t.one(mutatingwebhook.NewREST(t)), "validatingwebhookconfigurations": t.one(validatingwebhook.NewREST(t))}))},
		{"apiextensions.k8s.io", 16700, stable(t.definitions())},
		{"scheduling.k8s.io", 16600, stable(resources{"priorityclasses": t.one(priorityclass.NewREST(t))})},
		{"coordination.k8s.io", 16500, stable(resources{"leases": t.one(lease.NewREST(t))})},
		{"node.k8s.io", 16300, stable(resources{"runtimeclasses": t.one(runtimeclass.NewREST(t))})},
		{"flowcontrol.apiserver.k8s.io", 16100, []groupVersion{{"v1", 21, t.flows()}}},
		{"resource.k8s.io", 16200, []groupVersion{{"v1", 21, t.devices()}}},
		{"discovery.k8s.io", 16200, stable(resources{"endpointslices": t.one(endpointslice.NewREST(t))})},
	}
	return all, t.err
}

func (t *table) core(events rest.Storage) resources {
	nodes, err := node.NewStorage(t, client.KubeletClientConfig{}, nowhere{})
	t.fail(err)
	if t.err != nil {
		return nil
	}
	pods, err := pod.NewStorage(t, kubelets{nodes.Node}, nowhere{}, callBudgets{table: t}, mayDo)
	t.fail(err)
	replicas, err := replication.NewStorage(t)
	t.fail(err)
	namespaces, status, finalize, err := namespace.NewREST(t)
	t.fail(err)
	secrets, err := secret.NewREST(t)
	t.fail(err)
	endpoints, err := endpoint.NewREST(t)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	accounts, err := account.NewREST(t, generator{}, audiences, 0, pods.Pod.Store, secrets.Store, nodes.Node.Store, true, serviceaccount.ExpirationExtensionSeconds*time.Second)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	families := map[core.IPFamily]ipallocator.Interface{core.IPv4Protocol: clusterIPs{t.services}}
	services, servicesStatus, servicesProxy, err := service.NewREST(t, core.IPv4Protocol, families, ports{t.services}, endpointsOf{t.services, endpoints}, pods.Pod, nowhere{})
	t.fail(err)
	if t.err == nil {
		t.services.inner = t.inner
		t.services.follow(services.Store)
	}
	claims, claimsStatus, err := volumeclaim.NewREST(t)
	t.fail(err)
	if t.err == nil {
		services.Storage.Storage.(*callStorage).decorate = services.Decorator
		claims.Storage.Storage.(*callStorage).decorate = claims.Decorator
	}
	return join(
		t.two("persistentvolumeclaims")(claims, claimsStatus, nil), t.two("persistentvolumes")(volume.NewREST(t)), t.two("resourcequotas")(quota.NewREST(t)),
		resources{
			"bindings": pods.LegacyBinding, "pods": pods.Pod, "pods/binding": pods.Binding, "pods/status": pods.Status,
			"pods/eviction": pods.Eviction, "pods/ephemeralcontainers": pods.EphemeralContainers, "pods/resize": pods.Resize,
			"pods/log": pods.Log, "pods/exec": pods.Exec, "pods/attach": pods.Attach, "pods/portforward": pods.PortForward, "pods/proxy": pods.Proxy,
			"nodes": nodes.Node, "nodes/status": nodes.Status, "nodes/proxy": nodes.Proxy, "services/proxy": servicesProxy,
			"replicationcontrollers": replicas.Controller, "replicationcontrollers/status": replicas.Status, "replicationcontrollers/scale": replicas.Scale,
			"namespaces": namespaces, "namespaces/status": status, "namespaces/finalize": finalize,
			"configmaps": t.one(configmap.NewREST(t)), "endpoints": endpoints, "services": services, "services/status": servicesStatus, "events": events, "limitranges": t.one(limitrange.NewREST(t)),
			"podtemplates": t.one(podtemplate.NewREST(t)), "secrets": secrets, "serviceaccounts": accounts, "serviceaccounts/token": tokens{accounts.Token},
		})
}

func (t *table) apps() resources {
	deployments, err := deployment.NewStorage(t)
	t.fail(err)
	replicasets, err := replicaset.NewStorage(t)
	t.fail(err)
	statefulsets, err := statefulset.NewStorage(t)
	t.fail(err)
	return join(t.two("daemonsets")(daemonset.NewREST(t)), resources{
		"controllerrevisions": t.one(controllerrevision.NewREST(t)),
		"deployments":         deployments.Deployment, "deployments/status": deployments.Status, "deployments/scale": deployments.Scale,
		"replicasets": replicasets.ReplicaSet, "replicasets/status": replicasets.Status, "replicasets/scale": replicasets.Scale,
		"statefulsets": statefulsets.StatefulSet, "statefulsets/status": statefulsets.Status, "statefulsets/scale": statefulsets.Scale,
	})
}

func (t *table) definitions() resources {
	apiextensionsinstall.Install(legacyscheme.Scheme)
	all, err := customresourcedefinition.NewREST(legacyscheme.Scheme, t)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	const name = "customresourcedefinitions"
	return resources{name: all, name + "/status": customresourcedefinition.NewStatusREST(legacyscheme.Scheme, all)}
}

func (t *table) apiServices() resources {
	apiregistrationinstall.Install(legacyscheme.Scheme)
	all := apiservice.NewREST(legacyscheme.Scheme, t)
	return resources{"apiservices": all, "apiservices/status": apiservice.NewStatusREST(legacyscheme.Scheme, all)}
}

func (t *table) certificates() resources {
	requests, status, approval, err := certificate.NewREST(t)
	t.fail(err)
	const name = "certificatesigningrequests"
	return resources{name: requests, name + "/status": status, name + "/approval": approval}
}

func (t *table) volumes() resources {
	drivers, err := csidriver.NewStorage(t)
	t.fail(err)
	nodes, err := csinode.NewStorage(t)
	t.fail(err)
	capacities, err := csicapacity.NewStorage(t)
	t.fail(err)
	attachments, err := attachment.NewStorage(t)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	return resources{
		"csidrivers": drivers.CSIDriver, "csinodes": nodes.CSINode, "csistoragecapacities": capacities.CSIStorageCapacity,
		"storageclasses": t.one(storageclass.NewREST(t)), "volumeattributesclasses": t.one(attributesclass.NewREST(t)), "volumeattachments": attachments.VolumeAttachment, "volumeattachments/status": attachments.Status,
	}
}

// roles returns the storages of roles and bindings. They refuse to grant permissions that the user lacks.
func (t *table) roles() resources {
	clusterBindings, err := clusterrolebinding.NewREST(t)
	t.fail(err)
	clusterRoles, err := clusterrole.NewREST(t)
	t.fail(err)
	bindings, err := rolebinding.NewREST(t)
	t.fail(err)
	inNamespaces, err := role.NewREST(t)
	t.fail(err)
	if t.err != nil {
		return nil
	}
	return resources{
		"clusterrolebindings": clusterrolebindingpolicy.NewStorage(clusterBindings, mayDo, grants), "clusterroles": clusterrolepolicy.NewStorage(clusterRoles, mayDo, grants),
		"rolebindings": rolebindingpolicy.NewStorage(bindings, mayDo, grants), "roles": rolepolicy.NewStorage(inNamespaces, mayDo, grants),
	}
}

func (t *table) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// one returns a storage, and keeps the error.
func (t *table) one(storage rest.Storage, err error) rest.Storage {
	t.fail(err)
	return storage
}

// two returns a function that names a storage and that of its status, and keeps the error.
func (t *table) two(name string) func(main, status rest.Storage, err error) resources {
	return func(main, status rest.Storage, err error) resources {
		t.fail(err)
		return resources{name: main, name + "/status": status}
	}
}

func join(all ...resources) resources {
	out := resources{}
	for _, r := range all {
		maps.Copy(out, r)
	}
	return out
}

// storedAs has the version in which objects of a group are stored, unless that is v1.
var storedAs = map[string]string{"autoscaling": "v2"}

// GetRESTOptions gives each resource a callStorage.
func (t *table) GetRESTOptions(r schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	version := storedAs[r.Group]
	if version == "" {
		version = "v1"
	}
	gv := schema.GroupVersion{Group: r.Group, Version: version}
	codec := func(mediaType string) runtime.Codec {
		info, _ := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), mediaType)
		return legacyscheme.Codecs.CodecForVersions(info.Serializer, legacyscheme.Codecs.UniversalDeserializer(), gv, schema.GroupVersion{Group: r.Group, Version: runtime.APIVersionInternal})
	}
	stored := runtime.Codec(protobufJSON{codec(runtime.ContentTypeJSON), codec(runtime.ContentTypeProtobuf)})
	if r.Group == apiextensions.GroupName || r.Group == registrationGroup { // they are stored as JSON
		stored = codec(runtime.ContentTypeJSON)
	}
	if !legacyscheme.Scheme.IsGroupRegistered(r.Group) { // the handler of custom resources converts them
		stored = unstructured.UnstructuredJSONScheme
	}
	config := storagebackend.NewDefaultConfig("", stored)
	config.EncodeVersioner = gv // discovery has a hash of it
	if r.Group == apiextensions.GroupName {
		config.EncodeVersioner = schema.GroupVersion{Group: r.Group, Version: "v1beta1"} // so the real server says
	}
	if strings.HasPrefix(r.Resource, "mutatingadmissionpolic") && r.Group == "admissionregistration.k8s.io" {
		config.EncodeVersioner = schema.GroupVersion{Group: r.Group, Version: "v1beta1"}
	}
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(r),
		Decorator:               newCallStorage,
		EnableGarbageCollection: true,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          keyPrefix(r),
	}, nil
}

// keyPrefix returns the beginning of the keys of a resource, without the slashes around it. Events are the same objects
// in both of their groups.
func keyPrefix(r schema.GroupResource) string {
	if r.Group == "" || r.Group == "events.k8s.io" && r.Resource == "events" {
		return "core/" + r.Resource
	}
	return r.Group + "/" + r.Resource
}
