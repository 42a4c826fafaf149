package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Accept asks for aggregated discovery in its two versions, then for the plain form.
const Accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

var (
	// ErrUnlisted is the Err of a Version of a plain document: its resources have a document of their own.
	ErrUnlisted = errors.New("its resources were not asked for")
	// ErrStale is the Err of a Version whose API server does not answer.
	ErrStale = errors.New("the server has no current list of its resources: the API server behind it does not answer")
)

// Aggregated reports whether a document is aggregated, by its Content-Type. ok is false if it is not JSON.
func Aggregated(contentType string) (whole, ok bool) {
	media, params, err := mime.ParseMediaType(contentType)
	known := params["v"] == "v2" || params["v"] == "v2beta1"
	whole = known && params["g"] == "apidiscovery.k8s.io" && params["as"] == "APIGroupDiscoveryList"
	return whole, err == nil && media == "application/json"
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

func (doc *groupDoc) group() Group {
	g := Group{Name: doc.Metadata.Name}
	for _, v := range doc.Versions {
		now := Version{Name: v.Version, Resources: make([]Resource, 0, len(v.Resources))}
		if v.Freshness == "Stale" {
			now.Err, now.Resources, v.Resources = ErrStale, nil, nil
		}
		for _, r := range v.Resources {
			if k := r.ResponseKind; k != nil && *k != (metav1.GroupVersionKind{}) {
				now.add(Resource{Plural: r.Resource, Singular: r.SingularResource, Kind: k.Kind, Namespaced: r.Scope == "Namespaced"})
			}
		}
		g.Versions = append(g.Versions, now)
	}
	return g
}

// ReadCore reads the answer of /api.
func ReadCore(whole bool, body io.Reader) ([]Group, error) {
	if whole {
		return ReadGroups(whole, body)
	}
	var core Group
	err := elements(body, "versions", func(name string) { core.Versions = append(core.Versions, Version{Name: name, Err: ErrUnlisted}) })
	return []Group{core}, err
}

// ReadGroups reads the answer of /apis.
func ReadGroups(whole bool, body io.Reader) (all []Group, err error) {
	if whole {
		err = elements(body, "items", func(doc groupDoc) { all = append(all, doc.group()) })
		return all, err
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
		g := Group{Name: doc.Name, Preferred: doc.PreferredVersion.Version}
		for _, v := range doc.Versions {
			g.Versions = append(g.Versions, Version{Name: v.Version, Err: ErrUnlisted})
		}
		all = append(all, g)
	})
	return all, err
}

// ReadResources reads the answer of /apis/<group>/<version>. It is never aggregated.
func ReadResources(_ bool, body io.Reader) ([]Resource, error) {
	v := Version{Resources: []Resource{}}
	err := elements(body, "resources", func(r struct {
		Name         string
		SingularName string
		Kind         string
		Namespaced   bool
	}) {
		v.add(Resource{Plural: r.Name, Singular: r.SingularName, Kind: r.Kind, Namespaced: r.Namespaced})
	})
	return v.Resources, err
}

// elements reads a JSON object and calls each for every element of the array that is the member called
// name. It never has the whole document in memory. An object without the member is an error.
func elements[T any](body io.Reader, name string, each func(T)) error {
	d := json.NewDecoder(body)
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t != json.Delim('{'):
		return notBegun(t, '{')
	}
	missing := true
	for d.More() {
		key, err := d.Token()
		if err == nil && key != name {
			err = d.Decode(new(json.RawMessage))
		} else if err == nil {
			missing = false
			err = array(d, each)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.Join(errors.New("more after the document"), err)
	}
	if missing {
		return fmt.Errorf("the document has no %s", name)
	}
	return nil
}

// array reads an array; null is an empty one.
func array[T any](d *json.Decoder, each func(T)) error {
	switch t, err := d.Token(); {
	case err != nil || t == nil:
		return err
	case t != json.Delim('['):
		return notBegun(t, '[')
	}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		each(v)
	}
	_, err := d.Token()
	return err
}

func notBegun(t json.Token, want json.Delim) error {
	return fmt.Errorf("%v where %v should be", t, want)
}
