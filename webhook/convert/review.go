package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

const (
	reviewKind = "ConversionReview"
	group      = "apiextensions.k8s.io/"
)

// job is one review that is being served.
type job struct {
	h       *Endpoint
	version string // of the review: v1 or v1beta1
	uid     string
	desired string
	objects [][]byte // point into the body
}

var fields = []string{"uid", "desiredAPIVersion", "objects"}

func (h *Endpoint) parse(body []byte) (review.Job, *review.RefusalError) {
	j := &job{h: h}
	var no *review.RefusalError
	j.version, no = review.Parse(body, group, reviewKind, &j.uid, func(r *review.Reader) error {
		return r.Fields(fields, func(i int) (err error) {
			switch fields[i] {
			case "uid":
				j.uid, err = r.String()
			case "desiredAPIVersion":
				j.desired, err = r.String()
			case "objects":
				err = r.Array(func() error {
					raw, err := r.Raw()
					j.objects = append(j.objects, raw)
					return err
				})
			}
			return err
		})
	})
	if no == nil && j.desired == "" {
		no = review.Unanswerable(j.uid, reviewKind, errors.New("the request has no desiredAPIVersion"))
	}
	if no != nil {
		return nil, no
	}
	return j, nil
}

func (j *job) UID() string { return j.uid }

// Serve converts the objects in order. If one fails, the answer has only its error.
func (j *job) Serve(ctx context.Context, out []byte) ([]byte, bool, error) {
	start := len(out)
	out = append(out, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/`...)
	out = append(out, j.version...)
	out = append(out, `","response":{"uid":`...)
	out = review.AppendString(out, j.uid)
	head := len(out)
	out = append(out, `,"convertedObjects":[`...)
	desired, err := schema.ParseGroupVersion(j.desired)
	if err != nil {
		err = fmt.Errorf("desiredAPIVersion: %w", err)
	}
	for i := 0; err == nil && i < len(j.objects); i++ {
		if ctx.Err() != nil {
			return out[:start], false, context.Cause(ctx)
		}
		if i > 0 {
			out = append(out, ',')
		}
		var what string
		if out, what, err = j.h.table.convert(out, j.objects[i], desired, j.h.drop); err != nil {
			err = fmt.Errorf("object %d, %s to %s: %w", i, what, review.Clip(j.desired), err)
		}
	}
	if err != nil {
		out = append(out[:head], `,"convertedObjects":[],"result":{"metadata":{},"status":"Failure","message":`...)
		out = review.AppendString(out, err.Error())
		return append(out, `}}}`...), true, nil
	}
	return append(out, `],"result":{"metadata":{},"status":"Success"}}}`...), false, nil
}

// convert appends the object in the desired version. what names the object in error messages.
func (t table) convert(out, raw []byte, desired schema.GroupVersion, drop bool) (_ []byte, what string, err error) {
	h, err := headOf(raw)
	what = h.String()
	if err != nil {
		return out, what, err
	}
	gv, err := schema.ParseGroupVersion(h.apiVersion)
	if err != nil {
		return out, what, err
	}
	versions := t[schema.GroupKind{Group: gv.Group, Kind: h.kind}]
	from, to := versions[gv.Version], versions[desired.Version]
	switch {
	case versions == nil:
		return out, what, errors.New("this webhook does not convert the kind")
	case desired.Group != gv.Group:
		return out, what, errors.New("the groups differ")
	case from == nil:
		return out, what, fmt.Errorf("this webhook does not know version %s of the kind", review.Clip(gv.Version))
	case to == nil:
		return out, what, fmt.Errorf("this webhook does not know version %s of the kind", review.Clip(desired.Version))
	case from == to:
		return append(out, raw...), what, nil
	}
	obj := from.part.newOwn()
	if err := (wire.Raw{Kind: from.kind, Encoding: wire.JSON, Bytes: raw}).Decode(obj); err != nil {
		return out, what, err
	}
	if !drop {
		if err := complete(raw, obj); err != nil {
			return out, what, err
		}
	}
	if from.hub != from {
		hub := from.part.newHub()
		hub.GetObjectKind().SetGroupVersionKind(from.hub.kind.GVK)
		if err := step(obj, hub, from.part.toHub); err != nil {
			return out, what, err
		}
		obj = hub
	}
	if to.hub != to {
		spoke := to.part.newOwn()
		spoke.GetObjectKind().SetGroupVersionKind(to.kind.GVK)
		if err := step(obj, spoke, to.part.fromHub); err != nil {
			return out, what, err
		}
		obj = spoke
	}
	b := bytes.NewBuffer(out)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(obj); err != nil {
		return out, what, fmt.Errorf("encode: %w", err)
	}
	done := b.Bytes()
	return done[:len(done)-1], what, nil // without the line feed
}

// maxLost is how many of the fields that would be lost an error names.
const maxLost = 10

// complete returns an error that names the fields of a document which the type of obj does not have: the
// conversion would lose them. Metadata is left out.
func complete(raw []byte, obj object.Object) error {
	if !wire.Partial(obj) {
		return nil
	}
	lost, err := decode.UnknownFieldsJSON(reflect.TypeOf(obj).Elem(), raw)
	if err != nil {
		return err
	}
	lost = slices.DeleteFunc(lost, func(path string) bool {
		return strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "metadata[")
	})
	if len(lost) == 0 {
		return nil
	}
	more := ""
	if len(lost) > maxLost {
		more, lost = fmt.Sprintf(" and %d more", len(lost)-maxLost), lost[:maxLost]
	}
	return fmt.Errorf("this program has no fields %q%s: the conversion would lose them; a newer version of the program may know them", lost, more)
}

// head identifies an object.
type head struct{ apiVersion, kind, namespace, name string }

func (h head) String() string {
	name := h.name
	if h.namespace != "" {
		name = h.namespace + "/" + name
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", review.Clip(h.apiVersion), review.Clip(h.kind), review.Clip(name)))
}

var errNotObject = errors.New("it is not a JSON object")

var (
	headFields = []string{"apiVersion", "kind", "metadata"}
	nameFields = []string{"name", "namespace"}
)

func headOf(raw []byte) (h head, err error) {
	if len(raw) == 0 || raw[0] != '{' {
		return h, errNotObject
	}
	err = review.Read(raw, func(r *review.Reader) error {
		return r.Fields(headFields, func(i int) (err error) {
			switch i {
			case 0:
				h.apiVersion, err = r.String()
			case 1:
				h.kind, err = r.String()
			default:
				into := []*string{&h.name, &h.namespace}
				err = r.Fields(nameFields, func(i int) (err error) {
					*into[i], err = r.String()
					return err
				})
			}
			return err
		})
	})
	return h, err
}
