package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/yaml"
)

// ApplyLimit is the largest size in bytes of all annotations of an object together. kubectl apply
// stores the applied object in one of them.
const ApplyLimit = 262144

// crds generates the CustomResourceDefinitions, by path.
func (p *project) crds(dir string) (map[string][]byte, error) {
	parser := &crd.Parser{Collector: p.collector, Checker: p.checker, AllowDangerousTypes: p.DangerousTypes, GenerateEmbeddedObjectMeta: p.EmbeddedObjectMeta}
	crd.AddKnownTypes(parser)
	// Without a group there is no kind, and without its marker no mistake in one.
	for _, r := range p.marked(groupMarker, rootMarker) {
		parser.NeedPackage(r)
	}
	kinds, err := p.kinds(parser)
	if err != nil {
		return nil, err
	}
	definitions, made := make([]extv1.CustomResourceDefinition, 0, len(kinds)), make([]*kind, 0, len(kinds))
	for _, k := range kinds {
		parser.NeedCRDFor(k.GroupKind, p.MaxDescription)
		if d, ok := parser.CustomResourceDefinitions[k.GroupKind]; ok {
			if err := k.settle(&d); err != nil {
				return nil, err
			}
			crd.FixTopLevelMetadata(d)
			definitions, made = append(definitions, d), append(made, k)
			p.lossy(k, &d)
		}
	}
	if err := p.blame(p.generatorErrors()).err(); err != nil {
		return nil, err
	}
	var problems Problems
	for i := range definitions {
		found, err := p.accept(parser, made[i], &definitions[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", definitions[i].Name, err)
		}
		problems = append(problems, found...)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for i := range definitions {
		d := &definitions[i]
		path := filepath.Join(dir, d.Spec.Group+"_"+d.Spec.Names.Plural+".yaml")
		if out[path] != nil {
			return nil, Problems{problemf(made[i].versions[0].at, "", "%s: another kind of the group has the plural %q too", made[i], d.Spec.Names.Plural)}
		}
		if out[path], err = document(d); err != nil {
			return nil, err
		}
		if size, err := appliedSize(d); err != nil {
			return nil, err
		} else if size > ApplyLimit {
			p.warn(Position{File: p.rel(path)}, "", "CRD %s has %d bytes as kubectl apply keeps it in an annotation, %d is the most; "+
				"apply it by \"kubectl apply --server-side\", or shorten the descriptions by --max-description", d.Name, size, ApplyLimit)
		}
	}
	return out, nil
}

// blame moves problems that the schema generator reports for a field or type to the marker that
// causes them. The generator's messages do not name the marker.
func (p *project) blame(problems Problems) Problems {
	for i, x := range problems {
		// The message suggests an option by the name that it has in another tool.
		if text, _, found := strings.Cut(x.Message, " If you are really sure you want to use them"); found {
			problems[i].Message = text + " --allow-dangerous-types permits it."
		}
		message := strings.ToLower(x.Message)
		for _, m := range p.marks {
			if p.position(m.node.Pos()) != x.Position {
				continue
			}
			last := m.def.Name[strings.LastIndexByte(m.def.Name, ':')+1:]
			if strings.Contains(message, strings.ToLower(last)) {
				problems[i].Position, problems[i].Marker = m.at, m.name()
				break
			}
		}
	}
	return problems
}

// lossy warns of versions that differ without a conversion.
func (p *project) lossy(k *kind, d *extv1.CustomResourceDefinition) {
	if d.Spec.Conversion != nil || k.converts {
		return
	}
	for _, v := range d.Spec.Versions[1:] {
		first := d.Spec.Versions[0]
		if !reflect.DeepEqual(undescribed(first), undescribed(v)) {
			p.warn(k.versions[0].at, "", "%s: versions %s and %s differ and nothing converts between them: fields that only one of them has are lost; add +%s=%s to the stored version",
				k, first.Name, v.Name, conversionMarker, conversionWebhook)
			return
		}
	}
}

// undescribed returns the schema of a version without descriptions.
func undescribed(v extv1.CustomResourceDefinitionVersion) *extv1.JSONSchemaProps {
	s := v.Schema.OpenAPIV3Schema.DeepCopy()
	crd.TruncateDescription(s, 0)
	return s
}

// document writes objects as YAML under the line that identifies generated files.
func document(objects ...any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(yamlMark + "\n")
	for _, o := range objects {
		fields, err := fieldsOf(o)
		if err != nil {
			return nil, err
		}
		data, err := yaml.Marshal(fields)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(data)
	}
	return b.Bytes(), nil
}

// fieldsOf returns an object without the fields that only the server sets. Numbers keep their form.
func fieldsOf(o any) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if m, ok := fields["metadata"].(map[string]any); ok {
		delete(m, "creationTimestamp")
	}
	return fields, nil
}

// appliedSize returns the bytes of a definition's annotations after kubectl apply.
func appliedSize(d *extv1.CustomResourceDefinition) (int, error) {
	fields, err := fieldsOf(d)
	if err != nil {
		return 0, err
	}
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return 0, fmt.Errorf("%s: no metadata", d.Name)
	}
	if metadata["annotations"] == nil {
		metadata["annotations"] = map[string]any{}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return 0, err
	}
	size := len(corev1.LastAppliedConfigAnnotation) + len(data) + 1 // and a line end
	for k, v := range d.Annotations {
		size += len(k) + len(v)
	}
	return size, nil
}
