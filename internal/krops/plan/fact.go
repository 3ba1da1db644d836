package plan

import "strings"

// Term says what a fact means, which is also how it is observed.
type Term struct {
	Pattern string // the fact; a * at its end stands for any name
	Meaning string
}

// Matches tells whether the term is about a fact.
func (t Term) Matches(f Fact) bool {
	if prefix, ok := strings.CutSuffix(t.Pattern, "*"); ok {
		return strings.HasPrefix(string(f), prefix)
	}
	return string(f) == t.Pattern
}

// Glossary lists every fact a plan speaks of. What observes a world answers these
// questions and no others.
func Glossary() []Term {
	return []Term{
		{"host/kind-cluster", "The engine lists the kind cluster by its exact name. A listing that fails is a failure, not an absence."},
		{"host/registry", "The registry container exists with the right port, in the network of kind, and runs."},
		{"host/registry-ready", "The registry answers /v2/ with a status below 400."},
		{"host/mgmt-kubeconfig", "The file MGMT_KUBECONFIG names exists."},
		{"host/mgmt-kubeconfig-own", "That file exists, and what it leads to is named as the management cluster of the environment."},
		{"host/mgmt-containers", "The engine lists containers whose names begin with mgmt-container-prefix."},
		{"host/containers/*", "The engine lists containers of that workload cluster."},

		{"source/context", "The kubeconfig of the caller has the context of the kind cluster, and it leads there."},
		{"source/nodes-ready", "Every node of the kind cluster is Ready."},
		{"source/registry-config", "ConfigMap kube-system/local-registry-config names the registry."},
		{"source/artifact", "The artifact in the registry is that of the checkout."},
		{"source/flux-operator", "Helm release flux-operator is deployed in the wanted version."},
		{"source/run-metadata", "ConfigMap krops-run is there with its four keys. Only a confirmed absence makes a new one."},
		{"source/git-secret", "The Secret of the Git token holds the token of this run."},
		{"source/sops-secret", "The Secret of the age key holds the key of this run, and no other."},
		{"source/sops-secret-default", "The same in the namespace default."},
		{"source/flux-instance", "Helm release flux is deployed in the wanted version, with the wanted values."},
		{"source/flux-ready", "FluxInstance flux is Ready."},
		{"source/flux-controllers", "Every pod of Flux is Ready."},
		{"source/flux-apps", "Kustomization flux-apps exists."},
		{"source/flux-apps-ready", "Kustomization flux-apps is Ready."},
		{"source/workload-flux", "Kustomization flux-system exists in the workload cluster."},
		{"source/workload-flux-controllers", "Every pod of Flux is Ready in the workload cluster."},
		{"source/workload-flux-ready", "Kustomization flux-system is Ready in the workload cluster."},
		{"source/inventory", "The Cluster of the management cluster, or any other object a move would take, is on the kind cluster."},
		{"source/mgmt-kubeconfig", "The Secret with the kubeconfig of the management cluster is on the kind cluster."},
		{"source/kubeconfig-exported", "The file MGMT_KUBECONFIG names leads to the cluster whose kubeconfig is in that Secret: the same certificate authority, credentials that still hold."},
		{"source/move-ready", "Every Cluster of the namespace is provisioned and every Machine has a node, or a move is past the point of no return and only to be finished."},
		{"source/flux-suspended", "Every Kustomization of the kind cluster is suspended."},

		{"target/nodes-ready", "The management cluster has nodes, and all are Ready."},
		{"target/cert-manager", "Helm release cert-manager is deployed in the wanted version."},
		{"target/capi-operator", "Helm release capi-operator is deployed in the wanted version."},
		{"target/provider-manifests", "A server-side dry run of provider-manifests changes nothing."},
		{"target/pivot-manifests", "The same for pivot-manifests, placeholders filled in."},
		{"target/aws-credentials", "Secret capa-system/aws-credentials is there."},
		{"target/pivot-sops-secrets", "A server-side dry run of the decrypted files changes nothing."},
		{"target/providers-ready", "Every provider of the manifests is Ready."},
		{"target/inventory", "The Cluster of the management cluster is on the management cluster."},
		{"target/unpaused", "No Cluster of the namespace is paused by a move. One that its operator paused stays so."},
		{"target/artifact", "The artifact in the registry is that of the checkout."},
		{"target/flux-operator", "As on the source."},
		{"target/run-metadata", "ConfigMap krops-run holds the four values of the source."},
		{"target/git-secret", "As on the source."},
		{"target/sops-secret", "As on the source."},
		{"target/sops-secret-default", "As on the source."},
		{"target/flux-instance", "As on the source."},
		{"target/flux-ready", "As on the source."},
		{"target/flux-controllers", "As on the source."},
		{"target/awsclustercontrolleridentities.*", "The object of that move-fallback is there."},

		{"controller/host", "It is known where the controllers run: the kind cluster, the management cluster, or neither is there. One that is there and does not answer is a failure, not an absence."},
		{"controller/kustomizations", "There are Kustomizations in the namespace of Flux."},
		{"controller/flux*", "The Helm release of that name exists."},
		{"controller/secrets", "A secret of the bootstrap exists, that of the namespace default included."},
		{"clusters/listed", "The listing of Clusters in all namespaces succeeded."},
		{"clusters/all", "That listing is not empty."},
		{"clusters/but/*", "That listing has a Cluster other than this one."},
		{"cluster/*", "That listing has this Cluster, namespace/name."},
		{"providers/all", "A listing of the providers in all namespaces succeeded and is not empty."},
		{"deleting/*", "The object has a deletion time."},

		{"aws/*", "AWS lists resources of that unit for a cluster of the sweep."},

		{"run/github", "The branch of the repository was found with the token."},
		{"run/age-key", "The age key was read and fits AGE_PUBLIC_KEY."},
		{"run/eip-quota", "Every region has enough Elastic IPs."},
		{"run/engine", "A container engine answers."},
		{"run/kind-new", "The kind cluster was made by this run, which was told to replace it."},
		{"run/hook", "The task ran well."},
		{"run/source", "The cluster the move starts from is the one expected."},
		{"run/registry", "The registry answers."},
		{"run/safe", "Clusters are on the management cluster, and the registry answers if it is needed."},
		{"run/aws-identity", "AWS told who we are."},
		{"run/discovered", "It was said where the controllers run."},
		{"run/workload-suspended", "The Kustomization of the workload clusters was suspended, if there is one."},
		{"run/flux-suspended", "The Kustomizations of Flux were suspended."},
		{"run/sweeping", "A unit of the sweep was done: what the sweep waits for was confirmed right before."},
		{"run/forced", "A step went on although what it waits for was not confirmed to be gone."},
		{"run/providers-deleted", "The deletion of the providers was asked for."},
		{"run/providers-skipped", "It was said that the providers went with the management cluster."},
		{"run/told", "It was said that the machine was not wiped."},
		{"run/verified", "What is left was looked for."},
		{"run/acted", "A step was done in this run."},
	}
}
