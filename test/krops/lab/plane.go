package lab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// A Plane is a Kubernetes control plane on 127.0.0.1 with one node that is played.
type Plane struct {
	Name           string // its context, cluster and user have names made of it
	Dir            string // logs, data and keys
	Port           int    // of the API server
	KubeconfigFile string
	Kubeconfig     []byte // of an administrator
	*Client

	ca                    *authority
	etcd, server, manager *Process
	kubelet               context.CancelFunc
	kubeletEnded          chan struct{}
}

// Options say what a plane is like.
type Options struct {
	Name      string
	Context   string // "" is Name
	Dir       string // must not exist, or be empty
	Nodeless  bool   // nobody plays the kubelet: no node, no pod runs
	NoManager bool   // no controllers: nothing is collected, no Deployment has pods
}

// Planes starts n control planes at once and ends them with the test. Their logs
// stay when the test fails.
func Planes(tb testing.TB, n int, change ...func(*Options)) []*Plane {
	tb.Helper()
	if _, err := Assets(); err != nil {
		hosttest.Skip(tb, "%v", err)
	}
	dir, err := os.MkdirTemp("", "holdfast-kube-") //nolint:usetesting // it stays when the test fails
	if err != nil {
		tb.Fatal(err)
	}
	list := make([]*Plane, n)
	tb.Cleanup(func() {
		for _, p := range list {
			p.Stop()
		}
		if tb.Failed() {
			tb.Logf("the logs of the control planes stay in %s", dir)
			return
		}
		_ = os.RemoveAll(dir) // what is left is in the way of nobody
	})
	var group errgroup.Group
	for i := range list {
		o := Options{Name: fmt.Sprintf("plane-%d", i), Dir: filepath.Join(dir, strconv.Itoa(i))}
		for _, f := range change {
			f(&o)
		}
		group.Go(func() (err error) {
			list[i], err = Start(tb.Context(), o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
	return list
}

// Start starts a control plane, which the caller stops. One that does not come up
// is tried again on other ports: somebody may have been quicker.
func Start(ctx context.Context, o Options) (*Plane, error) {
	var failed []error
	for range 3 {
		p, err := start(ctx, o)
		if err == nil {
			return p, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("control plane %s: %w", o.Name, errors.Join(failed...))
}

func start(ctx context.Context, o Options) (_ *Plane, err error) {
	p := &Plane{Name: o.Name, Dir: o.Dir}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return nil, err
	}
	ports, err := somePorts(4)
	if err != nil {
		return nil, err
	}
	p.Port = ports[2]
	if err := p.keys(o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Stop()
			err = errors.Join(err, os.RemoveAll(filepath.Join(p.Dir, "etcd")))
		}
	}()
	if err := p.runEtcd(ports[0], ports[1]); err != nil {
		return nil, err
	}
	if err := p.runServer(ctx, ports[0], o); err != nil {
		return nil, err
	}
	if !o.NoManager {
		if err := p.runManager(ports[3]); err != nil {
			return nil, err
		}
	}
	if o.Nodeless {
		return p, nil
	}
	playing, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.kubelet, p.kubeletEnded = stop, make(chan struct{})
	ready := make(chan error, 1)
	go func() {
		defer close(p.kubeletEnded)
		PlayKubelet(playing, p.Client, "node-0", ready)
	}()
	return p, <-ready
}

func (p *Plane) file(name string) string { return filepath.Join(p.Dir, name) }

// keys writes all the keys and certificates, and the kubeconfig.
func (p *Plane) keys(o Options) error {
	ca, err := newAuthority(p.Name)
	if err != nil {
		return err
	}
	p.ca = ca
	cert, key, err := ca.serving("kube-apiserver")
	if err != nil {
		return err
	}
	admin, adminKey, err := ca.client("admin", "system:masters")
	if err != nil {
		return err
	}
	account, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	accountKey, err := private2pem(account)
	if err != nil {
		return err
	}
	name := o.Context
	if name == "" {
		name = p.Name
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:" + strconv.Itoa(p.Port), CertificateAuthorityData: ca.pem}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: admin, ClientKeyData: adminKey}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if p.Kubeconfig, err = clientcmd.Write(*config); err != nil {
		return err
	}
	p.KubeconfigFile = p.file("kubeconfig")
	rc, err := clientcmd.RESTConfigFromKubeConfig(p.Kubeconfig)
	if err != nil {
		return err
	}
	if p.Client, err = NewClient(rc); err != nil {
		return err
	}
	return save(map[string][]byte{
		p.file("ca.crt"): ca.pem, p.file("server.crt"): cert, p.file("server.key"): key,
		p.file("accounts.key"): accountKey, p.KubeconfigFile: p.Kubeconfig,
	})
}

func (p *Plane) runEtcd(clients, peers int) (err error) {
	client, peer := "http://127.0.0.1:"+strconv.Itoa(clients), "http://127.0.0.1:"+strconv.Itoa(peers)
	p.etcd, err = begin(p.Dir, "etcd", "--name=e", "--data-dir="+p.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=e="+peer)
	if err != nil {
		return err
	}
	return p.etcd.wait(time.Minute, func() error { return answers(&http.Client{Timeout: 5 * time.Second}, client+"/health") })
}

func (p *Plane) runServer(ctx context.Context, etcd int, o Options) (err error) {
	args := []string{
		"--etcd-servers=http://127.0.0.1:" + strconv.Itoa(etcd), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.Port),
		// An address of loopback is none that a Service could lead to.
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + p.file("server.crt"), "--tls-private-key-file=" + p.file("server.key"), "--client-ca-file=" + p.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + p.file("accounts.key"),
		"--service-account-signing-key-file=" + p.file("accounts.key"), "--authorization-mode=RBAC", "--allow-privileged=true",
		"--cert-dir=" + p.file("apiserver"), "--profiling=false",
	}
	if o.NoManager {
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if p.server, err = begin(p.Dir, "kube-apiserver", args...); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(p.Rest)
	if err != nil {
		return err
	}
	client.Timeout = 5 * time.Second
	return p.server.wait(2*time.Minute, func() error {
		if err := answers(client, p.Rest.Host+"/readyz"); err != nil {
			return err
		}
		_, err := p.Get(ctx, Kind("", "Namespace"), "", "default")
		return err
	})
}

func (p *Plane) runManager(port int) (err error) {
	kubeconfig := "=" + p.KubeconfigFile
	p.manager, err = begin(p.Dir, "kube-controller-manager", "--kubeconfig"+kubeconfig, "--authentication-kubeconfig"+kubeconfig,
		"--authorization-kubeconfig"+kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--cert-dir="+p.file("manager"), "--root-ca-file="+p.file("ca.crt"), "--service-account-private-key-file="+p.file("accounts.key"),
		"--kube-api-qps=200", "--kube-api-burst=400", "--profiling=false",
		// There are no volumes, and no network of pods.
		"--controllers=*,-node-ipam-controller,-persistentvolume-binder-controller,-persistentvolume-attach-detach-controller,-persistentvolume-expander-controller")
	if err != nil {
		return err
	}
	// Its certificate is its own.
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return p.manager.wait(time.Minute, func() error { return answers(client, "https://127.0.0.1:"+strconv.Itoa(port)+"/healthz") })
}

func answers(c *http.Client, url string) error {
	r, err := c.Get(url) //nolint:noctx // the client has a timeout
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }() // only read
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, r.Status)
	}
	return nil
}

// Server is the API server, for a test that stops or kills it.
func (p *Plane) Server() *Process { return p.server }

// Stop ends the control plane.
func (p *Plane) Stop() {
	if p == nil {
		return
	}
	if p.kubelet != nil {
		p.kubelet()
		<-p.kubeletEnded
	}
	var ending sync.WaitGroup
	for _, process := range []*Process{p.manager, p.server, p.etcd} {
		ending.Go(process.Kill)
	}
	ending.Wait()
}

// Logs is the end of the logs of the plane.
func (p *Plane) Logs(lines int) string {
	var b strings.Builder
	for _, process := range []*Process{p.etcd, p.server, p.manager} {
		if process != nil {
			fmt.Fprintf(&b, "--- %s\n%s\n", process.Log, tail(process.Log, lines))
		}
	}
	return b.String()
}
