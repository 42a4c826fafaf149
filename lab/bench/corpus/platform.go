package corpus

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The kinds of a platform are like those of tools that many clusters have: labels differ from object to object, and values
// are large. Their names are those of no tool.

func platform(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "platform.example.org", Version: "v1", Kind: kind}
}

// words returns a name of several words that many objects share.
func (g *maker) words() string {
	return appWords[g.r.IntN(len(appWords))] + "-" + partWords[g.r.IntN(len(partWords))]
}

// labeled returns metadata with labels that differ from object to object: the app has the name of the object.
func (g *maker) labeled(manager string) metav1.ObjectMeta {
	m := g.meta(g.words(), nil)
	m.Labels = map[string]string{
		"app.kubernetes.io/name": g.words(), "app.kubernetes.io/instance": m.Name, "app.kubernetes.io/managed-by": manager,
		"team": appWords[g.r.IntN(len(appWords))],
	}
	if g.spec.Kind == "machines" {
		m.Namespace = ""
	}
	return m
}

// custom returns a custom resource of a kind.
func (g *maker) custom(kind string, m metav1.ObjectMeta, spec, status map[string]any) Object {
	status["changes"] = int64(g.n)
	return custom(platform(kind), m, spec, status)
}

func (g *maker) ip() string {
	return fmt.Sprintf("10.%d.%d.%d", g.r.IntN(250), g.r.IntN(250), 1+g.r.IntN(250))
}

// condition returns a condition of a status, since a time that differs from object to object.
func (g *maker) condition(kind, message string) map[string]any {
	return map[string]any{
		"type": kind, "status": "True", "reason": kind + "Succeeded", "message": message, "observedGeneration": int64(1),
		"lastTransitionTime": g.at(time.Duration(g.n+g.r.IntN(9000)) * time.Second).UTC().Format(time.RFC3339),
	}
}

// networkEndpoint is what the network knows of a Pod: 1.8 kB, and no two have the same labels.
func networkEndpoint(g *maker) Object {
	m := g.labeled("network")
	m.Labels["pod-template-hash"], m.Labels["node"] = hex(g.r, 10), fmt.Sprintf("node-%04d", g.r.IntN(nodes))
	yes := true
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: m.Name, UID: m.UID, Controller: &yes}}
	var labels []any
	for _, k := range slices.Sorted(maps.Keys(m.Labels)) {
		labels = append(labels, "k8s:"+k+"="+m.Labels[k])
	}
	id := int64(10_000 + g.r.IntN(50_000))
	return g.custom("NetworkEndpoint", m, map[string]any{}, map[string]any{
		"id": int64(g.r.IntN(4000)), "state": "ready", "encryption": map[string]any{}, "external-identifiers": map[string]any{
			"container-id": hex(g.r, 64), "cni-attachment-id": hex(g.r, 64) + ":eth0", "k8s-namespace": m.Namespace, "k8s-pod-name": m.Name, "pod-name": m.Namespace + "/" + m.Name,
		},
		"identity":    map[string]any{"id": id, "labels": labels},
		"networking":  map[string]any{"addressing": []any{map[string]any{"ipv4": g.ip()}}, "node": g.ip()},
		"named-ports": []any{map[string]any{"name": "http", "port": int64(8080), "protocol": "TCP"}, map[string]any{"name": "metrics", "port": int64(9090), "protocol": "TCP"}},
	})
}

