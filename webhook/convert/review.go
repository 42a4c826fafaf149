package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/webhook/internal/review"
	"github.com/flyball-io/flyball/wire"
)

const (
	reviewKind = "ConversionReview"
	group      = "apiextensions.k8s.io/"
	maxUID     = 128
)

var (
	errNoRequest = errors.New("there is no request")
	errNoUID     = errors.New("the request has no uid")
	errNoVersion = errors.New("the request has no desiredAPIVersion")
)

// job is one review that is being served.
type job struct {
	h       *Endpoint
	version string // of the review: v1 or v1beta1
	uid     string
	desired string
	objects [][]byte // point into the body
}

// Parse implements review.Protocol.
func (h *Endpoint) Parse(body []byte) (review.Job, *review.RefusalError) {
	j := &job{h: h}
	var apiVersion, kind string
	var found bool
	err := review.Read(body, func(r *review.Reader) error {
		var twice review.Twice
		return r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "apiVersion":
				if err = twice.See(0, name); err == nil {
					apiVersion, err = r.String(group+"v1", group+"v1beta1")
				}
				return review.In("apiVersion", err)
			case "kind":
				if err = twice.See(1, name); err == nil {
					kind, err = r.String(reviewKind)
				}
				return review.In("kind", err)
			case "request":
				if err = twice.See(2, name); err == nil {
					found, err = j.read(r)
				}
				return review.In("request", err)
			}
			return r.Skip()
		})
	})
	if len(j.uid) > maxUID {
		j.uid, err = "", fmt.Errorf("the uid has more than %d bytes", maxUID)
	}
	if err != nil {
		return nil, review.Bad(j.uid, "the body is not a ConversionReview", err)
	}
	version, ours := strings.CutPrefix(apiVersion, group)
	switch {
	case kind != reviewKind || !ours || version != "v1" && version != "v1beta1":
		err = fmt.Errorf("want %sv1 or v1beta1 ConversionReview, got apiVersion %q, kind %q", group, clip(apiVersion), clip(kind))
	case !found:
		err = errNoRequest
	case j.uid == "":
		err = errNoUID
	case j.desired == "":
		err = errNoVersion
	default:
		j.version = version
		return j, nil
	}
	return nil, review.Bad(j.uid, "the ConversionReview cannot be answered", err)
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

func (j *job) read(r *review.Reader) (found bool, err error) {
	var twice review.Twice
	err = r.Object(func(name []byte) (err error) {
		found = true
		switch string(name) {
		case "uid":
			if err = twice.See(0, name); err == nil {
				j.uid, err = r.String()
			}
			return review.In("uid", err)
		case "desiredAPIVersion":
			if err = twice.See(1, name); err == nil {
				j.desired, err = r.String()
			}
			return review.In("desiredAPIVersion", err)
		case "objects":
			if err = twice.See(2, name); err == nil {
				err = r.Array(func() error {
					raw, err := r.Raw()
					j.objects = append(j.objects, raw)
					return err
				})
			}
			return review.In("objects", err)
		}
		return r.Skip()
	})
	return found, err
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
		if out, what, err = j.h.table.convert(out, j.objects[i], desired); err != nil {
			err = fmt.Errorf("object %d, %s to %s: %w", i, what, clip(j.desired), err)
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
func (t table) convert(out, raw []byte, desired schema.GroupVersion) (_ []byte, what string, err error) {
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
		return out, what, fmt.Errorf("this webhook does not know version %s of the kind", clip(gv.Version))
	case to == nil:
		return out, what, fmt.Errorf("this webhook does not know version %s of the kind", clip(desired.Version))
	case from == to:
		return append(out, raw...), what, nil
	}
	obj := from.part.newOwn()
	if err := (wire.Raw{Kind: from.kind, Encoding: wire.JSON, Bytes: raw}).Decode(obj); err != nil {
		return out, what, err
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

// head identifies an object.
type head struct{ apiVersion, kind, namespace, name string }

func (h head) String() string {
	name := h.name
	if h.namespace != "" {
		name = h.namespace + "/" + name
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", clip(h.apiVersion), clip(h.kind), clip(name)))
}

var errNotObject = errors.New("it is not a JSON object")

func headOf(raw []byte) (h head, err error) {
	if len(raw) == 0 || raw[0] != '{' {
		return h, errNotObject
	}
	err = review.Read(raw, func(r *review.Reader) error {
		return r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "apiVersion":
				h.apiVersion, err = r.String()
			case "kind":
				h.kind, err = r.String()
			case "metadata":
				err = r.Object(func(name []byte) (err error) {
					switch string(name) {
					case "name":
						h.name, err = r.String()
					case "namespace":
						h.namespace, err = r.String()
					default:
						err = r.Skip()
					}
					return err
				})
			default:
				err = r.Skip()
			}
			return err
		})
	})
	return h, err
}
