package delivery_test

import (
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
)

// until waits for a condition, of the fake clock.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// A lane that stops to ask, and asks again before it was handed over, stays: what is
// held is not given to another host, which would know nothing of it.
func TestLaneAsksAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := one.want("1")
		two := join(t, ns, "two")
		one.Ask(false)
		until(t, "the lane does not ask", func() bool { return !one.Asks() })
		one.Ask(true)
		until(t, "it asks", one.Asks)
		bustest.Publish(t, js, web, "2")
		held = append(held, one.want("2")...)
		two.quiet(time.Minute)
		each(held, (*delivery.Delivery).Done)
	})
}

// A lane that was handed over goes to the host that asks, with what is held here, and
// comes back when that host ends.
func TestLaneIsHandedOver(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1", "2")
		held := one.want("1", "2")
		two := join(t, ns, "two")
		one.Ask(false)
		until(t, "the lane does not ask", func() bool { return !one.Asks() })
		if err := one.HandOver(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := two.want("1?~", "2?~")
		if one.Serving() || !two.Serving() || !one.Since().IsZero() || two.Since().IsZero() {
			t.Errorf("one serves: %t, two: %t since %s; want two to serve", one.Serving(), two.Serving(), two.Since())
		}
		if one.Lost().IsZero() || !two.Lost().IsZero() {
			t.Errorf("one has lost the lane at %s, two at %s; want one alone to have", one.Lost(), two.Lost())
		}
		// The message that is just handed out counts as waiting until the agent's side returns.
		until(t, "a lag of 2", func() bool { return two.Lag() == 2 })
		each(held, (*delivery.Delivery).Done)
		each(got, (*delivery.Delivery).Done)
		one.Ask(true)
		until(t, "the lane asks", one.Asks)
		two.stop()
		bustest.Publish(t, js, web, "3")
		each(one.want("3"), (*delivery.Delivery).Done)
	})
}
