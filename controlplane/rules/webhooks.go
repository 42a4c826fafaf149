package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

const (
	mutatingKeys   = "/admissionregistration.k8s.io/mutatingwebhookconfigurations/"
	validatingKeys = "/admissionregistration.k8s.io/validatingwebhookconfigurations/"
)

// webhooks is the admission plugin that calls webhooks. It has one real plugin for each set of configurations, keyed
// by their texts, so servers with equal configurations share it.
type webhooks struct {
	*admission.Handler
	purpose hookPurpose

	mu   sync.Mutex
	made *kept[[32]byte, lockedPlugin]
}

// maxWebhooks bounds the plugins that are kept.
const maxWebhooks = 256

func newWebhooks(purpose hookPurpose) *webhooks {
	return &webhooks{Handler: admission.NewHandler(admission.Connect, admission.Create, admission.Delete, admission.Update), purpose: purpose, made: newKept[[32]byte, lockedPlugin](maxWebhooks, nil)}
}

func (w *webhooks) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if w.purpose != mutates {
		return nil
	}
	plugin, err := w.of(callFrom(ctx))
	if err != nil || plugin == nil {
		return err
	}
	return plugin.Admit(ctx, a, o)
}

func (w *webhooks) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if w.purpose != validates {
		return nil
	}
	plugin, err := w.of(callFrom(ctx))
	if err != nil || plugin == nil {
		return err
	}
	return plugin.Validate(ctx, a, o)
}

// of returns the plugin for the configurations of a call; nil if there are none.
func (w *webhooks) of(c *call) (*lockedPlugin, error) {
	prefix := mutatingKeys
	if w.purpose == validates {
		prefix = validatingKeys
	}
	return c.plugin(prefix, func(texts []json.RawMessage) (*lockedPlugin, error) {
		if len(texts) == 0 {
			return nil, nil
		}
		sum := sumOf(texts)
		w.mu.Lock()
		defer w.mu.Unlock()
		if p, ok := w.made.get(sum); ok {
			return &p, nil
		}
		p, err := w.make(texts)
		if err != nil {
			return nil, err
		}
		w.made.put(sum, p)
		return &p, nil
	})
}

func sumOf(texts []json.RawMessage) [32]byte {
	hash := sha256.New()
	for _, text := range texts {
		hash.Write(text)
		hash.Write([]byte{0})
	}
	return [32]byte(hash.Sum(nil))
}

// make returns a plugin for the configurations with these texts.
func (w *webhooks) make(texts []json.RawMessage) (lockedPlugin, error) {
	var configurations []runtime.Object
	var bundles [][]byte
	for _, text := range texts {
		obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(admissionregistration.SchemeGroupVersion), text)
		if err != nil {
			return lockedPlugin{}, err
		}
		switch c := obj.(type) {
		case *admissionregistration.MutatingWebhookConfiguration:
			for _, h := range c.Webhooks {
				bundles = append(bundles, h.ClientConfig.CABundle)
			}
		case *admissionregistration.ValidatingWebhookConfiguration:
			for _, h := range c.Webhooks {
				bundles = append(bundles, h.ClientConfig.CABundle)
			}
		}
		configurations = append(configurations, obj)
	}
	lock := &callLock{}
	clients := &hookClients{purpose: w.purpose, bundles: bundles, lock: lock}
	kind := schema.GroupKind{Group: admissionregistration.GroupName, Kind: "MutatingWebhookConfiguration"}
	if w.purpose == validates {
		kind.Kind = "ValidatingWebhookConfiguration"
	}
	var inner *generic.Webhook
	var plugin interface {
		admission.Interface
		admission.InitializationValidator
	}
	if w.purpose == mutates {
		p, err := mutating.NewMutatingWebhook(nil)
		if err != nil {
			return lockedPlugin{}, err
		}
		inner, plugin = p.Webhook, p
	} else {
		p, err := validating.NewValidatingAdmissionWebhook(nil)
		if err != nil {
			return lockedPlugin{}, err
		}
		inner, plugin = p.Webhook, p
	}
	inner.SetExternalKubeClientSet(lockedClient{lock: lock})
	inner.SetExternalKubeInformerFactory(lockedInformers{lock: lock, fixed: map[schema.GroupKind][]runtime.Object{kind: configurations}})
	inner.SetAuthorizer(expressionAccess{lock})
	inner.SetServiceResolver(webhook.NewDefaultServiceResolver())
	inner.SetAuthenticationInfoResolverWrapper(clients.wrap)
	return lockedPlugin{plugin, lock}, plugin.ValidateInitialization()
}
