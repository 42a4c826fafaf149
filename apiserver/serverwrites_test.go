package apiserver_test

import (
	"encoding/json"
	"fmt"
)

const ipAddresses = "/apis/networking.k8s.io/v1/ipaddresses"

// clusterIP returns the address of a Service.
func (a answer) clusterIP(s *session) string {
	var v struct{ Spec struct{ ClusterIP string } }
	if err := json.Unmarshal([]byte(a.raw), &v); err != nil || v.Spec.ClusterIP == "" {
		s.t.Fatalf("no address: %v: %s", err, a.raw)
	}
	return v.Spec.ClusterIP
}

// addressCases need the range of addresses of the start to be the only one. Cases about ServiceCIDRs define another.
var addressCases = []conformanceCase{
	{"addresses of Services", func(s *session) {
		service := func(name, spec string) string {
			return fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{%s},"spec":{"ports":[{"port":80}]%s}}`, name, spec)
		}
		a := s.post("~/services", service(`"name":"a"`, ""))
		ip := a.clusterIP(s)
		s.get(ipAddresses + "/" + ip)
		s.do("GET", ipAddresses+"/"+ip, "", "Accept", acceptTable)
		s.post("~/services", service(`"name":"b"`, `,"clusterIP":"`+ip+`"`))
		s.patch(mergePatch, "~/services/a", `{"spec":{"type":"ExternalName","externalName":"x.example","clusterIP":"","clusterIPs":null}}`)
		s.get(ipAddresses + "/" + ip)
		a = s.patch(mergePatch, "~/services/a", `{"spec":{"type":"ClusterIP","externalName":null}}`)
		ip = a.clusterIP(s)
		s.get(ipAddresses + "/" + ip)
		s.post("~/services", service(`"generateName":"g-"`, ""))
		s.post("~/services?dryRun=All", service(`"name":"dry"`, ""))
		s.post("~/services?dryRun=All", service(`"name":"dry"`, `,"clusterIP":"`+ip+`"`))
		for _, none := range []string{"192.168.1.1", "10.0.0.0", "10.0.255.255", "10.1.0.0"} {
			s.post("~/services", service(`"name":"none"`, `,"clusterIP":"`+none+`"`))
			s.post("~/services?dryRun=All", service(`"name":"none"`, `,"clusterIP":"`+none+`"`))
		}
		s.post("~/services", service(``, ""))
		s.delete("~/services/a", "")
		s.get(ipAddresses + "/" + ip)
		s.post("~/services", service(`"name":"headless"`, `,"clusterIP":"None"`))
	}},
}

// serverCases are about what the server itself writes.
var serverCases = []conformanceCase{
	{"an address that is taken by hand", func(s *session) {
		var n int
		if _, err := fmt.Sscanf(s.ns, "c-%d", &n); err != nil {
			s.t.Fatal(err)
		}
		ip := fmt.Sprintf("10.0.%d.%d", 240+n/256%15, n%256)
		s.post(ipAddresses, `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"`+ip+`"},"spec":{"parentRef":{"resource":"services","namespace":"NS","name":"other"}}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"`+ip+`","ports":[{"port":80}]}}`)
		s.delete(ipAddresses+"/"+ip, "")
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"clusterIP":"`+ip+`","ports":[{"port":80}]}}`)
		s.get(ipAddresses + "/" + ip)
		s.delete("~/services", "")
		s.get(ipAddresses + "/" + ip)
	}},
	{"flow schemas that dangle", func(s *session) {
		const one = flowSchemas + "/NS-a"
		schema := func(level string) string {
			return `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema","metadata":{"name":"NS-a"},"spec":{"matchingPrecedence":9000,"priorityLevelConfiguration":{"name":"` + level + `"}}}`
		}
		s.post(flowSchemas, schema("NS-level"))
		s.await(one, `"NotFound"`)
		s.get(one)
		s.do("GET", one, "", "Accept", acceptTable)
		s.post(flowLevels, `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"NS-level"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":1,"limitResponse":{"type":"Reject"}}}}`)
		s.await(one, `"Found"`)
		s.get(one)
		s.delete(flowLevels+"/NS-level", "")
		s.await(one, `"NotFound"`)
		s.get(one)
		s.patch(mergePatch, one, `{"spec":{"priorityLevelConfiguration":{"name":"exempt"}}}`)
		s.await(one, `"exempt\" and it exists`)
		s.get(one)
		s.delete(one, "")
		s.get(one)
	}},
}
