package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	readyInterval = 5 * time.Millisecond
	readyTimeout  = 30 * time.Second
	beatTimeout   = 10 * time.Second
)

// keeper says that the daemon is ready once it answers, and keeps the service
// manager convinced as long as it does. It asks as any client would.
type keeper struct {
	socket  string
	version string
	bus     *bus.Bus
	log     *slog.Logger
	ready   func()
	again   func() bool // the daemon ends to begin again, in the same process
	began   time.Time
}

func (k *keeper) run(ctx context.Context) error {
	c, err := client.New(client.Options{Socket: k.socket})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := k.await(ctx, c); err != nil {
		return err
	}
	k.tell(systemd.SdNotifyReady, "running")
	k.log.Info("daemon ready", slog.Duration("dur", time.Since(k.began)))
	if k.ready != nil {
		k.ready()
	}
	defer k.leave()
	return k.beat(ctx, c)
}

// await returns once the daemon answers.
func (k *keeper) await(ctx context.Context, c *client.Client) error {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := retry.Until(limited, retry.Policy{Interval: readyInterval, Max: time.Second}, func(ctx context.Context) (bool, error) {
		_, err := client.Do(ctx, c, api.GetHealth, api.None{})
		if client.IsDown(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the daemon does not answer on %s: %w", k.socket, err)
	}
	return ended(err)
}

// beat tells the service manager that the daemon is alive, when it wants to be
// told: only while the daemon answers, so that one that hangs is restarted.
func (k *keeper) beat(ctx context.Context, c *client.Client) error {
	every, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		k.log.Warn("watchdog of the service manager", slog.Any("err", err))
	}
	if every == 0 || err != nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			limited, cancel := context.WithTimeout(ctx, min(every/2, beatTimeout))
			_, err := client.Do(limited, c, api.GetHealth, api.None{})
			cancel()
			if err != nil {
				k.log.Error("the daemon does not answer", slog.Any("err", err))
				continue
			}
			k.notify(systemd.SdNotifyWatchdog)
		}
	}
}

// leave says that the daemon ends. To the service manager, one that begins again has not:
// it kills what says that it stops, and lives on.
func (k *keeper) leave() {
	if !k.again() {
		k.tell(systemd.SdNotifyStopping, "stopping")
		return
	}
	k.publish("stopping")
}

func (k *keeper) tell(notification, status string) {
	k.notify(notification)
	k.publish(status)
}

func (k *keeper) publish(status string) {
	k.bus.Publish(event.DaemonStatusUpdated{Node: k.bus.Node(), Version: k.version, Status: status})
}

func (k *keeper) notify(notification string) {
	if _, err := systemd.SdNotify(false, notification); err != nil {
		k.log.Warn("notify the service manager", slog.Any("err", err))
	}
}
