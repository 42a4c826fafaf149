package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	nodev1client "k8s.io/client-go/kubernetes/typed/node/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"
)

// lockedClient is a client for plugins. It reads the objects of the call that holds the lock.
type lockedClient struct {
	kubernetes.Interface // not used
	lock                 *callLock
	schemas              discovery.DiscoveryInterface
}

func (c lockedClient) Discovery() discovery.DiscoveryInterface { return c.schemas }

func (c lockedClient) CoreV1() corev1client.CoreV1Interface { return lockedCore{lock: c.lock} }

type lockedCore struct {
	corev1client.CoreV1Interface // not used
	lock                         *callLock
}

func (c lockedCore) Namespaces() corev1client.NamespaceInterface {
	return lockedNamespaces{lock: c.lock}
}

type lockedNamespaces struct {
	corev1client.NamespaceInterface // not used
	lock                            *callLock
}

func (n lockedNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	ns, err := lockedInformers{lock: n.lock}.Core().V1().Namespaces().Lister().Get(name)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return ns, err
}

// fallbackAccounts is the client that a plugin asks for an account that its lister lacks. Only "default" exists: its
// controller is about to create it.
type fallbackAccounts struct {
	corev1client.ServiceAccountInterface // not used
	namespace                            string
}

func (c lockedCore) ServiceAccounts(namespace string) corev1client.ServiceAccountInterface {
	return fallbackAccounts{namespace: namespace}
}

func (s fallbackAccounts) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ServiceAccount, error) {
	if name == serviceaccount.DefaultServiceAccountName {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}}, nil
	}
	// After a NotFound the plugin would wait and ask again.
	return nil, fmt.Errorf("serviceaccount %q not found", name)
}

// fallbackLimits is the client that a plugin asks for limits that its lister lacks. There are none.
type fallbackLimits struct {
	corev1client.LimitRangeInterface // not used
}

func (lockedCore) LimitRanges(string) corev1client.LimitRangeInterface { return fallbackLimits{} }

func (fallbackLimits) List(context.Context, metav1.ListOptions) (*corev1.LimitRangeList, error) {
	return &corev1.LimitRangeList{}, nil
}

// fallbackRuntimes is the client that a plugin asks for a runtime class that its lister lacks. There is none.
type fallbackRuntimes struct {
	nodev1client.NodeV1Interface       // not used
	nodev1client.RuntimeClassInterface // not used
}

func (lockedClient) NodeV1() nodev1client.NodeV1Interface { return fallbackRuntimes{} }

func (r fallbackRuntimes) RuntimeClasses() nodev1client.RuntimeClassInterface { return r }

func (fallbackRuntimes) Get(_ context.Context, name string, _ metav1.GetOptions) (*nodev1.RuntimeClass, error) {
	return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
}
