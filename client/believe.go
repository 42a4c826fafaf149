package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// wanted is the object that an answer must have. An answer that has another one is not believed: a proxy
// may have mixed up two answers.
type wanted struct {
	key object.Key
	// prefix is that of a name which the server chooses.
	prefix string
	// uid is empty if any will do.
	uid types.UID
	// mayLack says that name and namespace may be missing in the answer: of a review, or of a
	// subresource of another kind.
	mayLack bool
}

// longestPrefix is how much of a generateName API servers keep: 63 characters without five random ones.
const longestPrefix = 58

// check returns an error unless the object is the wanted one.
func (w *wanted) check(h object.Header) error {
	name := h.Name == w.key.Name
	if w.key.Name == "" {
		name = h.Name != "" && strings.HasPrefix(h.Name, w.prefix[:min(len(w.prefix), longestPrefix)])
	}
	name = name || w.mayLack && h.Name == ""
	namespace := h.Namespace == w.key.Namespace || w.mayLack && h.Namespace == ""
	if !name || !namespace {
		return fmt.Errorf("the answer is about %q, another object than the one asked for", h.Key)
	}
	if w.uid != "" && h.UID != w.uid && !(w.mayLack && h.UID == "") {
		return fmt.Errorf("the answer is about %q with the uid %q, another one than %q", h.Key, h.UID, w.uid)
	}
	return nil
}

// checkRaw is check of an object in the form of an answer.
func (w *wanted) checkRaw(raw wire.Raw) error {
	h, err := raw.Header()
	if bad, ok := errors.AsType[*wire.DecodeError](err); ok && w.mayLack && bad.Key.Name == "" {
		return nil
	}
	if err != nil {
		return err
	}
	return w.check(h)
}

// wants is the object that the answer to a write must have.
func (p *plan) wants() *wanted {
	op := p.op
	w := &wanted{key: p.target.call.Key, mayLack: op.Body != nil || isReview(p.target.gvk)}
	switch {
	case op.Verb == verbCreate && op.Subresource == "":
		w.prefix = op.Object.GetGenerateName()
	case op.Verb == verbUpdate, op.Verb == verbApply:
		w.uid = p.answer.GetUID()
	case op.Delete.Preconditions != nil && op.Delete.Preconditions.UID != nil:
		w.uid = *op.Delete.Preconditions.UID
	}
	return w
}

// read reads the answer to a write. ok is false if it is a Status that reports success, which only deletes
// and creates of subresources may have.
func (p *plan) read(resp *http.Response) (raw wire.Raw, ok bool, err error) {
	call := p.target.call
	raw, said, err := readObject(call, p.kind, resp)
	switch {
	case err != nil:
		return wire.Raw{}, false, err
	case said == nil:
		err = p.wants().checkRaw(raw)
	case p.op.Verb == verbCreate && p.op.Subresource != "":
	case p.op.Verb == verbDelete:
		err = deletedAnother(call, said.Details)
	default:
		err = errStatusOnly
	}
	if err != nil {
		return wire.Raw{}, false, notBelieved(call, resp, err)
	}
	return raw, said == nil, nil
}

// deletedAnother returns an error if a Status names another object than the deleted one.
func deletedAnother(call Call, d *metav1.StatusDetails) error {
	if d == nil || d.Name == "" || namesObject(d, call) {
		return nil
	}
	return fmt.Errorf("the Status is about %s %q, another object than the one asked for", d.Kind, d.Name)
}

// readDeleted reads the answer to a deletecollection: a Status, or the list of what was deleted.
func (p *plan) readDeleted(resp *http.Response) error {
	list, err := wire.NewList(resp.Body, resp.Header.Get("Content-Type"), p.kind, wire.Limits{})
	if err != nil {
		return streamError(p.target.call, resp, err)
	}
	defer list.Close()
	for {
		_, err := list.Next()
		s, said := errors.AsType[*wire.StatusError](err)
		switch {
		case err == io.EOF, said && s.Status.Status == metav1.StatusSuccess:
			return nil
		case err != nil && !wire.IsObjectError(err):
			return streamError(p.target.call, resp, err)
		}
	}
}

// read reads the answer to a get. The object may lack its name in a subresource of another kind.
func (t *target) read(kind *wire.Kind, resp *http.Response) (wire.Raw, error) {
	raw, said, err := readObject(t.call, kind, resp)
	if err != nil {
		return wire.Raw{}, err
	}
	if err = errStatusOnly; said == nil {
		w := wanted{key: t.call.Key, mayLack: kind.GVK != t.gvk}
		err = w.checkRaw(raw)
	}
	if err != nil {
		return wire.Raw{}, notBelieved(t.call, resp, err)
	}
	return raw, nil
}

// notBelieved is the error for an answer that is not what was asked for. One that concerns only the decoding
// of the object stays as it is.
func notBelieved(call Call, resp *http.Response, err error) error {
	if wire.IsObjectError(err) {
		return err
	}
	return badAnswer(call, resp, err)
}

// inScope returns an error for an object of a list that is not in the namespace that was asked for.
func (t *target) inScope(raw wire.Raw) error {
	h, err := raw.Header()
	if err != nil {
		return nil // decoding it has the same error, which concerns the object only
	}
	asked := t.call.Key.Namespace
	if asked == h.Namespace || t.namespaced && asked == "" {
		return nil
	}
	return fmt.Errorf("the list has %q, an object outside of the scope that was asked for", h.Key)
}
