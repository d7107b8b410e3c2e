// The program-aware policy as llm-d's development version has it, as plainly as it can be said in Go: for trying what is
// made for the original, where there is no original.
package programaware

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/flowcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/requestcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
)

type parameters struct {
	WeightService float64 `json:"lasWeightService"`
	WeightWait    float64 `json:"lasWeightHeadWait"`
	HalfLife      float64 `json:"lasHalfLifeSeconds"`
	TTL           float64 `json:"evictionTtlSeconds"`
	Sweep         float64 `json:"evictionSweepSeconds"`
}

type program struct {
	service  float64
	anchor   time.Time
	ended    time.Time
	inFlight int
}

type policy struct {
	parameters
	programs map[string]*program
}

func ProgramAwarePluginFactory(name string, decoder *json.Decoder, handle plugin.Handle) (plugin.Plugin, error) {
	p := &policy{parameters{0.8, 0.2, 60, 3600, 300}, map[string]*program{}}
	if err := decoder.Decode(&p.parameters); err != nil {
		return nil, err
	}
	go p.forget(handle.Context())
	return p, nil
}

func (p *policy) TypedName() plugin.TypedName {
	return plugin.TypedName{Type: "program-aware-fairness"}
}

func (p *policy) NewState(context.Context) any { return nil }

func (p *policy) met(id string) *program {
	if p.programs[id] == nil {
		p.programs[id] = &program{anchor: time.Now(), ended: time.Now()}
	}
	return p.programs[id]
}

func (p *policy) Pick(_ context.Context, band flowcontrol.PriorityBandAccessor) (flowcontrol.FlowQueueAccessor, error) {
	services, waits := map[flowcontrol.FlowQueueAccessor]float64{}, map[flowcontrol.FlowQueueAccessor]float64{}
	band.IterateQueues(func(queue flowcontrol.FlowQueueAccessor) bool {
		services[queue] = p.decayed(p.met(queue.FlowKey().ID)).service
		waits[queue] = float64(time.Since(queue.Peek().EnqueueTime()).Milliseconds())
		return true
	})
	var best flowcontrol.FlowQueueAccessor
	highest := math.Inf(-1)
	for queue := range services {
		score := p.WeightService*(1-place(services, queue)) + p.WeightWait*place(waits, queue)
		if score > highest {
			best, highest = queue, score
		}
	}
	return best, nil
}

// place goes from 0 to 1 in the range of all values, and is a half where there is no range.
func place[K comparable](values map[K]float64, of K) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, value := range values {
		least, most = min(least, value), max(most, value)
	}
	if most == least {
		return 0.5
	}
	return (values[of] - least) / (most - least)
}

func (p *policy) decayed(of *program) *program {
	if p.HalfLife > 0 {
		of.service *= math.Exp2(-time.Since(of.anchor).Seconds() / p.HalfLife)
	}
	of.anchor = time.Now()
	return of
}

func (p *policy) PreRequest(_ context.Context, request *scheduling.InferenceRequest, _ *scheduling.SchedulingResult) error {
	p.met(request.FairnessID).inFlight++
	return nil
}

func (p *policy) ResponseBody(
	_ context.Context, request *scheduling.InferenceRequest, response *requestcontrol.Response, _ *datalayer.EndpointMetadata,
) {
	of := p.decayed(p.met(request.FairnessID))
	of.service += float64(response.Usage.PromptTokens + 2*response.Usage.CompletionTokens)
	of.ended = time.Now()
	of.inFlight--
}

func (p *policy) forget(until context.Context) {
	sweeps := time.NewTicker(time.Duration(p.Sweep * float64(time.Second)))
	defer sweeps.Stop()
	for {
		select {
		case <-until.Done():
			return
		case <-sweeps.C:
			for id, of := range p.programs {
				if p.TTL > 0 && of.inFlight == 0 && time.Since(of.ended).Seconds() > p.TTL {
					delete(p.programs, id)
				}
			}
		}
	}
}
