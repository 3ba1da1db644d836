package relay

import (
	"bytes"
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Options are what the drivers share.
type Options struct {
	// Password is the one a sec object holds.
	Password func(object string) (secret.String, error)
	// ClusterName is that of this cluster, for the people at the relay.
	ClusterName func() string
}

// quickest is how often a relay is asked at most.
const quickest = time.Second

// New returns what makes the driver of a heartbeat.
func New(o Options) daemon.Maker {
	return func(setup daemon.Setup) (daemon.Driver, error) {
		client, err := NewClient(setup.HeartbeatSettings, o.Password)
		if err != nil {
			return nil, err
		}
		return &driver{o: o, setup: setup, client: client}, nil
	}
}

type driver struct {
	o      Options
	setup  daemon.Setup
	client *Client
}

// Run implements [daemon.Driver].
func (d *driver) Run(ctx context.Context, link daemon.Link) error {
	defer d.client.Close()
	link.Describe("", d.setup.Relay)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { d.send(ctx, link); return nil })
	for peer := range d.setup.Peers {
		g.Go(func() error { d.fetch(ctx, link, peer); return nil })
	}
	return g.Wait()
}

// patience is how long the relay has to answer.
func (d *driver) patience() time.Duration { return max(d.setup.Interval, 2*quickest) }

// send leaves each frame at the relay.
func (d *driver) send(ctx context.Context, link daemon.Link) {
	box := link.Outbox()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-box.C():
		}
		frame := box.Take()
		if frame == nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, d.patience())
		err := d.client.Post(limited, d.setup.Cluster, d.o.ClusterName(), d.setup.Self, frame)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			link.Failed("", err)
		default:
			link.Sent("")
		}
		// What changes meanwhile goes with the next one.
		pause.Reset(quickest / 4)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// fetch asks the relay for what a peer tells.
func (d *driver) fetch(ctx context.Context, link daemon.Link, peer string) {
	ticker := time.NewTicker(max(quickest, min(d.setup.Interval/2, d.setup.Timeout/4)))
	defer ticker.Stop()
	// What is there at first may be of a peer that is gone for long: it is a beat once
	// it changes.
	var last []byte
	looked := false
	for {
		limited, cancel := context.WithTimeout(ctx, d.patience())
		frame, err := d.client.Get(limited, d.setup.Cluster, peer)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errNone): // it left none yet, or the relay restarted
			looked = true
		case err != nil:
			link.Failed(peer, err)
		case !bytes.Equal(frame, last):
			if last = frame; looked {
				link.Received(frame)
			}
			looked = true
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
