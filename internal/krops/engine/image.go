package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/client"
)

// pullEvery is how often a pull says how far it is.
const pullEvery = 5 * time.Second

// HasImage tells whether the engine has an image.
func (e *Engine) HasImage(ctx context.Context, ref string) (bool, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	_, err := e.api.ImageInspect(ctx, ref)
	switch {
	case err == nil:
		return true, nil
	case absent(err):
		return false, nil
	}
	return false, fmt.Errorf("look for image %s: %w", ref, err)
}

// Pull fetches an image unless the engine has it.
func (e *Engine) Pull(ctx context.Context, ref string, say func(string)) error {
	there, err := e.HasImage(ctx, ref)
	if err != nil || there {
		return err
	}
	say("Pulling image " + ref + "...")
	answer, err := e.api.ImagePull(ctx, ref, client.ImagePullOptions{})
	if err != nil {
		return fmt.Errorf("pull image %s: %w", ref, err)
	}
	defer answer.Close() //nolint:errcheck // it was only read
	layers := map[string][2]int64{}
	said := time.Now()
	for message, err := range answer.JSONMessages(ctx) {
		if err != nil {
			return fmt.Errorf("pull image %s: %w", ref, err)
		}
		if message.Error != nil {
			return fmt.Errorf("pull image %s: %s", ref, message.Error.Message)
		}
		if message.Progress != nil && message.ID != "" {
			layers[message.ID] = [2]int64{message.Progress.Current, message.Progress.Total}
		}
		if time.Since(said) > pullEvery && len(layers) > 0 {
			said = time.Now()
			say(progress(ref, layers))
		}
	}
	// A stream that ends early is no image.
	if there, err = e.HasImage(ctx, ref); err != nil || there {
		return err
	}
	return fmt.Errorf("pull image %s: the engine ended the transfer and does not have it", ref)
}

func progress(ref string, layers map[string][2]int64) string {
	var current, total int64
	for _, layer := range layers {
		current, total = current+layer[0], total+layer[1]
	}
	const mega = 1 << 20
	return fmt.Sprintf("%s: %d of %d MiB in %d layers", ref, current/mega, total/mega, len(layers))
}
