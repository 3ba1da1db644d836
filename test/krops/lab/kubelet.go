package lab

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A kubelet runs no pod, but says that it does: so Deployments become available and
// what waits for them goes on.
type kubelet struct {
	node string
	kubernetes.Interface
}

// PlayKubelet plays a node that is ready until the context ends. ready gets one
// value, nil once the node is there.
func PlayKubelet(ctx context.Context, c *Client, node string, ready chan<- error) {
	set, err := kubernetes.NewForConfig(c.Rest)
	if err != nil {
		ready <- err
		return
	}
	k := kubelet{node: node, Interface: set}
	ready <- Poll(ctx, 30*time.Second, 200*time.Millisecond, func() error { return k.beat(ctx) })
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for beat := 1; ; beat++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if beat%50 == 0 {
			_ = k.beat(ctx) // there is another
		}
		k.pods(ctx)
	}
}

// beat says that the node is ready, and makes it where it is gone.
func (k kubelet) beat(ctx context.Context) error {
	nodes := k.CoreV1().Nodes()
	n, err := nodes.Get(ctx, k.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		n, err = nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node}}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	now := metav1.Now()
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"), corev1.ResourcePods: resource.MustParse("500"),
	}
	n.Status.Allocatable, n.Status.Capacity = room, room
	_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

// pods looks at every pod once. What fails is tried again at the next look.
func (k kubelet) pods(ctx context.Context) {
	// From the cache of the server: this is asked often.
	list, err := k.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return
	}
	for i := range list.Items {
		k.pod(ctx, &list.Items[i])
	}
}

func (k kubelet) pod(ctx context.Context, p *corev1.Pod) {
	pods := k.CoreV1().Pods(p.Namespace)
	switch {
	case p.DeletionTimestamp != nil:
		now := int64(0)
		_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}}) // see pods
	case p.Spec.NodeName == "":
		_ = pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node}}, metav1.CreateOptions{}) // see pods
	case p.Spec.NodeName == k.node && p.Status.Phase == corev1.PodPending:
		run(p)
		_, _ = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{}) // see pods
	}
}

// run fills in the status of a pod that runs, or of one of a Job that is done.
func run(p *corev1.Pod) {
	now := metav1.Now()
	job := len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "Job"
	running := corev1.ConditionTrue
	p.Status.Phase, p.Status.StartTime, p.Status.ContainerStatuses = corev1.PodRunning, &now, nil
	if job {
		p.Status.Phase, running = corev1.PodSucceeded, corev1.ConditionFalse
	}
	for _, c := range p.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: !job}
		if job {
			s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}
		} else {
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: running, LastTransitionTime: now},
		{Type: corev1.PodReady, Status: running, LastTransitionTime: now},
	}
}
