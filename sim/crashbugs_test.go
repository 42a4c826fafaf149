package sim_test

import (
	"errors"

	"github.com/flyball-io/flyball/sim"
)

// bugsOfCrashes show when the program ends right after a write.
var bugsOfCrashes = []bug{
	{name: "casskop-370", // the phase of a change is in memory: a new process finds no Pod, and fails for ever
		steps: []sim.Step{app("a", `"nodes":"2"`, ""), set("a", `"nodes":"1"`)},
		reconcile: func(fixed bool) act {
			leaving := map[string]bool{}
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				want := k.want("nodes")
				nodes, err := k.get("a-nodes")
				if err != nil {
					return err
				}
				if nodes == nil {
					if err := k.create("a-nodes", "n", want); err != nil {
						return err
					}
					if !fixed {
						return k.note("nodes", want)
					}
					if nodes, err = k.get("a-nodes"); err != nil || nodes == nil {
						return errors.Join(err, errors.New("made a moment ago"))
					}
				}
				was := k.cm.Annotations["nodes"]
				if was == want && !fixed {
					return nil
				}
				if string(nodes.Data["n"]) != want {
					if err := k.put(nodes, "n", want); err != nil {
						return err
					}
					leaving[k.key.Name] = true
				}
				if !fixed && !leaving[k.key.Name] {
					return errors.New("the Pod of the node is not found")
				}
				if err := k.ensure("a-volume-" + want); err != nil {
					return err
				}
				all, err := k.all()
				if err != nil {
					return err
				}
				for _, s := range all {
					if s.Name != "a-nodes" && s.Name != "a-volume-"+want {
						if err := k.remove(s); err != nil {
							return err
						}
					}
				}
				return k.note("nodes", want)
			}
		}},
	{name: "rabbitmq-782", // a volume grows: the set is deleted, the volume changed, the set made anew; the check looks at the set
		steps: []sim.Step{app("a", `"size":"10"`, ""), set("a", `"size":"15"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				want := k.want("size")
				all, err := k.get("a-set")
				if err != nil {
					return err
				}
				volume, err := k.get("a-volume")
				if err != nil {
					return err
				}
				if volume == nil {
					if err := k.create("a-volume", "size", want); err != nil {
						return err
					}
				} else if grows := string(volume.Data["size"]) != want; grows && (fixed || all != nil && string(all.Data["size"]) != want) {
					if all != nil {
						if err := k.remove(all); err != nil {
							return err
						}
						all = nil
					}
					if err := k.put(volume, "size", want); err != nil {
						return err
					}
				}
				if all == nil {
					return k.create("a-set", "size", want)
				}
				return nil
			}
		}},
	{name: "nifikop-49", // the config is updated, then the Pod made anew: a new process sees no difference
		steps: []sim.Step{app("a", `"config":"one"`, ""), set("a", `"config":"two"`), set("a", `"config":"three"`)},
		reconcile: func(fixed bool) act {
			return func(k kit) error {
				if k.deleted() {
					return nil
				}
				want := k.want("config")
				config, err := k.get("a-config")
				if err != nil {
					return err
				}
				pod, err := k.get("a-pod")
				if err != nil {
					return err
				}
				runs := "something"
				if fixed {
					runs = want
				}
				anew := pod == nil || fixed && string(pod.Data["runs"]) != want
				if config == nil {
					if err := k.create("a-config", "config", want); err != nil {
						return err
					}
				} else if string(config.Data["config"]) != want {
					if err := k.put(config, "config", want); err != nil {
						return err
					}
					anew = true
				}
				if !anew {
					return nil
				}
				if pod != nil {
					if err := k.remove(pod); err != nil {
						return err
					}
				}
				return k.create("a-pod", "runs", runs)
			}
		}},
	{name: "percona-mongodb-578", steps: inTurn, reconcile: secrets("tls", "tls-internal")},
	{name: "percona-xtradb-897", steps: inTurn, reconcile: secrets("ca-cert", "cert", "cert-internal")},
	{name: "cass-operator-1023", steps: inTurn, reconcile: secrets("ca-keystore", "node-keystore", "superuser")},
}

var inTurn = []sim.Step{app("a", `"x":"y"`, ""), set("a", `"x":"z"`)}

// secrets returns a reconcile that makes Secrets one after the other. The bug: if there is the first, it takes all for
// made.
func secrets(names ...string) func(bool) act {
	return func(fixed bool) act {
		return func(k kit) error {
			if k.deleted() {
				return nil
			}
			for i, name := range names {
				s, err := k.get("a-" + name)
				if err != nil {
					return err
				}
				if s == nil {
					if err := k.create("a-" + name); err != nil {
						return err
					}
				} else if i == 0 && !fixed {
					return nil
				}
			}
			return nil
		}
	}
}
