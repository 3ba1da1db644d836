package kube

import (
	"context"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SecretData returns what a Secret holds.
func (c *Cluster) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	u, err := c.Get(ctx, Secret, namespace, name)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	encoded, _, _ := unstructured.NestedMap(u.Object, "data")
	for key, value := range encoded {
		text, _ := value.(string)
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("get Secret %s: key %s: %w", slashed(namespace, name), key, &answerError{"it is no base64"})
		}
		data[key] = plain
	}
	return data, nil
}

// ConfigMapData returns what a ConfigMap holds.
func (c *Cluster) ConfigMapData(ctx context.Context, namespace, name string) (map[string]string, error) {
	u, err := c.Get(ctx, ConfigMap, namespace, name)
	if err != nil {
		return nil, err
	}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", slashed(namespace, name), &answerError{"data that is no text"})
	}
	return data, nil
}

// NewSecret describes a Secret of the type Opaque.
func NewSecret(namespace, name string, data map[string][]byte) *unstructured.Unstructured {
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(value)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "data": encoded,
	}}
}

// NewConfigMap describes a ConfigMap.
func NewConfigMap(namespace, name string, data map[string]string) *unstructured.Unstructured {
	content := map[string]any{}
	for key, value := range data {
		content[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "data": content,
	}}
}

// NewNamespace describes a Namespace.
func NewNamespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}
