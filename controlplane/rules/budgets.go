package main

import (
	"context"
	"encoding/json"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// callBudgets is the client for disruption budgets of the call that evicts a Pod. Only List, Get and UpdateStatus
// work: an eviction needs nothing else.
type callBudgets struct {
	policyv1client.PodDisruptionBudgetInterface
	table     *table
	namespace string
}

func (b callBudgets) PodDisruptionBudgets(namespace string) policyv1client.PodDisruptionBudgetInterface {
	b.namespace = namespace
	return b
}

func (b callBudgets) keys() string { return "/policy/poddisruptionbudgets/" + b.namespace + "/" }

func (b callBudgets) List(_ context.Context, _ metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	list := &policyv1.PodDisruptionBudgetList{}
	for _, text := range b.table.evictions.call.under(b.keys()) {
		var one policyv1.PodDisruptionBudget
		if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, &one); err != nil {
			return nil, err
		}
		list.Items = append(list.Items, one)
	}
	return list, nil
}

func (b callBudgets) Get(_ context.Context, name string, _ metav1.GetOptions) (*policyv1.PodDisruptionBudget, error) {
	text := b.table.evictions.call.get(b.keys() + name)
	if text == nil {
		return nil, apierrors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), name)
	}
	one := &policyv1.PodDisruptionBudget{}
	return one, runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, one)
}

func (b callBudgets) UpdateStatus(ctx context.Context, one *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	one.TypeMeta = metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}
	body, err := json.Marshal(one)
	if err != nil {
		return nil, err
	}
	if err := b.table.inner(b.table.evictions.call, http.MethodPut, "/apis/policy/v1/namespaces/"+b.namespace+"/poddisruptionbudgets/"+one.Name+"/status", body); err != nil {
		return nil, err
	}
	return b.Get(ctx, one.Name, metav1.GetOptions{})
}
