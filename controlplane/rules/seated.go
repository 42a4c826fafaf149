package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// seated is a plugin that reads objects by listers and clients, which leave out the context. It is for one call
// at a time. Nothing in it waits for anything outside.
type seated struct {
	admission.Interface
	turn *turns
}

var (
	_ admission.MutationInterface   = seated{}
	_ admission.ValidationInterface = seated{}
)

func (s seated) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	m, ok := s.Interface.(admission.MutationInterface)
	if !ok {
		return nil
	}
	defer s.turn.begin(callFrom(ctx))()
	return m.Admit(ctx, a, o)
}

func (s seated) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	v, ok := s.Interface.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	defer s.turn.begin(callFrom(ctx))()
	return v.Validate(ctx, a, o)
}

// shownClient is a client that reads what the call sees whose turn it is.
type shownClient struct {
	kubernetes.Interface // not used
	turn                 *turns
	schemas              discovery.DiscoveryInterface
}

func (c shownClient) Discovery() discovery.DiscoveryInterface { return c.schemas }

func (c shownClient) CoreV1() corev1client.CoreV1Interface { return shownCore{turn: c.turn} }

type shownCore struct {
	corev1client.CoreV1Interface // not used
	turn                         *turns
}

func (c shownCore) Namespaces() corev1client.NamespaceInterface { return shownNamespaces{turn: c.turn} }

type shownNamespaces struct {
	corev1client.NamespaceInterface // not used
	turn                            *turns
}

func (n shownNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	ns, err := shown{turn: n.turn}.Core().V1().Namespaces().Lister().Get(name)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return ns, err
}
