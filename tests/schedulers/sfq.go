// Start-time Fair Queueing as plainly as it can be said in Go, in place of the Scheduler of the skeleton.
package main

import (
	"encoding/json"
	"math/big"
)

type request struct {
	user, id string
	cost     *big.Rat
}

// Scheduler: a meter and a queue for each user, and the virtual time.
type Scheduler struct {
	v       *big.Rat
	meters  map[string]*big.Rat
	weights map[string]*big.Rat
	queues  map[string][]*request
	waiting map[string]*request
	flying  map[string]bool
}

func NewScheduler() *Scheduler {
	return &Scheduler{
		new(big.Rat), map[string]*big.Rat{}, map[string]*big.Rat{}, map[string][]*request{}, map[string]*request{}, map[string]bool{},
	}
}

func isPositive(number *big.Rat) bool { return number != nil && number.Sign() > 0 }

func later(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// meet gives a user whom nobody knows the meter 0 and the weight 1.
func (s *Scheduler) meet(user string) {
	if s.meters[user] == nil {
		s.meters[user], s.weights[user] = new(big.Rat), big.NewRat(1, 1)
	}
}

func (s *Scheduler) Arrive(user, id string, cost *big.Rat) string {
	if !isPositive(cost) {
		return InvalidCost
	}
	if s.waiting[id] != nil || s.flying[id] {
		return DuplicateRequest
	}
	s.meet(user)
	if len(s.queues[user]) == 0 {
		s.meters[user] = later(s.meters[user], s.v)
	}
	s.waiting[id] = &request{user, id, cost}
	s.queues[user] = append(s.queues[user], s.waiting[id])
	return ""
}

func (s *Scheduler) Dispatch() *string {
	first := ""
	for user, queue := range s.queues {
		if len(queue) == 0 {
			continue
		}
		if order := s.order(user, first); order < 0 {
			first = user
		}
	}
	if len(s.queues[first]) == 0 {
		return nil
	}
	sent := s.queues[first][0]
	s.v = s.meters[first]
	charge := new(big.Rat).Quo(sent.cost, s.weights[first])
	s.meters[first] = new(big.Rat).Add(s.v, charge)
	s.leave(sent)
	s.flying[sent.id] = true
	return &sent.id
}

// order is below 0 where a user comes before another one that may not be waiting.
func (s *Scheduler) order(user, other string) int {
	if len(s.queues[other]) == 0 {
		return -1
	}
	if order := s.meters[user].Cmp(s.meters[other]); order != 0 {
		return order
	}
	if user < other {
		return -1
	}
	return 1
}

// leave takes a request out of its queue; when nobody waits, v is no less than any meter.
func (s *Scheduler) leave(gone *request) {
	delete(s.waiting, gone.id)
	var rest []*request
	for _, each := range s.queues[gone.user] {
		if each != gone {
			rest = append(rest, each)
		}
	}
	s.queues[gone.user] = rest
	if len(s.waiting) == 0 {
		for _, meter := range s.meters {
			s.v = later(s.v, meter)
		}
	}
}

func (s *Scheduler) Cancel(id string) string {
	if refused := s.mustWait(id); refused != "" {
		return refused
	}
	s.leave(s.waiting[id])
	return ""
}

func (s *Scheduler) mustWait(id string) string {
	if s.flying[id] {
		return NotWaiting
	}
	if s.waiting[id] == nil {
		return UnknownRequest
	}
	return ""
}

func (s *Scheduler) Complete(id, outcome string) { delete(s.flying, id) }

func (s *Scheduler) Weight(user string, weight *big.Rat) string {
	if !isPositive(weight) {
		return InvalidWeight
	}
	s.meet(user)
	s.weights[user] = weight
	return ""
}

func (s *Scheduler) Cost(id string, cost *big.Rat) string {
	if !isPositive(cost) {
		return InvalidCost
	}
	if refused := s.mustWait(id); refused != "" {
		return refused
	}
	s.waiting[id].cost = cost
	return ""
}

func (s *Scheduler) Upkeep() {}

func (s *Scheduler) Lag() map[string]any {
	lag := map[string]any{}
	for user, meter := range s.meters {
		ahead := new(big.Rat).Sub(meter, s.v)
		if ahead.IsInt() {
			lag[user] = json.Number(ahead.Num().String())
		} else {
			lag[user] = ahead.RatString()
		}
	}
	return lag
}
