package core

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// forms keeps objects as clients took them: in protobuf, or with their metadata only. An object never changes, so
// one that was encoded once is encoded for all clients of its form. It is bounded, and safe for concurrent use.
type forms struct {
	mu         sync.Mutex
	young, old map[formKey]encoded
	bytes      int
}

// formKey is an object in one form. The definition of a custom resource decides about it, too.
type formKey struct {
	object, definition *Object
	apiVersion, accept string
}

type encoded struct {
	body        []byte
	contentType string
}

// maxForms is the most bytes of a generation of encoded objects. There are two.
const maxForms = 24 << 20

func (f *forms) get(k formKey) (encoded, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.young[k]; ok {
		return e, true
	}
	e, ok := f.old[k]
	if ok {
		f.keep(k, e)
	}
	return e, ok
}

// put keeps an object in a form. Of protobuf it keeps nothing else under its name.
func (f *forms) put(k formKey, e encoded) {
	if k.accept == contentProtobuf && e.contentType != contentProtobuf {
		return
	}
	e.body = bytes.Clone(e.body) // it is a part of an answer
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(k, e)
}

// keep adds an object to the young generation. The caller holds the lock.
func (f *forms) keep(k formKey, e encoded) {
	const entry = 200
	if _, known := f.young[k]; known {
		return
	}
	if f.young == nil || f.bytes > maxForms {
		f.young, f.old, f.bytes = map[formKey]encoded{}, f.young, 0
	}
	f.young[k] = e
	f.bytes += entry + len(e.body)
}

// form returns the key of an object as a client of a collection takes it. There is none for tables, which tell ages,
// nor for what a webhook converts.
func (v View) form(o *Object, t target, accept string) (formKey, bool) {
	d := v.defined(t)
	if strings.Contains(accept, "as=Table") || t.warns() || d != nil && bytes.Contains(d.JSON, []byte(`"strategy":"Webhook"`)) {
		return formKey{}, false
	}
	key := formKey{o, d, apiVersion(t), accept}
	if key.definition == nil && protobuf(accept) {
		key.accept = contentProtobuf
	}
	return key, true
}

// encode returns an object as a client of a collection takes it. The answer is pending if the object has to be
// converted first.
func (v View) encode(o *Object, t target, accept string, now time.Time, p *Pending) (Answer, error) {
	key, lasts := v.form(o, t, accept)
	if lasts {
		if e, ok := v.forms.get(key); ok {
			return Answer{Code: http.StatusOK, Body: e.body, ContentType: e.contentType}, nil
		}
	}
	answer, err := v.question(t, o.Key, &rules.Request{Accept: accept, Now: now.UnixNano(), Version: o.Version, Objects: map[string]json.RawMessage{o.Key: o.JSON}}, p)
	if err == nil && answer.Pending == nil && lasts {
		v.forms.put(key, encoded{answer.Body, answer.ContentType})
	}
	return answer, err
}

// question asks how the client of a collection takes an object. What follows a question mark in the key is the
// query. The answer is pending if the object has to be converted first.
func (v View) question(t target, key string, call *rules.Request, p *Pending) (Answer, error) {
	key, query, more := strings.Cut(key, "?")
	call.Method, call.URL, call.User = http.MethodGet, t.item(key), "watch"
	if more {
		call.URL += "?" + query
	}
	if d := v.defined(t); d != nil {
		if call.Objects == nil {
			call.Objects = map[string]json.RawMessage{}
		}
		call.Objects[d.Key] = d.JSON
	}
	p.resume(call)
	answer, err := v.rules(call)
	switch {
	case err != nil:
		return Answer{}, err
	case len(answer.Calls) > 0:
		return p.wait(time.Unix(0, call.Now), 0, answer.Calls), nil
	case answer.Code != http.StatusOK:
		return Answer{}, fmt.Errorf("%s cannot be encoded: %s", key, answer.Body)
	}
	return Answer{Code: http.StatusOK, Body: answer.Body, ContentType: answer.ContentType}, nil
}

// written keeps the form of an object that the client has taken with the answer to its write. The answer to another
// write is no form of what it changes: that of a Binding says that the Pod has changed, that of a delete may be a list.
func (v View) written(req Request, t target, answer *rules.Answer) {
	if len(answer.Writes) != 1 || answer.Writes[0].Delete || req.Method == http.MethodDelete || t.subresource != "" || !strings.HasPrefix(answer.Writes[0].Key, t.collection()) {
		return
	}
	if answer.ContentType != contentProtobuf || !protobuf(req.Accept) {
		return
	}
	o := v.get(answer.Writes[0].Key)
	if key, lasts := v.form(o, t, req.Accept); lasts && key.definition == nil {
		v.forms.put(key, encoded{answer.Body, answer.ContentType})
	}
}

// protobuf reports whether a client takes objects as plain protobuf first.
func protobuf(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	return strings.TrimSpace(first) == contentProtobuf
}

// Fields of messages: those of an envelope and of lists of all kinds.
const (
	magic      = "k8s\x00" // begins an envelope
	fieldRaw   = 2
	fieldItems = 2
)

// protobuf is the page as a list in protobuf. Rules are asked for the objects that are not known in this form.
func (v View) protobuf(p page, l *rules.List, t target, call *rules.Request) ([]byte, error) {
	raws := make([][]byte, len(p.objects))
	var unknown []int
	size := 0
	for i, o := range p.objects {
		key, _ := v.form(o, t, contentProtobuf)
		if e, ok := v.forms.get(key); ok {
			raws[i] = parts(e.body[len(magic):], fieldRaw)[0]
			size += len(raws[i]) + 8
		} else {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) > 0 {
		some := *call
		some.Collection = &rules.Collection{}
		for _, i := range unknown {
			some.Collection.Items = append(some.Collection.Items, p.objects[i].JSON)
		}
		answer, err := v.rules(&some)
		if err != nil {
			return nil, err
		}
		list := parts(bytes.TrimPrefix(answer.Body, []byte(magic)), fieldRaw)
		if answer.Code != 200 || answer.ContentType != contentProtobuf || len(list) != 1 {
			return nil, nil // it is no list of objects
		}
		items := parts(list[0], fieldItems)
		if len(items) != len(unknown) {
			return nil, nil
		}
		for n, i := range unknown {
			raws[i] = items[n]
			size += len(items[n]) + 8
			key, _ := v.form(p.objects[i], t, contentProtobuf)
			v.forms.put(key, encoded{envelope(metav1.TypeMeta{Kind: l.Kind, APIVersion: l.APIVersion}, items[n]), contentProtobuf})
		}
	}
	meta, err := (&metav1.ListMeta{ResourceVersion: strconv.FormatUint(p.version, 10), Continue: p.next, RemainingItemCount: p.remaining}).Marshal()
	if err != nil {
		return nil, err
	}
	out := appendField(make([]byte, 0, size+len(meta)+8), 1, meta)
	for _, raw := range raws {
		out = appendField(out, fieldItems, raw)
	}
	return envelope(metav1.TypeMeta{Kind: l.ListKind, APIVersion: l.APIVersion}, out), nil
}

func appendField(b []byte, number uint64, text []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// parts returns the fields of a number, of a message whose fields all have lengths.
func parts(message []byte, number uint64) (out [][]byte) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return nil
		}
		size, m := binary.Uvarint(message[n:])
		if m <= 0 || tag&7 != 2 || size > uint64(len(message)-n-m) {
			return nil
		}
		message = message[n+m:]
		if tag>>3 == number {
			out = append(out, message[:size:size])
		}
		message = message[size:]
	}
	return out
}
