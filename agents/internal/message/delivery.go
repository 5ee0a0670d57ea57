package message

import (
	"agenthost/bus/delivery"
)

// LeaveAll gives up deliveries: they stay unacknowledged.
func LeaveAll(deliveries []*delivery.Delivery) {
	for _, d := range deliveries {
		d.Leave()
	}
}

// Delivered counts the items whose message is held.
func Delivered(items []*Item) int {
	n := 0
	for _, it := range items {
		if it.Delivery != nil {
			n++
		}
	}
	return n
}

// DeliveriesOf are the messages that are held of items.
func DeliveriesOf(items []*Item) []*delivery.Delivery {
	list := make([]*delivery.Delivery, 0, len(items))
	for _, it := range items {
		if it.Delivery != nil {
			list = append(list, it.Delivery)
		}
	}
	return list
}
