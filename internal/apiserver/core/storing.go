package core

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// storing returns a definition with the version of an object as the stored one; nil if it is that already, or if the
// definition does not have it. With such a definition, an object that was stored before the stored version changed is
// read without a webhook.
func storing(definition, object []byte) []byte {
	var of metav1.TypeMeta
	var whole, spec map[string]json.RawMessage
	var versions []map[string]json.RawMessage
	if json.Unmarshal(object, &of) != nil || json.Unmarshal(definition, &whole) != nil ||
		json.Unmarshal(whole["spec"], &spec) != nil || json.Unmarshal(spec["versions"], &versions) != nil {
		return nil
	}
	name := fmt.Sprintf("%q", of.APIVersion[strings.LastIndex(of.APIVersion, "/")+1:])
	changed := false
	for _, v := range versions {
		is := string(v["name"]) == name
		changed = changed || is && string(v["storage"]) != "true"
		v["storage"] = json.RawMessage(fmt.Sprint(is))
	}
	if !changed {
		return nil
	}
	for _, part := range []struct {
		into map[string]json.RawMessage
		name string
		from any
	}{{spec, "versions", versions}, {whole, "spec", spec}} {
		text, err := json.Marshal(part.from)
		if err != nil {
			return nil
		}
		part.into[part.name] = text
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil
	}
	return text
}
