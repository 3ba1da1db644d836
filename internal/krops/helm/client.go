package helm

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// farewell is how long requests are still sent once an installation was told to
// end: the release has to be marked as failed.
const farewell = 10 * time.Second

// session returns what the library works with, bound to a cluster and a
// namespace. Once ctx has ended, and a moment for a last word, no request is sent
// any more; end ends it at once.
func session(ctx context.Context, c *kube.Cluster, namespace string) (cfg *action.Configuration, end func(), err error) {
	requests, stop := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(farewell)
		defer timer.Stop()
		select {
		case <-timer.C:
			stop()
		case <-requests.Done():
		}
	})
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{requests, next} })
	cfg = action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := cfg.Init(&getter{config: config, namespace: namespace}, namespace, "secrets"); err != nil {
		stop()
		return nil, nil, err
	}
	return cfg, func() { unwatch(); stop() }, nil
}

// bound sends requests as long as a context lasts: the library has none for most
// of what it asks.
type bound struct {
	ctx  context.Context //nolint:containedctx // see above
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (b *bound) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context()) //nolint:contextcheck // that of the request, bound to the other below
	unwatch := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	release := sync.OnceFunc(func() { unwatch(); cancel(nil) })
	response, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &releasing{response.Body, release}
	return response, nil
}

// releasing is the body of an answer, with what to do once it was read.
type releasing struct {
	io.ReadCloser
	release func()
}

// Close implements [io.Closer].
func (r *releasing) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}

// getter tells the library how to reach the cluster.
type getter struct {
	config    *rest.Config
	namespace string
}

// ToRESTConfig returns the configuration of clients.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns what asks for the kinds of the server.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(g.config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

// ToRESTMapper returns what finds the resource of a kind.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil), nil
}

// ToRawKubeConfigLoader returns what the library asks for the namespace.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig { return &scope{g} }

// scope is a kubeconfig that holds no more than a namespace.
type scope struct{ *getter }

// RawConfig implements [clientcmd.ClientConfig].
func (s *scope) RawConfig() (clientcmdapi.Config, error) {
	return clientcmdapi.Config{}, errors.New("there is no kubeconfig")
}

// ClientConfig implements [clientcmd.ClientConfig].
func (s *scope) ClientConfig() (*rest.Config, error) { return s.ToRESTConfig() }

// Namespace implements [clientcmd.ClientConfig].
func (s *scope) Namespace() (string, bool, error) { return s.namespace, true, nil }

// ConfigAccess implements [clientcmd.ClientConfig].
func (s *scope) ConfigAccess() clientcmd.ConfigAccess { return nil }
