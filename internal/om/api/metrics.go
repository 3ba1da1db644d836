package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// Metrics are measures, in the text format of Prometheus.
type Metrics struct {
	RawBody []byte `contentType:"text/plain; version=0.0.4; charset=utf-8"`
}

// GetNodeMetrics measures a node.
var GetNodeMetrics = Operation[NodeName, Metrics]{
	ID: "GetNodeMetrics", Method: "GET", Path: nodePath + "/metrics", Tag: "node", Need: rbac.AnyRole, Errors: []int{404},
	Doc: "Measure the node, its daemon, its API and its instances, in the text format of Prometheus. Instances of namespaces the caller may not read are left out.",
	Example: func() (NodeName, Metrics) {
		return exampleNode(), Metrics{RawBody: []byte("# HELP om_instance_up 1 when the instance is available.\n# TYPE om_instance_up gauge\nom_instance_up{object=\"web1\"} 1\n")}
	},
}
