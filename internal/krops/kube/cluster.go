package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// queryTimeout is how long one question to an API server may take.
	queryTimeout = 30 * time.Second
	// answerTimeout is how long a server may take to tell that it is there.
	answerTimeout = 10 * time.Second
	// again is how often a question is asked anew when the server asks for it, or
	// drops the connection.
	again = 1
	// manager owns the fields that are applied.
	manager = "krops-bootstrap"
)

// A Cluster is one API server. It may be used by many goroutines.
type Cluster struct {
	kubeconfig []byte
	context    string
	config     *rest.Config
	rest       rest.Interface

	mu    sync.Mutex
	kinds map[schema.GroupKind]resource
}

// Open binds the API server that a context of a kubeconfig names; "" is its
// current context. Nothing is sent yet.
func Open(kubeconfig []byte, context string) (*Cluster, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// What the parser says may quote a key.
		return nil, errors.New("the kubeconfig is no valid YAML of the kind Config")
	}
	return open(bytes.Clone(kubeconfig), config, context)
}

// OpenFile is [Open] for a file. Files it names are looked for beside it.
func OpenFile(path, context string) (*Cluster, error) {
	rules := clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	config, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, unquoted(err))
	}
	resolved, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	c, err := open(resolved, config, context)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	return c, nil
}

func open(kubeconfig []byte, loaded *clientcmdapi.Config, context string) (*Cluster, error) {
	if context == "" {
		context = loaded.CurrentContext
	}
	if context == "" {
		return nil, errors.New("the kubeconfig has no current context, and none was asked for")
	}
	if loaded.Contexts[context] == nil {
		return nil, fmt.Errorf("the kubeconfig has no context %q", context)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*loaded, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", context, err)
	}
	config.UserAgent = manager
	config.QPS, config.Burst = 100, 200
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c := &Cluster{kubeconfig: kubeconfig, context: context, config: config, kinds: map[schema.GroupKind]resource{}}
	if c.rest, err = client(config); err != nil {
		return nil, fmt.Errorf("context %q: %w", context, err)
	}
	return c, nil
}

// client returns what sends requests. Answers are not decoded by it: it reads any
// JSON object that is no list as an empty list.
func client(of *rest.Config) (rest.Interface, error) {
	config := rest.CopyConfig(of)
	config.RateLimiter = turns{flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.ContentConfig = rest.ContentConfig{
		NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		GroupVersion:         &schema.GroupVersion{}, ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON,
	}
	return rest.UnversionedRESTClientFor(config)
}

// turns gives requests their turns. One whose turn does not come in its time has
// timed out: the library says so with a text alone.
type turns struct{ flowcontrol.RateLimiter }

// Wait implements [flowcontrol.RateLimiter].
func (t turns) Wait(ctx context.Context) error {
	err := t.RateLimiter.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// Config returns what other libraries need to reach the server. It is a copy.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the kubeconfig the cluster was opened with. It holds secrets.
func (c *Cluster) Kubeconfig() []byte { return bytes.Clone(c.kubeconfig) }

// Context returns the name of the context the cluster is bound to.
func (c *Cluster) Context() string { return c.context }

// Server returns the address of the API server.
func (c *Cluster) Server() string { return c.config.Host }

// Answers tells whether the server is there and ready, within ten seconds.
func (c *Cluster) Answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := c.rest.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Raw()
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		// A server may show its readiness to few. Its version is for all.
		_, err = c.rest.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Raw()
	}
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return fmt.Errorf("API server %s refuses %s: %w", c.config.Host, credentials(c.config), err)
	}
	if err != nil {
		return fmt.Errorf("API server %s does not answer: %w", c.config.Host, err)
	}
	return nil
}

// credentials names what a kubeconfig says who one is with, and no secret.
func credentials(c *rest.Config) string {
	switch {
	case c.BearerToken != "" || c.BearerTokenFile != "":
		return "the token of the kubeconfig"
	case c.ExecProvider != nil:
		return "the credentials that '" + c.ExecProvider.Command + "' gave for the kubeconfig"
	case len(c.CertData) > 0 || c.CertFile != "":
		return "the client certificate of the kubeconfig"
	case c.Username != "":
		return "user " + c.Username + " of the kubeconfig"
	}
	return "a request without credentials: the kubeconfig has none"
}

// ask sends a question and returns the answer as it is.
func (c *Cluster) ask(ctx context.Context, request *rest.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	result := request.Timeout(queryTimeout).MaxRetries(again).Do(ctx)
	if err := result.Error(); err != nil { // this one reads the status in the answer, Raw does not
		return nil, err
	}
	return result.Raw()
}

// pageMissing tells that a server does not know a path, which says nothing of an
// object: it may not serve the kind any more, or not be an API server at all.
func pageMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusNotFound {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || unexpected(details)
}

func unexpected(details *metav1.StatusDetails) bool {
	for _, cause := range details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// unquoted is an error of reading a file, without what the file holds.
func unquoted(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return errors.New("it is no valid YAML of the kind Config")
}
