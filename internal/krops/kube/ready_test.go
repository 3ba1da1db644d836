package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

const coreKinds = `{"kind":"APIResourceList","resources":[{"name":"nodes","kind":"Node"},{"name":"pods","kind":"Pod","namespaced":true}]}`

func TestNodesAreReadyWhenThereAreSomeAndAllAre(t *testing.T) {
	t.Parallel()
	const (
		ready   = `{"metadata":{"name":"a"},"status":{"conditions":[{"type":"DiskPressure","status":"False"},{"type":"Ready","status":"True"}]}}`
		pending = `{"metadata":{"name":"b"},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`
		fresh   = `{"metadata":{"name":"c"}}`
	)
	for items, want := range map[string]struct {
		ready bool
		says  string
	}{
		"":                                  {false, "there are none yet"},
		ready:                               {true, "all 1 ready"},
		ready + "," + pending:               {false, "1 of 2 not ready: b"},
		pending + "," + ready + "," + fresh: {false, "2 of 3 not ready: b, c"},
	} {
		c := serve(t, api{"GET /api/v1": says(200, coreKinds), "GET /api/v1/nodes": says(200, `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[`+items+`]}`)})

		state, err := kube.NodesReady(t.Context(), c)

		if err != nil || state.Ready() != want.ready || state.String() != want.says {
			t.Errorf("%s: %v %s, %v", items, state.Ready(), state, err)
		}
	}
}

func TestPodsThatAreDoneCountAsNone(t *testing.T) {
	t.Parallel()
	c := serve(t, api{"GET /api/v1": says(200, coreKinds), "GET /api/v1/namespaces/flux-system/pods": says(200, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
		{"metadata":{"namespace":"flux-system","name":"job"},"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"False"}]}},
		{"metadata":{"namespace":"flux-system","name":"web"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}]}`)})

	state, err := kube.PodsReady(t.Context(), c, "flux-system", "app.kubernetes.io/part-of=flux")

	if err != nil || state.String() != "all 1 ready" {
		t.Errorf("%s, %v", state, err)
	}
}

func TestAConditionOfAnEarlierGenerationIsNotKnown(t *testing.T) {
	t.Parallel()
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Done", "message": "fine", "observedGeneration": int64(1)},
			map[string]any{"type": "Stalled", "status": "True", "reason": "Bad", "message": "no", "observedGeneration": int64(2)},
			"no condition",
		}},
	}}
	condition := func(name string) [3]string {
		status, reason, message, _ := kube.Condition(u, name)
		return [3]string{status, reason, message}
	}

	got := [][3]string{condition("Ready"), condition("Stalled"), condition("Other")}

	if diff := cmp.Diff([][3]string{{"Unknown", "Done", "fine"}, {"True", "Bad", "no"}, {}}, got); diff != "" {
		t.Error(diff)
	}
	u.Object["spec"] = map[string]any{"suspend": true}
	if got := condition("Ready"); got[0] != "True" {
		t.Errorf("of an object that was suspended since: %v", got)
	}
}
