package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// call returns the question to rules about a request, with the objects that are known to be needed.
func (v View) call(now time.Time, req Request, t target) *rules.Request {
	call := &rules.Request{
		Method: req.Method, URL: v.gates.open(req.URL), ContentType: req.ContentType, Accept: req.Accept, UserAgent: req.UserAgent, User: req.User, Groups: req.Groups,
		UserUID: req.UserUID, Extra: req.Extra, RBAC: v.rbac, Body: req.Body, Now: now.UnixNano(), Version: v.version, Objects: map[string]json.RawMessage{},
	}
	if v.guards(req) {
		call.Granted = req.attributes().String()
	}
	req.Pending.resume(call)
	if t.name != "" {
		v.with(call, t.key())
	}
	if t.namespace != "" && !isRead(req.Method) {
		v.with(call, "/core/namespaces/"+t.namespace)
	}
	if d := v.defined(t); d != nil {
		call.Objects[d.Key] = d.JSON
	}
	switch {
	case t.resource == "" && listing.MatchString(req.URL), t.group == definitionGroup && !isRead(req.Method):
		v.with(call, definitionKeys)
	case t.subresource == "token" || t.resource == "tokenreviews", strings.HasPrefix(req.URL, "/openid/"), strings.HasPrefix(req.URL, "/.well-known/"):
		call.Seed = v.seed
	case v.rbac && t.group == "authorization.k8s.io":
		v.with(call, roleKeys+"clusterrolebindings/")
	case t.resource == "pods" && req.Method == http.MethodPost:
		v.with(call, "/scheduling.k8s.io/priorityclasses/")
	case t.resource == "services" && !isRead(req.Method):
		v.with(call, "/core/services/") // for their addresses
	}
	if t.resource != "" && !isRead(req.Method) {
		v.with(call, "/admissionregistration.k8s.io/")
		if t.namespace != "" && req.Method != http.MethodDelete {
			v.with(call, "/core/resourcequotas/"+t.namespace+"/")
		}
		if t.resource == "pods" || t.resource == "persistentvolumeclaims" {
			v.with(call, "/core/limitranges/"+t.namespace+"/")
		}
	}
	return call
}

// listing matches the URLs of documents that depend on definitions.
var listing = regexp.MustCompile(`^/(apis|openapi|index\.html|$|\?)`)

// definitionKeys begins the keys of custom resource definitions.
const (
	definitionGroup = "apiextensions.k8s.io"
	definitionKeys  = "/" + definitionGroup + "/customresourcedefinitions/"
)

// defined returns the definition of the target's resource; nil for a resource that is built in, or unknown.
func (v View) defined(t target) *Object {
	if t.group == "" || !strings.Contains(t.group, ".") {
		return nil
	}
	return v.get(definitionKeys + t.resource + "." + t.group)
}

// with adds to a call the object with a key, or all objects under it if the key ends with a slash. It returns call.
func (v View) with(call *rules.Request, key string) *rules.Request {
	call.Objects[key] = nil
	if strings.HasSuffix(key, "/") {
		v.objects.Ascend(key, func(k string, o *Object) bool {
			if !strings.HasPrefix(k, key) {
				return false
			}
			call.Objects[k] = o.JSON
			return true
		})
	} else if o := v.get(key); o != nil {
		call.Objects[key] = o.JSON
	}
	return call
}

// maxRounds bounds the questions about one request. Each question has the objects that the one before lacked.
const maxRounds = 8

// ask asks rules. It repeats the question with more objects while rules look for existing ones that it lacked.
func (v View) ask(call *rules.Request) (*rules.Answer, error) {
	for range maxRounds {
		answer, err := v.rules(call)
		if err != nil {
			return nil, err
		}
		known := len(call.Objects)
		for _, key := range answer.Missing {
			generated := call.Suffix != "" && strings.HasSuffix(key, call.Suffix) // Step tries another name
			if v.get(key) != nil && !generated || strings.HasSuffix(key, "/") {
				v.with(call, key)
			}
		}
		if len(call.Objects) == known {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%s %s asked for objects %d times", call.Method, call.URL, maxRounds)
}

// askForAll asks rules about all objects that a list selects, as a deletion of a collection does.
func (v View) askForAll(call *rules.Request, l *rules.List, r fieldReader) (*rules.Answer, error) {
	page, failure := v.page(l, r)
	if failure != nil {
		return nil, failure
	}
	call.Collection = &rules.Collection{Continue: page.next, Remaining: page.remaining}
	for _, o := range page.objects {
		call.Collection.Items = append(call.Collection.Items, o.JSON)
		if !isRead(call.Method) {
			call.Objects[o.Key] = o.JSON
		}
	}
	if isRead(call.Method) {
		call.Version = page.version
	}
	return v.ask(call)
}
