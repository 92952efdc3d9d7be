package durward

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// WatchesMax is how many watched subscriptions a program may have: each keeps a thread while it waits, and Go ends programs of 10,000 threads.
const WatchesMax = 1_000

// watching counts those there are.
var watching atomic.Int64

// watches are those of one decision point.
type watches struct {
	mutex    sync.Mutex
	isClosed bool
	open     map[*watch]struct{}
}

// add is false where the decision point is closed.
func (w *watches) add(one *watch) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.isClosed {
		return false
	}
	if w.open == nil {
		w.open = map[*watch]struct{}{}
	}
	w.open[one] = struct{}{}
	return true
}

func (w *watches) remove(one *watch) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.open, one)
}

// close ends all of them, and there will be no others.
func (w *watches) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.isClosed = true
	for one := range w.open {
		one.end()
	}
}

// watch is a subscription that is decided again and again.
type watch struct {
	functions *functions
	handle    handle
}

// end tells whoever waits, and frees nothing.
func (w *watch) end() {
	if raw, ok := w.handle.hold(); ok {
		defer w.handle.release()
		purego.SyscallN(w.functions.watchClose, raw, 0)
	}
}

// next waits for the next decision.
func (w *watch) next() (Decision, error) {
	raw, ok := w.handle.hold()
	if !ok {
		return Decision{}, errClosed()
	}
	defer w.handle.release()
	// Not one of the pool: a wait may be long.
	s, f, noLimit := new(scratch), w.functions, -1
	for {
		code, _, _ := purego.SyscallN(f.watchNext, raw, uintptr(noLimit), uintptr(unsafe.Pointer(&s.outcome)),
			uintptr(unsafe.Pointer(&s.result)), uintptr(unsafe.Pointer(&s.failure)))
		switch int32(code) {
		case codeOK:
			return s.decision(f)
		case codeNothing:
		case int32(CodeClosed):
			return Decision{}, errClosed()
		default:
			return Decision{}, s.check(f, code)
		}
	}
}

// Watch decides a subscription again whenever another decision comes of it: because time goes by, or because other policies are put in force. The
// first decision comes at once. Who is slow sees only the latest.
//
//	for decision, err := range pdp.Watch(ctx, subscription) {
//		if err != nil {
//			return err // what was decided before holds no longer
//		}
//		apply(decision)
//	}
//
// It ends with an error: that of the context, or one with [CodeClosed] when the decision point is closed; or when the loop is left. There may be
// [WatchesMax] in a program.
func (p *DecisionPoint) Watch(ctx context.Context, subscription any) iter.Seq2[Decision, error] {
	return func(yield func(Decision, error) bool) {
		if ctx == nil {
			yield(Decision{}, &Error{CodeMisuse, "the context is nil"})
			return
		}
		one, err := p.openWatch(ctx, subscription)
		if err != nil {
			yield(Decision{}, err)
			return
		}
		defer p.closeWatch(one)
		defer context.AfterFunc(ctx, one.end)()
		for {
			decision, err := one.next()
			if ctx.Err() != nil {
				decision, err = Decision{}, context.Cause(ctx)
			}
			if !yield(decision, err) || err != nil {
				return
			}
		}
	}
}

func (p *DecisionPoint) openWatch(ctx context.Context, subscription any) (*watch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text, err := textOf(subscription)
	if err != nil {
		return nil, err
	}
	s := new(scratch)
	f, err := p.ask(s, text, func(f *functions) uintptr { return f.watchOpen })
	if err != nil {
		return nil, err
	}
	one := &watch{functions: f, handle: handle{raw: s.result, free: f.freeWatch}}
	if watching.Add(1) > WatchesMax {
		watching.Add(-1)
		one.handle.close()
		return nil, &Error{CodeSystem, "too many watched subscriptions: 1,000 may be watched"}
	}
	if !p.state.watches.add(one) {
		watching.Add(-1)
		one.handle.close()
		return nil, errClosed()
	}
	return one, nil
}

func (p *DecisionPoint) closeWatch(one *watch) {
	p.state.watches.remove(one)
	one.handle.close()
	watching.Add(-1)
}
