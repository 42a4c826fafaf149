package clientgo

import (
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// These are the groups of informers.SharedInformerFactory.

func (f *Factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, f.c.namespace, nil)
}
func (f *Factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, f.c.namespace, nil)
}
func (f *Factory) Apps() apps.Interface               { return apps.New(f, f.c.namespace, nil) }
func (f *Factory) Autoscaling() autoscaling.Interface { return autoscaling.New(f, f.c.namespace, nil) }
func (f *Factory) Batch() batch.Interface             { return batch.New(f, f.c.namespace, nil) }
func (f *Factory) Certificates() certificates.Interface {
	return certificates.New(f, f.c.namespace, nil)
}
func (f *Factory) Coordination() coordination.Interface {
	return coordination.New(f, f.c.namespace, nil)
}
func (f *Factory) Core() core.Interface               { return core.New(f, f.c.namespace, nil) }
func (f *Factory) Discovery() discovery.Interface     { return discovery.New(f, f.c.namespace, nil) }
func (f *Factory) Events() events.Interface           { return events.New(f, f.c.namespace, nil) }
func (f *Factory) Extensions() extensions.Interface   { return extensions.New(f, f.c.namespace, nil) }
func (f *Factory) Flowcontrol() flowcontrol.Interface { return flowcontrol.New(f, f.c.namespace, nil) }
func (f *Factory) Lifecycle() lifecycle.Interface     { return lifecycle.New(f, f.c.namespace, nil) }
func (f *Factory) Networking() networking.Interface   { return networking.New(f, f.c.namespace, nil) }
func (f *Factory) Node() node.Interface               { return node.New(f, f.c.namespace, nil) }
func (f *Factory) Policy() policy.Interface           { return policy.New(f, f.c.namespace, nil) }
func (f *Factory) Rbac() rbac.Interface               { return rbac.New(f, f.c.namespace, nil) }
func (f *Factory) Resource() resource.Interface       { return resource.New(f, f.c.namespace, nil) }
func (f *Factory) Scheduling() scheduling.Interface   { return scheduling.New(f, f.c.namespace, nil) }
func (f *Factory) Storage() storage.Interface         { return storage.New(f, f.c.namespace, nil) }
func (f *Factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, f.c.namespace, nil)
}
