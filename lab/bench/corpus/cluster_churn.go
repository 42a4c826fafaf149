package corpus

import "math/rand/v2"

// These are the steps in the life of a Pod, and those of a Job.
const (
	podPending = iota
	podScheduled
	podStarted
	podReady
	podDeleting // it has a deletionTimestamp
	podStopped  // its containers have ended
	podDone     // a Pod of a Job has succeeded

	jobActive = 0
	jobDone   = 1
)

const (
	leasePeriod = 10  // seconds between renewals
	nodePeriod  = 300 // seconds between heartbeats in a Node's status
	podsPerTick = 10  // Pods that rollouts and Jobs make in a second
	jobsOfStart = 4   // one start in so many is of a Job, the others are rollouts
	waveSeconds = 10  // between the waves of a rollout
	waves       = 4   // each of a quarter of the Pods
)

// Churn implements Corpus: second after second what happens in a cluster.
//
//   - Each Lease is renewed every 10 seconds, and each Node's status has new heartbeats every 5
//     minutes (the defaults of the kubelet: https://kubernetes.io/docs/concepts/architecture/nodes).
//   - Rollouts and Jobs make 10 Pods a second (LOAD_TEST_THROUGHPUT in the load test of
//     kubernetes/perf-tests), in apps by chance.
//   - A rollout replaces a quarter of the Pods at a time (maxSurge and maxUnavailable, whose default
//     is 25 %). A new Pod is scheduled, started and ready 1, 4 and 9 seconds after it was made (a
//     choice). Then an old one is deleted, in three events. The statuses of the Deployment and its
//     ReplicaSets and the EndpointSlices follow. The oldest ReplicaSet is deleted. The custom
//     resource of the app changes at the beginning and at the end.
//   - A Job makes its Pods, they succeed, and an old Job is deleted with its Pods.
//   - Each new Pod has four Events and each deleted one has one. For each new Event an old one
//     expires (the TTL of Events).
func (c *Cluster) Churn(events int) Churn {
	s := c.simulate(func(steps []Step) bool { return len(steps) >= events })
	return Churn{Steps: s.steps[:events], Object: s.object}
}

// simulate makes steps until there are enough.
func (c *Cluster) simulate(enough func([]Step) bool) *simulation {
	s := &simulation{Cluster: c, r: c.rand("churn", 0), agenda: map[int32][]func(){}, number: map[ref]int{}, born: map[ref]int32{}, next: len(c.refs)}
	for i, f := range c.refs {
		s.number[f.identity()] = i
		if f.kind == eventKind {
			s.events = append(s.events, f)
		}
	}
	for i := range c.apps {
		s.revisions = append(s.revisions, int32(c.apps[i].revision))
	}
	s.busy = make([]int32, len(c.apps))
	for !enough(s.steps) {
		s.second()
	}
	return s
}

// object returns the object of step k.
func (s *simulation) object(k int) Object { return s.make(s.refs[k], s.states[k]) }

// identity returns the ref without what changes of an object.
func (f ref) identity() ref {
	if f.kind != podKind && f.kind != replicaSetKind {
		f.revision = 0
	}
	return f
}

// simulation makes the steps of a churn.
type simulation struct {
	*Cluster
	r *rand.Rand

	now    int32 // seconds after the first list
	agenda map[int32][]func()

	number map[ref]int // of the existing objects
	born   map[ref]int32
	next   int

	revisions []int32 // of the apps
	busy      []int32 // until when an app rolls out
	tokens    int     // Pods that may be made
	jobsMade  int
	jobsGone  int
	events    []ref // that expire, the oldest first
	eventsOf  int

	steps  []Step
	refs   []ref
	states []state
}

// second makes the steps of the next second, in an order by chance.
func (s *simulation) second() {
	s.now++
	for s.tokens += podsPerTick; s.tokens > 0; {
		if s.r.IntN(jobsOfStart) == 0 {
			s.tokens -= s.startJob()
		} else {
			s.tokens -= s.rollOut(s.r.IntN(len(s.apps)))
		}
	}
	todo := s.agenda[s.now]
	delete(s.agenda, s.now)
	for i := range s.nodes {
		if int32(i)%leasePeriod == s.now%leasePeriod {
			todo = append(todo, func() { s.change(ref{kind: leaseKind, owner: int32(i)}, state{}) })
		}
		if int32(i)%nodePeriod == s.now%nodePeriod {
			todo = append(todo, func() { s.change(ref{kind: nodeKind, owner: int32(i)}, state{}) })
		}
	}
	s.r.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	for _, do := range todo {
		do()
	}
}

// after does something some seconds later. All that happens to one object has to be in different
// seconds.
func (s *simulation) after(seconds int, do func()) {
	at := s.now + int32(seconds)
	s.agenda[at] = append(s.agenda[at], do)
}

// change changes an object, or makes it.
func (s *simulation) change(f ref, to state) { s.step(f, to, false) }

// remove deletes an object in its last state.
func (s *simulation) remove(f ref, last state) { s.step(f, last, true) }

