// Package heartbeat tells the peers what this node is and does, hears the same of
// them, and says which of them are alive. Drivers, in packages of their own, move
// the frames.
package heartbeat
