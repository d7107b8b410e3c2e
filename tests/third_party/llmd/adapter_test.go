// An adapter for `sfq-spec validate --policy las` around the program-aware plugin of llm-d, which runs as it is: with its
// own configuration, goroutines and clock. The clock is that of a bubble of testing/synctest, so an hour takes no time.
// What the plugin is called by, queues and requests, is made here. It is built by check.py.
package sfq

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/flowcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/requestcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
	programaware "github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/flowcontrol/fairness/program-aware"
	"github.com/llm-d/llm-d-router/pkg/epp/metadata"
	"github.com/prometheus/client_golang/prometheus"
)

type item struct {
	request  *scheduling.InferenceRequest
	enqueued time.Time
}

func (i *item) InferenceRequest() *scheduling.InferenceRequest  { return i.request }
func (i *item) OriginalRequest() flowcontrol.FlowControlRequest { return i }
func (i *item) EnqueueTime() time.Time                          { return i.enqueued }
func (i *item) is(id string) bool                               { return i.request.RequestID == id }
func newItem(id, program string) *item {
	return &item{&scheduling.InferenceRequest{RequestID: id, FairnessID: program}, time.Now()}
}

type queue struct {
	program string
	items   []*item
}

func (q *queue) Len() int                     { return len(q.items) }
func (q *queue) FlowKey() flowcontrol.FlowKey { return flowcontrol.FlowKey{ID: q.program} }
func (q *queue) Peek() flowcontrol.QueueItemAccessor {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}

func (q *queue) PeekHead() flowcontrol.QueueItemAccessor { return q.Peek() }

// band is what waits at one priority.
type band struct {
	priority int
	queues   map[string]*queue
	// Whether a pick comes by empty queues too, as in the releases.
	comesByAll bool
}

func (b *band) Priority() int { return b.priority }
func (b *band) IterateQueues(callback func(flowcontrol.FlowQueueAccessor) bool) {
	for _, q := range b.queues {
		if (b.comesByAll || len(q.items) > 0) && !callback(q) {
			return
		}
	}
}

type handle struct{ until context.Context }

func (h handle) Context() context.Context       { return h.until }
func (h handle) Metrics() prometheus.Registerer { return nil }

type policy interface {
	plugin.Plugin
	flowcontrol.FairnessPolicy
	requestcontrol.ResponseBodyProcessor
}

type event struct {
	Event, User, Request string
	Time                 json.Number
	Input                int `json:"input_tokens"`
	Output               int `json:"output_tokens"`
	Priority             int
}

type message struct {
	Cmd, Mode  string
	Seq        int
	Parameters json.RawMessage
	Events     []event
}

type answer map[string]any

// history is one run, in a bubble.
type history struct {
	policy policy
	mode   string
	bands  map[int]*band
	sent   map[string]*scheduling.InferenceRequest
}

func (h *history) step(e event) answer {
	switch e.Event {
	case "arrive":
		h.arrive(e)
	case "dispatch":
		return answer{"dispatched": h.dispatch()}
	case "cancel":
		if !h.cancel(e.Request) {
			return answer{"refused": "not-waiting"}
		}
	case "complete":
		if h.sent[e.Request] == nil {
			return answer{"refused": "unknown-request"}
		}
		usage := requestcontrol.Usage{PromptTokens: e.Input, CompletionTokens: e.Output}
		h.policy.ResponseBody(context.Background(), h.sent[e.Request], &requestcontrol.Response{EndOfStream: true, Usage: usage}, nil)
	case "upkeep":
		// Sweeps come by themselves, at the same times.
	}
	return answer{}
}

func (h *history) arrive(e event) {
	program := e.User
	if program == "" {
		program = metadata.DefaultFairnessID
	}
	b := h.bands[e.Priority]
	if b == nil {
		b = &band{e.Priority, map[string]*queue{}, h.mode == "release-0.10"}
		h.bands[e.Priority] = b
	}
	if b.queues[program] == nil {
		b.queues[program] = &queue{program: program}
	}
	b.queues[program].items = append(b.queues[program].items, newItem(e.Request, program))
}

func (h *history) dispatch() any {
	for _, priority := range h.priorities() {
		picked, err := h.policy.Pick(context.Background(), h.bands[priority])
		if err != nil {
			panic(err)
		}
		if picked == nil {
			continue
		}
		q := h.bands[priority].queues[picked.FlowKey().ID]
		request := q.items[0].request
		q.items = q.items[1:]
		h.sent[request.RequestID] = request
		h.before(request)
		return request.RequestID
	}
	return nil
}

// before calls the hook before a request, in either form that it has had.
func (h *history) before(request *scheduling.InferenceRequest) {
	switch hook := h.policy.(type) {
	case interface {
		PreRequest(context.Context, *scheduling.InferenceRequest, *scheduling.SchedulingResult)
	}:
		hook.PreRequest(context.Background(), request, nil)
	case interface {
		PreRequest(context.Context, *scheduling.InferenceRequest, *scheduling.SchedulingResult) error
	}:
		if err := hook.PreRequest(context.Background(), request, nil); err != nil {
			panic(err)
		}
	default:
		panic("the plugin has no PreRequest of a known form")
	}
}

func (h *history) priorities() []int {
	var found []int
	for priority := range h.bands {
		found = append(found, priority)
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

func (h *history) cancel(id string) bool {
	for _, b := range h.bands {
		for _, q := range b.queues {
			waiting := len(q.items)
			q.items = slices.DeleteFunc(q.items, func(i *item) bool { return i.is(id) })
			if len(q.items) < waiting {
				return true
			}
		}
	}
	return false
}

// since makes whole nanoseconds of seconds with at most nine decimals.
func since(seconds json.Number) time.Duration {
	exact, ok := new(big.Rat).SetString(seconds.String())
	if !ok {
		panic("not a time: " + seconds.String())
	}
	exact.Mul(exact, big.NewRat(int64(time.Second), 1))
	return time.Duration(exact.Num().Int64())
}

func run(t *testing.T, m message) []answer {
	answers := []answer{}
	synctest.Test(t, func(*testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		made, err := programaware.ProgramAwarePluginFactory("sfq", json.NewDecoder(bytes.NewReader(m.Parameters)), handle{ctx})
		if err != nil {
			panic(err)
		}
		h := &history{made.(policy), m.Mode, map[int]*band{}, map[string]*scheduling.InferenceRequest{}}
		begun := time.Now()
		synctest.Wait()
		for _, e := range m.Events {
			time.Sleep(since(e.Time) - time.Since(begun))
			synctest.Wait()
			answers = append(answers, h.step(e))
		}
	})
	return answers
}

func TestAdapter(t *testing.T) {
	lines, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		var told any
		switch m.Cmd {
		case "stop":
			os.Exit(0)
		case "start":
			told = map[string]any{
				"protocol": 1, "policy": "las", "modes": []string{os.Getenv("SFQ_MODE")},
				"implementation": map[string]string{"name": "llm-d", "version": os.Getenv("SFQ_VERSION"), "language": "go"},
				"capabilities":   map[string]any{"cancel": true, "priorities": true, "ties": "any"},
			}
		default:
			told = map[string]any{"seq": m.Seq, "answers": run(t, m)}
		}
		encoded, err := json.Marshal(told)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(out, "%s\n", encoded)
		out.Flush()
	}
}