// delivery is an application that a tool keeps as a repository has it: 10 to 30 kB, most of it in the status.
func delivery(g *maker) Object {
	m := g.labeled("delivery")
	m.Annotations = map[string]string{"platform.example.org/last-applied": strings.Repeat(`{"path":"apps/`+m.Name+`"}`, 1+g.r.IntN(20))}
	var resources, history []any
	for range 20 + g.r.IntN(70) {
		kind := []string{"Deployment", "Service", "ConfigMap", "Secret", "Ingress"}[g.r.IntN(5)]
		resources = append(resources, map[string]any{
			"kind": kind, "name": m.Name + "-" + g.words(), "namespace": m.Namespace, "status": "Synced", "version": "v1",
			"health": map[string]any{"status": "Healthy"}, "hash": hex(g.r, 40),
		})
	}
	for i := range 10 {
		history = append(history, map[string]any{
			"id": int64(i), "revision": hex(g.r, 40), "deployedAt": g.at(time.Duration(i) * time.Hour).UTC().Format(time.RFC3339),
			"source": map[string]any{"repoURL": "https://git.example.org/" + m.Namespace + "/deploy.git", "path": "apps/" + m.Name, "targetRevision": "main"},
		})
	}
	return g.custom("Delivery", m, map[string]any{
		"project": m.Namespace, "destination": map[string]any{"namespace": m.Namespace, "server": "https://kubernetes.default.svc"},
		"source":     map[string]any{"repoURL": "https://git.example.org/" + m.Namespace + "/deploy.git", "path": "apps/" + m.Name, "targetRevision": "main", "helm": map[string]any{"values": g.text(500 + g.r.IntN(4000))}},
		"syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
	}, map[string]any{"resources": resources, "history": history, "sync": map[string]any{"status": "Synced", "revision": hex(g.r, 40)}, "conditions": []any{g.condition("Synced", "as of "+hex(g.r, 40))}})
}

// certificate is one that is renewed: 1.8 kB.
func certificate(g *maker) Object {
	m := g.labeled("certificates")
	until := g.at(time.Duration(g.n) * time.Hour).UTC()
	return g.custom("Certificate", m, map[string]any{
		"dnsNames": []any{m.Name + ".example.org", "www." + m.Name + ".example.org"}, "secretName": m.Name + "-tls", "usages": []any{"digital signature", "key encipherment"},
		"issuerRef": map[string]any{"group": "platform.example.org", "kind": "Issuer", "name": "public"}, "privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256)},
	}, map[string]any{
		"conditions": []any{g.condition("Ready", "Certificate is up to date and has not expired")}, "revision": int64(1 + g.r.IntN(20)), "serial": hex(g.r, 36),
		"notBefore": until.Format(time.RFC3339), "notAfter": until.Add(90 * 24 * time.Hour).Format(time.RFC3339), "renewalTime": until.Add(60 * 24 * time.Hour).Format(time.RFC3339),
	})
}

// policyReport is what a policy engine found in an object: 20 to 60 kB.
func policyReport(g *maker) Object {
	m := g.labeled("policies")
	var results []any
	for range 40 + g.r.IntN(80) {
		policy := "require-" + g.words()
		results = append(results, map[string]any{
			"policy": policy, "rule": "autogen-" + policy, "result": []string{"pass", "pass", "pass", "fail"}[g.r.IntN(4)], "scored": true, "source": "policies", "severity": "medium",
			"category": "Best practices", "message": "validation rule '" + policy + "' for " + m.Name + " passed: " + g.words(), "uid": uid(g.r),
			"timestamp": map[string]any{"seconds": int64(1_770_000_000 + g.r.IntN(1_000_000)), "nanos": int64(0)},
		})
	}
	return g.custom("PolicyReport", m, map[string]any{"scope": map[string]any{"apiVersion": "v1", "kind": "Pod", "name": m.Name, "namespace": m.Namespace, "uid": uid(g.r)}, "results": results}, map[string]any{"pass": int64(30), "fail": int64(g.r.IntN(9))})
}

// route is a set of rules of a proxy: 1 to 6 kB.
func route(g *maker) Object {
	m := g.labeled("mesh")
	var rules []any
	for range 1 + g.r.IntN(8) {
		to := func(subset string, weight int64) any {
			return map[string]any{"destination": map[string]any{"host": g.words() + "." + m.Namespace + ".svc.cluster.local", "port": map[string]any{"number": int64(8080)}, "subset": subset}, "weight": weight}
		}
		rules = append(rules, map[string]any{
			"match": []any{map[string]any{"uri": map[string]any{"prefix": "/" + g.words() + "/v1"}}}, "route": []any{to("stable", 90), to("canary", 10)}, "timeout": "3s",
			"retries": map[string]any{"attempts": int64(3), "perTryTimeout": "1s", "retryOn": "5xx,reset,connect-failure"},
		})
	}
	return g.custom("Route", m, map[string]any{"gateways": []any{"mesh/public"}, "hosts": []any{m.Name + ".example.org"}, "http": rules}, map[string]any{})
}