func (s *simulation) step(f ref, to state, deleted bool) {
	id := f.identity()
	number, there := s.number[id]
	if deleted && !there {
		return
	}
	if !there {
		number = s.next
		s.next++
		s.number[id] = number
		s.born[id] = s.now
	}
	to.at, to.born = s.now, s.born[id]
	if deleted {
		delete(s.number, id)
	}
	s.steps = append(s.steps, Step{Object: number, Kind: int(f.kind), Deleted: deleted})
	s.refs, s.states = append(s.refs, f), append(s.states, to)
}

// rollOut replaces the Pods of an app by those of the next revision, and returns their number.
func (s *simulation) rollOut(number int) int {
	a := s.apps[number]
	if s.busy[number] > s.now {
		return 1
	}
	s.busy[number] = s.now + waves*waveSeconds + 20
	old := s.revisions[number]
	revision := old + 1
	s.revisions[number] = revision
	at := func(kind uint8, revision int32) ref { return ref{kind: kind, owner: int32(number), revision: revision} }
	size := int32(a.size)
	s.after(0, func() { s.change(at(deploymentKind, revision), state{step: 0, replicas: size, ready: size}) })
	s.after(1, func() { s.change(at(replicaSetKind, revision), state{}) })
	s.after(2, func() { s.remove(at(replicaSetKind, revision-oldSets-1), state{}) })
	if number%2 == 0 {
		s.after(0, func() { s.change(at(widgetKind, revision), state{step: revision}) })
		s.after(waves*waveSeconds+15, func() { s.change(at(widgetKind, revision), state{step: revision + 1}) })
	}
	wave := max(1, (a.size+waves-1)/waves)
	done := int32(0)
	for w := 0; int(done) < a.size; w++ {
		from := done
		done = min(size, done+int32(wave))
		begin := 2 + w*waveSeconds
		for i := from; i < done; i++ {
			pod := ref{podKind, int32(number), i, revision}
			s.makePod(begin, pod, podReady, 9)
			s.deletePod(begin+9, ref{podKind, int32(number), i, old})
		}
		s.after(begin+1, func() { s.change(at(replicaSetKind, revision), state{replicas: done, ready: from}) })
		s.after(begin+10, func() { s.change(at(replicaSetKind, revision), state{replicas: done, ready: done}) })
		s.after(begin+11, func() { s.change(at(replicaSetKind, old), state{replicas: size - done, ready: size - done}) })
		s.after(begin+10, func() { s.change(at(deploymentKind, revision), state{step: done, replicas: size, ready: size}) })
		for k := int32(0); number%2 == 0 && k*ofSlice < size; k++ {
			if k*ofSlice < done && (k+1)*ofSlice > from {
				s.after(begin+10, func() { s.change(ref{sliceKind, int32(number), k, revision}, state{step: done}) })
			}
		}
	}
	return a.size
}

// startJob makes a Job with its Pods, and deletes the oldest one at its end. It returns the number of
// Pods.
func (s *simulation) startJob() int {
	j := s.jobOf(len(s.jobs) + s.jobsMade)
	s.jobsMade++
	size := int32(j.size)
	job := ref{kind: jobKind, owner: int32(j.number)}
	s.after(0, func() { s.change(job, state{step: jobActive}) })
	s.after(2, func() { s.change(job, state{step: jobActive, replicas: size}) })
	for i := range size {
		s.makePod(1, ref{podKind, job.owner, i, 0}, podDone, 20)
	}
	s.after(22, func() { s.change(job, state{step: jobDone, replicas: size}) })
	oldest := s.jobOf(s.jobsGone)
	s.jobsGone++
	s.after(30, func() {
		for i := range oldest.size {
			s.remove(ref{podKind, int32(oldest.number), int32(i), 0}, state{step: podDone})
		}
		s.remove(ref{kind: jobKind, owner: int32(oldest.number)}, state{step: jobDone, replicas: int32(oldest.size)})
	})
	return j.size
}

// makePod makes a Pod, with its steps to the last, which comes that many seconds later.
func (s *simulation) makePod(begin int, pod ref, last int32, seconds int) {
	s.after(begin, func() { s.change(pod, state{step: podPending}) })
	s.after(begin+1, func() { s.change(pod, state{step: podScheduled}); s.event(pod, 0) })
	s.after(begin+3, func() { s.event(pod, 1); s.event(pod, 2) })
	s.after(begin+4, func() { s.change(pod, state{step: podStarted}); s.event(pod, 3) })
	s.after(begin+seconds, func() { s.change(pod, state{step: last}) })
}

// deletePod deletes a Pod as the kubelet does.
func (s *simulation) deletePod(begin int, pod ref) {
	s.after(begin, func() { s.change(pod, state{step: podDeleting}); s.event(pod, 4) })
	s.after(begin+2, func() { s.change(pod, state{step: podStopped}) })
	s.after(begin+3, func() { s.remove(pod, state{step: podStopped}) })
}

// event makes an Event about a Pod, and has the oldest one expire.
func (s *simulation) event(pod ref, reason int32) {
	e := ref{kind: eventKind, owner: pod.owner, index: int32(1_000_000 + s.eventsOf)}
	s.eventsOf++
	s.change(e, state{step: reason})
	s.events = append(s.events, e)
	s.remove(s.events[0], state{})
	s.events = s.events[1:]
}
