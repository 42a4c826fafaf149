package main

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// restore is the method of a request that reads an object of a saved state. Its URL is that of the object, and its
// body the object as it was stored. The one write of the answer has its labels, fields, and shown form. The object is
// decoded, but neither validated nor admitted. With fieldValidation=Strict in the URL, fields that a built-in kind does
// not have are an error. A custom resource may have some: its definition can have changed since.
const restore = "RESTORE"

func (c *call) restores() bool { return c.req.Method == restore }

// httpRequest returns the request for the real handler. For restore it is a GET: [callStorage.Get] does the rest.
func httpRequest(c *call) (*http.Request, error) {
	if c.restores() {
		return http.NewRequest(http.MethodGet, c.req.URL, nil)
	}
	return http.NewRequest(c.req.Method, c.req.URL, bytes.NewReader(c.req.Body))
}

var errNoVersion = errors.New("it has no resourceVersion: it was never stored")

// restore decodes the object in the body of the call into out, and records its write.
func (s *callStorage) restore(c *call, key string, out runtime.Object) error {
	text := bytes.TrimSpace(c.req.Body)
	if strings.HasSuffix(c.req.URL, "?fieldValidation="+metav1.FieldValidationStrict) {
		if err := unknownFields(text); err != nil {
			return err
		}
	}
	if err := s.decode(text, out); err != nil {
		return err
	}
	version, err := s.ObjectResourceVersion(out)
	if err != nil {
		return err
	}
	if version == 0 {
		return errNoVersion
	}
	return s.keep(c, key, out, version, text)
}

var strictDecoder = sync.OnceValue(func() runtime.Decoder {
	return serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
})

// unknownFields returns an error that names the fields of an object that its kind does not have, and those that are
// there twice. It knows only built-in kinds.
func unknownFields(text []byte) error {
	if _, _, err := strictDecoder().Decode(text, nil, nil); !runtime.IsNotRegisteredError(err) {
		return err
	}
	return nil
}
