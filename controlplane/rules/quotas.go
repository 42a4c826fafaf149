package main

import (
	"context"
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	core "k8s.io/kubernetes/pkg/apis/core"
	evaluators "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

const quotaKeys = "/core/resourcequotas/"

// quotas is the admission plugin for ResourceQuotas. The real evaluator computes the usage. It reads the quotas of
// the call and writes their status within the call.
type quotas struct {
	*admission.Handler
	api       *api
	lock      *callLock
	evaluator resourcequota.Evaluator
}

func newQuotas(a *api) (*quotas, error) {
	q := &quotas{Handler: admission.NewHandler(admission.Create, admission.Update), api: a, lock: &callLock{}}
	// The evaluator of claims of devices needs an index over objects. Without it they are only counted.
	all, err := evaluators.NewEvaluators(nil, nil, func(r schema.GroupVersionResource) bool { return r.Resource != "resourceclaims" })
	if err != nil {
		return nil, err
	}
	q.evaluator = resourcequota.NewQuotaEvaluator(q, install.DefaultIgnoredResources(), generic.NewRegistry(all), nil, nil, 1, make(chan struct{}))
	return q, nil
}

func (q *quotas) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	c := callFrom(ctx)
	kind, resource := a.GetKind().GroupKind(), a.GetResource().GroupResource()
	switch {
	case a.GetNamespace() == "", kind == core.Kind("Namespace") && a.GetOperation() == admission.Create:
		return nil
	case resource == core.Resource("resourcequotas") && a.GetSubresource() == "status": // the plugin writes it itself
		return nil
	case len(c.under(quotaKeys+a.GetNamespace()+"/")) == 0:
		return nil
	}
	defer q.lock.acquire(c)()
	return q.evaluator.Evaluate(a)
}

// GetQuotas returns the quotas of a namespace.
func (q *quotas) GetQuotas(namespace string) ([]corev1.ResourceQuota, error) {
	found, err := lockedInformers{lock: q.lock}.Core().V1().ResourceQuotas().Lister().ResourceQuotas(namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var out []corev1.ResourceQuota
	for _, one := range found {
		out = append(out, *one)
	}
	return out, nil
}

// UpdateQuotaStatus writes the status of a quota.
func (q *quotas) UpdateQuotaStatus(one *corev1.ResourceQuota) error {
	one = one.DeepCopy()
	one.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}
	body, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return q.api.inner(q.lock.call, http.MethodPut, "/api/v1/namespaces/"+one.Namespace+"/resourcequotas/"+one.Name+"/status", body)
}
