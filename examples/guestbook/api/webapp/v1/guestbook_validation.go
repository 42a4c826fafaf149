package v1

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/webhook"
)

// ProtectedAnnotation keeps a Guestbook from being deleted while it is "true".
const ProtectedAnnotation = "webapp.example.com/protected"

// +kubebuilder:webhook:path=/validate-webapp-example-com-v1-guestbook,mutating=false,failurePolicy=fail,sideEffects=None,groups=webapp.example.com,resources=guestbooks,verbs=create;update;delete,versions=v1,name=vguestbook-v1.webapp.example.com,admissionReviewVersions=v1

// ValidateGuestbook serves the webhook that refuses what is wrong.
func ValidateGuestbook(mgr webhook.Manager) error {
	return webhook.Validate[Guestbook](mgr, guestbookValidator{})
}

// guestbookValidator says of each Guestbook whether it may be stored: warnings are shown to the
// user, an error refuses the request. What the schema can say, it says: see the markers of the types.
type guestbookValidator struct{}

func (guestbookValidator) ValidateCreate(_ context.Context, obj *Guestbook) ([]string, error) {
	errs := checkSpec(&obj.Spec)
	if obj.Name != "" { // else the server makes one up
		for _, why := range validation.IsDNS1035Label(obj.Name) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), obj.Name, "its Service has the same name: "+why))
		}
	}
	return warnings(obj), errs.ToAggregate()
}

func (guestbookValidator) ValidateUpdate(_ context.Context, old, obj *Guestbook) ([]string, error) {
	if obj.DeletionTimestamp != nil {
		return nil, nil // its finalizer must come off, whatever else is wrong
	}
	errs := checkSpec(&obj.Spec)
	if old.Spec.Alias != "" && obj.Spec.Alias != old.Spec.Alias {
		errs = append(errs, field.Invalid(field.NewPath("spec", "alias"), obj.Spec.Alias,
			fmt.Sprintf("cannot be changed: visitors have signed with their %s", old.Spec.Alias)))
	}
	return warnings(obj), errs.ToAggregate()
}

func (guestbookValidator) ValidateDelete(_ context.Context, obj *Guestbook) ([]string, error) {
	if obj.Annotations[ProtectedAnnotation] != "true" {
		return nil, nil
	}
	return nil, field.Forbidden(field.NewPath("metadata", "annotations").Key(ProtectedAnnotation),
		"the Guestbook is protected: remove the annotation before you delete it")
}

func checkSpec(spec *GuestbookSpec) (errs field.ErrorList) {
	if strings.ContainsFunc(spec.Message, unicode.IsControl) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "message"), spec.Message, "must be one line, without control characters"))
	}
	return errs
}

func warnings(obj *Guestbook) []string {
	if strings.HasSuffix(obj.Spec.Image, ":latest") {
		return []string{"spec.image: what \"latest\" is may change between one Pod and the next"}
	}
	return nil
}