// machine is a node that an autoscaler has ordered: 2 kB, without a namespace.
func machine(g *maker) Object {
	m := g.labeled("autoscaler")
	var conditions []any
	for _, kind := range []string{"Launched", "Registered", "Initialized", "Ready", "Consolidatable"} {
		conditions = append(conditions, g.condition(kind, ""))
	}
	return g.custom("Machine", m, map[string]any{
		"requirements": []any{map[string]any{"key": "capacity", "operator": "In", "values": []any{"spot"}}, map[string]any{"key": "type", "operator": "In", "values": []any{"m6.large", "m6.xlarge", "c6.2xlarge"}}},
		"resources":    map[string]any{"requests": map[string]any{"cpu": fmt.Sprintf("%dm", g.r.IntN(8000)), "memory": "5Gi", "pods": "12"}},
	}, map[string]any{"conditions": conditions, "nodeName": "ip-" + strings.ReplaceAll(g.ip(), ".", "-"), "providerID": "cloud:///zone-a/i-" + hex(g.r, 17), "imageID": "image-" + hex(g.r, 17)})
}

// secretStore is a secret that is kept elsewhere: 1.5 kB.
func secretStore(g *maker) Object {
	m := g.labeled("secrets")
	var data []any
	for range 1 + g.r.IntN(8) {
		data = append(data, map[string]any{"secretKey": strings.ToUpper(strings.ReplaceAll(g.words(), "-", "_")), "remoteRef": map[string]any{"key": m.Namespace + "/" + m.Name, "property": g.words(), "version": fmt.Sprint(g.r.IntN(40))}})
	}
	return g.custom("SecretStore", m, map[string]any{"refreshInterval": "1h", "storeRef": map[string]any{"kind": "Vault", "name": "main"}, "target": map[string]any{"name": m.Name}, "data": data},
		map[string]any{"refreshTime": g.at(time.Duration(g.n) * time.Minute).UTC().Format(time.RFC3339), "syncedVersion": hex(g.r, 32), "conditions": []any{g.condition("Ready", "secret synced")}})
}

// dashboard has one JSON text of 20 to 100 kB in which most repeats.
func dashboard(g *maker) Object {
	m := g.labeled("dashboards")
	var panels strings.Builder
	for size := 20_000 + g.r.IntN(80_000); panels.Len() < size; {
		fmt.Fprintf(&panels, `{"type":"timeseries","title":"%s","targets":[{"expr":"sum(rate(http_requests_total{app=\"%s\"}[5m])) by (code)","legendFormat":"{{code}}","refId":"A"}],"gridPos":{"h":8,"w":12,"x":0,"y":%d}},`, g.words(), g.words(), g.r.IntN(200))
	}
	return g.custom("Dashboard", m, map[string]any{"json": `{"panels":[` + strings.TrimSuffix(panels.String(), ",") + `]}`, "folder": m.Namespace}, map[string]any{"hash": hex(g.r, 64)})
}

// service is a typed object of 1 kB whose labels differ from object to object.
func service(g *maker) Object {
	s := &corev1.Service{ObjectMeta: g.labeled("delivery")}
	ip, both, cluster := g.ip(), corev1.IPFamilyPolicySingleStack, corev1.ServiceInternalTrafficPolicyCluster
	s.Annotations = map[string]string{"changes": fmt.Sprint(g.n)}
	s.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: &both, InternalTrafficPolicy: &cluster,
		SessionAffinity: corev1.ServiceAffinityNone, Selector: map[string]string{"app.kubernetes.io/name": s.Labels["app.kubernetes.io/name"], "app.kubernetes.io/instance": s.Name},
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}, {Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(9090)}},
	}
	return s
}

// release is a ConfigMap with one text of 30 to 60 kB that does not compress, as a tool stores what it has installed.
func release(g *maker) Object {
	c := &corev1.ConfigMap{ObjectMeta: g.labeled("releases")}
	c.Data = map[string]string{"release": base64.StdEncoding.EncodeToString(g.random(22_000 + g.r.IntN(23_000))), "sum": hex(g.r, 64), "changes": fmt.Sprint(g.n)}
	return c
}
