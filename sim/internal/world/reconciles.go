package world

import (
	"fmt"
	"slices"
	"sync"
)

// reconciles takes the reconciles of a controller. One request is reconciled once at a time.
func (i *incarnation) reconciles(controller string) (begin func(request any) (end func())) {
	var mu sync.Mutex
	running := map[any]bool{}
	return func(request any) func() {
		mu.Lock()
		defer mu.Unlock()
		if running[request] {
			i.process.w.note(fmt.Sprintf("%s reconciles %v of controller %s twice at the same time", i.process, request, controller))
		}
		running[request] = true
		return func() {
			mu.Lock()
			defer mu.Unlock()
			delete(running, request)
		}
	}
}

// note keeps an alarm of a goroutine of a program until the world is at rest.
func (w *world) note(alarm string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted = append(w.noted, alarm)
}

// alarmNoted raises the alarms that were noted, in the order of their texts.
func (w *world) alarmNoted() {
	w.mu.Lock()
	noted := w.noted
	w.noted = nil
	w.mu.Unlock()
	slices.Sort(noted)
	for _, text := range slices.Compact(noted) {
		w.alarm("%s", text)
	}
}
