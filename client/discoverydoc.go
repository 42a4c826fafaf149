package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flyball-io/flyball/wire"
)

// acceptGroups asks for aggregated discovery in its two versions, then for the plain form.
const acceptGroups = wire.ContentTypeJSON + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	wire.ContentTypeJSON + ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + wire.ContentTypeJSON

// aggregated reports whether a document is aggregated, by its Content-Type.
func aggregated(header string) (bool, error) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil || media != wire.ContentTypeJSON {
		return false, &wire.ContentTypeError{ContentType: header}
	}
	known := params["v"] == "v2" || params["v"] == "v2beta1"
	return known && params["g"] == "apidiscovery.k8s.io" && params["as"] == "APIGroupDiscoveryList", nil
}

// groupDoc is the part of an APIGroupDiscovery that is read. It is the same in v2 and v2beta1. A
// resource without a kind only carries subresources.
type groupDoc struct {
	Metadata struct {
		Name string
	}
	Versions []struct {
		Version   string
		Freshness string
		Resources []struct {
			Resource         string
			SingularResource string
			Scope            string
			ResponseKind     *metav1.GroupVersionKind
		}
	}
}

func (doc *groupDoc) group() servedGroup {
	g := servedGroup{name: doc.Metadata.Name}
	for _, v := range doc.Versions {
		now := servedVersion{name: v.Version, resources: make([]servedResource, 0, len(v.Resources))}
		if v.Freshness == "Stale" {
			now.err, now.resources, v.Resources = errStale, nil, nil
		}
		for _, r := range v.Resources {
			if k := r.ResponseKind; k != nil && *k != (metav1.GroupVersionKind{}) {
				now.add(servedResource{plural: r.Resource, singular: r.SingularResource, kind: k.Kind, namespaced: r.Scope == "Namespaced"})
			}
		}
		g.versions = append(g.versions, now)
	}
	return g
}

// readCore reads the answer of /api.
func readCore(header string, body io.Reader) ([]servedGroup, error) {
	if whole, err := aggregated(header); whole || err != nil {
		return readGroups(header, body)
	}
	var core servedGroup
	err := elements(body, "versions", func(name string) { core.versions = append(core.versions, servedVersion{name: name, err: errUnlisted}) })
	return []servedGroup{core}, err
}

// readGroups reads the answer of /apis.
func readGroups(header string, body io.Reader) (all []servedGroup, err error) {
	whole, err := aggregated(header)
	switch {
	case err != nil:
		return nil, err
	case whole:
		return all, elements(body, "items", func(doc groupDoc) { all = append(all, doc.group()) })
	}
	err = elements(body, "groups", func(doc struct {
		Name     string
		Versions []struct {
			Version string
		}
		PreferredVersion struct {
			Version string
		}
	}) {
		g := servedGroup{name: doc.Name, preferred: doc.PreferredVersion.Version}
		for _, v := range doc.Versions {
			g.versions = append(g.versions, servedVersion{name: v.Version, err: errUnlisted})
		}
		all = append(all, g)
	})
	return all, err
}

// readResources reads the answer of /apis/<group>/<version>.
func readResources(header string, body io.Reader) ([]servedResource, error) {
	if _, err := aggregated(header); err != nil {
		return nil, err
	}
	v := servedVersion{resources: []servedResource{}}
	err := elements(body, "resources", func(r struct {
		Name         string
		SingularName string
		Kind         string
		Namespaced   bool
	}) {
		v.add(servedResource{plural: r.Name, singular: r.SingularName, kind: r.Kind, namespaced: r.Namespaced})
	})
	return v.resources, err
}

// lenient lets JSON have duplicate names and invalid UTF-8, as apimachinery does.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// elements reads a JSON object and calls each for every element of the array that is the member called
// name. It never has the whole document in memory. An object without the member is an error.
func elements[T any](body io.Reader, name string, each func(T)) error {
	d := jsontext.NewDecoder(body, lenient...)
	if err := begin(d, '{'); err != nil {
		return err
	}
	missing := true
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		if t.String() != name {
			err = d.SkipValue()
		} else {
			missing = false
			err = array(d, each)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.Join(errors.New("more after the document"), err)
	}
	if missing {
		return fmt.Errorf("the document has no %s", name)
	}
	return nil
}

func array[T any](d *jsontext.Decoder, each func(T)) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if err := begin(d, '['); err != nil {
		return err
	}
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		each(v)
	}
	_, err := d.ReadToken()
	return err
}

// begin reads the first token of an object or an array.
func begin(d *jsontext.Decoder, want jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != want {
		err = fmt.Errorf("%s where %s should be", t.Kind(), want)
	}
	return err
}
