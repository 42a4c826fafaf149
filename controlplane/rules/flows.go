package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	flows "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

const (
	flowGroup      = "flowcontrol.apiserver.k8s.io"
	flowPath       = "/apis/" + flowGroup + "/v1/"
	flowSchemaKeys = "/" + flowGroup + "/flowschemas/"
	levelKeys      = "/" + flowGroup + "/prioritylevelconfigurations/"
	// flowProducer and flowConsumer are the managers of specs and of statuses.
	flowProducer = "api-priority-and-fairness-config-producer-v1"
	flowConsumer = "api-priority-and-fairness-config-consumer-v1"
)

// beginFlows creates the priority levels and flow schemas that every cluster has, in the order of the real server.
func (a *api) beginFlows(c *call) error {
	create := func(kind, resource string, o any) error {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		body := slices.Concat([]byte(`{"apiVersion":"`+flowGroup+`/v1","kind":"`+kind+`",`), text[1:])
		return a.inner(c, http.MethodPost, flowPath+resource+"?fieldManager="+flowProducer, body)
	}
	for _, of := range []struct {
		levels  []*flowcontrol.PriorityLevelConfiguration
		schemas []*flowcontrol.FlowSchema
	}{{flows.SuggestedPriorityLevelConfigurations, flows.SuggestedFlowSchemas}, {flows.MandatoryPriorityLevelConfigurations, flows.MandatoryFlowSchemas}} {
		for _, o := range of.levels {
			if err := create("PriorityLevelConfiguration", "prioritylevelconfigurations", o); err != nil {
				return err
			}
		}
		for _, o := range of.schemas {
			if err := create("FlowSchema", "flowschemas", o); err != nil {
				return err
			}
		}
	}
	return a.dangle(c)
}

// dangle tells each flow schema after a request whether its priority level exists.
func (a *api) dangle(c *call) error {
	levels, schemas := false, map[string]bool{}
	for _, w := range c.writes {
		levels = levels || strings.HasPrefix(w.Key, levelKeys)
		if strings.HasPrefix(w.Key, flowSchemaKeys) {
			schemas[w.Key] = true
		}
	}
	if levels {
		for _, text := range c.under(flowSchemaKeys) {
			var s flowcontrol.FlowSchema
			if err := json.Unmarshal(text, &s); err != nil {
				return err
			}
			schemas[flowSchemaKeys+s.Name] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(schemas)) {
		if err := a.setDangling(c, key); err != nil {
			return err
		}
	}
	return nil
}

// setDangling sets the condition of a flow schema, if it does not say so yet.
func (a *api) setDangling(c *call, key string) error {
	text := c.get(key)
	if text == nil {
		return nil
	}
	var s flowcontrol.FlowSchema
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	level := s.Spec.PriorityLevelConfiguration.Name
	want := flowcontrol.FlowSchemaCondition{Type: flowcontrol.FlowSchemaConditionDangling, LastTransitionTime: c.now()}
	if c.get(levelKeys+level) == nil {
		want.Status, want.Reason = flowcontrol.ConditionTrue, "NotFound"
		want.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", level)
	} else {
		want.Status, want.Reason = flowcontrol.ConditionFalse, "Found"
		want.Message = fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)
	}
	for _, now := range s.Status.Conditions {
		if now.Type == want.Type && now.Status == want.Status && now.Reason == want.Reason && now.Message == want.Message {
			return nil
		}
	}
	body, err := json.Marshal(struct {
		APIVersion string                       `json:"apiVersion"`
		Kind       string                       `json:"kind"`
		Metadata   map[string]string            `json:"metadata"`
		Status     flowcontrol.FlowSchemaStatus `json:"status"`
	}{flowGroup + "/v1", "FlowSchema", map[string]string{"name": s.Name}, flowcontrol.FlowSchemaStatus{Conditions: []flowcontrol.FlowSchemaCondition{want}}})
	if err != nil {
		return err
	}
	return a.innerOf(c, http.MethodPatch, "application/apply-patch+yaml", flowPath+"flowschemas/"+s.Name+"/status?force=true&fieldManager="+flowConsumer, body)
}
