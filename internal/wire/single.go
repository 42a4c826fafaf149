package wire

import (
	"bytes"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReadObject reads the body of an answer that is one object, whole, for [ParseObject]. A body above the limit of one
// object is a *[TooLargeError].
func ReadObject(body io.Reader, lim Limits) ([]byte, error) {
	most := lim.frame()
	b, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(b)) > most {
		err = &TooLargeError{Size: int64(len(b)), Limit: most}
	}
	return b, err
}

// ParseObject reads an answer that is one object of this kind. The Raw shares memory with body, which must not change.
// A Status is a *[StatusError], another kind a *[KindError], another content type a *[ContentTypeError], and invalid
// input a *[SyntaxError]. It does not check the metadata; [Raw.Header] does.
func ParseObject(body []byte, contentType string, kind *Kind) (Raw, error) {
	enc, _, err := ParseContentType(contentType)
	if err != nil {
		return Raw{}, &ContentTypeError{ContentType: contentType, Excerpt: Excerpt(body)}
	}
	raw := Raw{Kind: kind, Encoding: enc, Bytes: body}
	var apiVersion, name string
	if enc == Protobuf {
		e, err := openEnvelope(body)
		if err != nil {
			return Raw{}, &SyntaxError{Encoding: enc, Err: err}
		}
		apiVersion, name = string(e.apiVersion), string(e.kind)
		raw.Bytes = slices.Clip(e.raw)
	} else {
		raw.Bytes = bytes.TrimSpace(body)
		if raw, err = raw.check(); err == nil {
			apiVersion, name, err = raw.typeOf()
		}
		if err != nil {
			return Raw{}, &SyntaxError{Encoding: enc, Err: err}
		}
	}
	switch {
	case kind.is(apiVersion, name):
		return raw, nil
	case isStatus(apiVersion, name):
		return Raw{}, statusError(raw.Bytes, enc)
	}
	return Raw{}, &KindError{Want: kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, name)}
}

// typeOf reads apiVersion and kind of a checked JSON object.
func (r Raw) typeOf() (apiVersion, kind string, err error) {
	d := viewReader{Reader: r.reader()}
	if d.Space(); d.Peek() != '{' {
		return "", "", errNotObject
	}
	err = d.Object(func(name []byte) (err error) {
		switch string(name) {
		case "apiVersion":
			apiVersion, err = d.kept()
		case "kind":
			kind, err = d.kept()
		default:
			err = d.Skip()
		}
		return err
	})
	return apiVersion, kind, err
}
