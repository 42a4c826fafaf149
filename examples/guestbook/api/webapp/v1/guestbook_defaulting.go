package v1

import (
	"context"

	"github.com/flyball-io/flyball/webhook"
)

// DefaultImage serves a Guestbook that names no other.
const DefaultImage = "nginx:1.29"

// +kubebuilder:webhook:path=/mutate-webapp-example-com-v1-guestbook,mutating=true,failurePolicy=fail,sideEffects=None,groups=webapp.example.com,resources=guestbooks,verbs=create;update,versions=v1,name=mguestbook-v1.webapp.example.com,admissionReviewVersions=v1

// DefaultGuestbook serves the webhook that sets defaults.
func DefaultGuestbook(mgr webhook.Manager) error {
	return webhook.Default[Guestbook](mgr, defaultGuestbook)
}

// defaultGuestbook sets what its user left open. Called with what it returned it must change nothing.
func defaultGuestbook(_ context.Context, obj *Guestbook) error {
	obj.SetDefaults()
	return nil
}

// SetDefaults sets what is left open. Besides the webhook its controller calls it: an object may be
// older than the webhook.
func (g *Guestbook) SetDefaults() {
	if g.Spec.Size == nil {
		one := int32(1)
		g.Spec.Size = &one
	}
	if g.Spec.Alias == "" {
		g.Spec.Alias = Name
	}
	if g.Spec.Image == "" {
		g.Spec.Image = DefaultImage
	}
}
