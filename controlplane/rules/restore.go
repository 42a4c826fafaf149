package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// httpRequest returns the request for the real handler. Its URL is read as a server reads that of a request line: two
// slashes begin no host. For an object to restore it is a GET: [callStorage.Get] does the rest.
func httpRequest(c *call) (*http.Request, error) {
	method, body := c.req.Method, c.req.Body
	if c.req.Restore {
		method, body = http.MethodGet, nil
	}
	at, err := url.ParseRequestURI(c.req.URL)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.URL = at
	return r, nil
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

// unknownFields returns an error that names the unknown and the duplicate fields of an object of a built-in kind. It
// returns nil for other kinds.
func unknownFields(text []byte) error {
	if _, _, err := strictDecoder().Decode(text, nil, nil); !runtime.IsNotRegisteredError(err) {
		return err
	}
	return nil
}
