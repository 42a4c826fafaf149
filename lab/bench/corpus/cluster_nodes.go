package corpus

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeIP(n int) string { return fmt.Sprintf("10.%d.%d.%d", n/62_500, n/250%250, 2+n%250) }

func nodeName(n int) string {
	return "ip-" + strings.ReplaceAll(nodeIP(n), ".", "-") + ".eu-central-1.compute.internal"
}

// digest returns the name of an image with its digest.
func digest(image string) string {
	var sum []byte
	for i := range 4 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s", i, image)
		sum = h.Sum(sum)
	}
	name, _, _ := strings.Cut(image, ":")
	return fmt.Sprintf("%s@sha256:%x", name, sum)
}

// imagesOfNode is the number of images in a Node's status (nodeStatusMaxImages of the kubelet is 50).
const imagesOfNode = 50

// node has one of four types and three zones.
func (g *member) node() Object {
	number := int(g.owner)
	name, kind, zone := nodeName(number), g.r.IntN(4), "eu-central-1"+string("abc"[number%3])
	machine := "i-0" + hex(g.r, 16)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: g.uid(g.ref), CreationTimestamp: g.created(),
		Labels: map[string]string{
			"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
			"node.kubernetes.io/instance-type": []string{"m6i.2xlarge", "m6i.4xlarge", "c6i.4xlarge", "r6i.4xlarge"}[kind], "beta.kubernetes.io/instance-type": []string{"m6i.2xlarge", "m6i.4xlarge", "c6i.4xlarge", "r6i.4xlarge"}[kind],
			"topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": zone, "failure-domain.beta.kubernetes.io/region": "eu-central-1", "failure-domain.beta.kubernetes.io/zone": zone,
			"example.org/pool": []string{"general", "general-large", "compute", "memory"}[kind],
		},
		Annotations: map[string]string{
			"node.alpha.kubernetes.io/ttl": "15", "volumes.kubernetes.io/controller-managed-attach-detach": "true", "alpha.kubernetes.io/provided-node-ip": nodeIP(number),
			"csi.volume.kubernetes.io/nodeid": `{"ebs.csi.aws.com":"` + machine + `"}`,
		},
	}}
	n.Spec = corev1.NodeSpec{PodCIDR: fmt.Sprintf("10.%d.%d.0/24", 128+number/250%120, number%250), ProviderID: "aws:///" + zone + "/" + machine}
	n.Spec.PodCIDRs = []string{n.Spec.PodCIDR}
	memory := []int{32, 64, 32, 128}[kind] << 20
	list := func(free int) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(fmt.Sprintf("%dm", []int{8, 16, 16, 16}[kind]*1000-free/10)), corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dKi", memory-free*1000-g.seedOf(number)%4096)),
			corev1.ResourceEphemeralStorage: resource.MustParse(fmt.Sprintf("%dKi", 104_845_292-free)), corev1.ResourcePods: resource.MustParse("110"), "hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
		}
	}
	n.Status.Capacity, n.Status.Allocatable = list(0), list(900)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeIP(number)}, {Type: corev1.NodeInternalDNS, Address: name}, {Type: corev1.NodeHostName, Address: name}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = 10250
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: "ec2" + hex(g.r, 29), SystemUUID: uid(g.r), BootID: uid(g.r), KernelVersion: "6.12.46-66.121.amzn2023.x86_64", OSImage: "Amazon Linux 2023.9.20250929",
		ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
	}
	beat := g.time(-g.r.IntN(nodePeriod))
	if g.at > 0 {
		beat = g.time(0)
	}
	for _, c := range []struct {
		kind            corev1.NodeConditionType
		status          corev1.ConditionStatus
		reason, message string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"},
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: c.kind, Status: c.status, Reason: c.reason, Message: c.message, LastHeartbeatTime: beat, LastTransitionTime: metav1.NewTime(n.CreationTimestamp.Add(20 * time.Second))})
	}
	n.Status.Images = g.images()
	return n
}

// images returns the images of a node: those of apps by chance, larger apps more often, the largest
// first.
func (g *member) images() []corev1.ContainerImage {
	all := map[string]corev1.ContainerImage{}
	for range imagesOfNode {
		f := g.refs[g.r.IntN(len(g.refs))]
		for f.kind != podKind || f.revision == 0 {
			f = g.refs[g.r.IntN(len(g.refs))]
		}
		image := g.image(g.apps[f.owner], f.revision)
		all[image] = corev1.ContainerImage{Names: []string{digest(image), image}, SizeBytes: int64(10_000_000 + g.seedOf(int(f.owner))%400_000_000)}
	}
	list := slices.Collect(maps.Values(all))
	slices.SortFunc(list, func(a, b corev1.ContainerImage) int {
		if a.SizeBytes != b.SizeBytes {
			return int(b.SizeBytes - a.SizeBytes)
		}
		return strings.Compare(a.Names[0], b.Names[0])
	})
	return list
}

// seedOf returns a number by chance, the same each time.
func (c *Cluster) seedOf(n int) int { return int(c.rand("number", uint64(n)).Uint32()) }

// lease is that of a Node.
func (g *member) lease() Object {
	name := nodeName(int(g.owner))
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: corev1.NamespaceNodeLease, UID: g.uid(g.ref), CreationTimestamp: g.created(),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: g.uid(ref{kind: nodeKind, owner: g.owner})}},
	}}
	offset := time.Duration(g.r.IntN(1e6)) * time.Microsecond
	if g.at == 0 {
		offset -= time.Duration(g.r.IntN(leasePeriod)) * time.Second
	} else {
		offset = time.Duration(g.rand("renewed", uint64(g.owner)<<32|uint64(g.at)).IntN(1e6)) * time.Microsecond
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: ptr(int32(40)), RenewTime: &metav1.MicroTime{Time: g.time(0).Add(offset)}}
	return l
}
