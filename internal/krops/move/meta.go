package move

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// meta calls act with the metadata of every object of a kind in a namespace.
func (s *side) meta(ctx context.Context, k kind, namespace string, act func(*metav1.PartialObjectMetadata)) error {
	client, err := metadata.NewForConfig(s.config)
	if err != nil {
		return err
	}
	var in metadata.ResourceInterface = client.Resource(k.gvr())
	if !k.global {
		in = client.Resource(k.gvr()).Namespace(namespace)
	}
	next := ""
	for {
		var list *metav1.PartialObjectMetadataList
		err := s.persist(ctx, func(ctx context.Context) (err error) {
			list, err = in.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
			return err
		})
		if err != nil {
			return err
		}
		for i := range list.Items {
			act(&list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}
