package api

// All lists every operation. A test compares it with the declarations.
func All() []Endpoint {
	return []Endpoint{
		GetAuthInfo, GetHealth, GetOpenAPI, GetAuthWhoAmI, PostAuthToken, PostAuthRefresh,

		GetClusterStatus, GetClusterConfig, PatchClusterConfig, GetClusterConfigFile, PutClusterConfigFile, GetClusterConfigKeywords, GetClusterConfigAlerts,
		PostClusterActionFreeze, PostClusterActionUnfreeze, PostClusterActionAbort, PostClusterActionStonith,
		PostClusterEnroll, PostClusterEvict, PostClusterJoin, GetClusterJoin, PostClusterLeave, PostDaemonJoin, PostDaemonLeave,

		GetArbitratorVote, PostArbitratorVote, GetRelayMessage, PostRelayMessage, GetRelayStatus,

		GetNodeCapabilities, GetNodeSystemDisk, GetNodeSystemGroup, GetNodeSystemHardware, GetNodeSystemIPAddress, GetNodeSystemPackage,
		GetNodeSystemProperty, GetNodeSystemSANInitiator, GetNodeSystemSANPath, GetNodeSystemUser, GetNodeSystemCheck,
		PostNodeActionPushAsset, PostNodeActionPushDisk, PostNodeActionPushPkg, PostNodeActionScanCapabilities, PostNodeActionSysreport, PostNodeActionChecks,
		GetNodes, GetNodesInfo, GetNodePing, GetNodeDrivers, GetNodeSchedule,
		GetNodeConfig, PatchNodeConfig, GetNodeConfigFile, PutNodeConfigFile, GetNodeConfigKeywords, GetNodeConfigAlerts,
		PostPeerActionFreeze, PostPeerActionUnfreeze, PostPeerActionDrain, PostPeerActionAbort, PostNodeActionClear,
		GetNodeMetrics, GetPools, GetPoolVolumes, GetNetworks, GetNetworkIP,

		GetDaemonEvents, PostDaemonStop, PostDaemonRestart, PostDaemonShutdown,
		PostDaemonLogControl, PostDaemonAudit,
		PostDaemonHeartbeatStart, PostDaemonHeartbeatStop, PostDaemonHeartbeatRestart, PostDaemonHeartbeatSign, PostDaemonHeartbeatWipe, PostClusterHeartbeatRotate,
		PostDaemonListenerStart, PostDaemonListenerStop, PostDaemonListenerRestart, PostDaemonListenerLogControl,
		GetDaemonExecs, GetDaemonExec, GetDaemonOrchestrations, GetDaemonOrchestration,
		DeleteDaemonExecs, GetDaemonProcesses, DeleteDaemonProcesses, GetNodeLogs, GetInstanceLogs,

		GetObjects, GetObjectPaths, GetObject, GetObjectResourceInfo, GetObjectSchedule,
		GetObjectConfig, PatchObjectConfig, GetObjectConfigFile, PostObjectConfigFile, PutObjectConfigFile, GetObjectConfigKeywords, GetObjectConfigAlerts,
		GetObjectData, PatchObjectData, GetObjectDataKey, PostObjectDataKey, PutObjectDataKey, DeleteObjectDataKey, GetObjectDataKeys,
		PostObjectActionStart, PostObjectActionSwitch, PostObjectActionGiveback, PostObjectActionStop, PostObjectActionRestart, PostObjectActionFreeze, PostObjectActionUnfreeze,
		PostObjectActionProvision, PostObjectActionUnprovision, PostObjectActionPurge, PostObjectActionDelete, PostObjectActionAbort,
		PostSvcDisable, PostSvcEnable,

		GetInstances, GetInstance, GetResources, GetInstanceConfigFile, GetInstanceResourceInfo, GetInstanceSchedule, PostInstanceClear,
		PostInstanceActionStart, PostInstanceActionStop, PostInstanceActionRestart, PostInstanceActionShutdown, PostInstanceActionBoot,
		PostInstanceActionStartStandby, PostInstanceActionProvision, PostInstanceActionUnprovision, PostInstanceActionRun,
		PostInstanceActionFreeze, PostInstanceActionUnfreeze, PostInstanceActionDelete, PostInstanceActionStatus, PostInstanceActionInfo, PostInstanceActionPushResourceInfo,
		PostInstanceProgress, PostInstanceStatus, PostInstanceInstalled, PostInstanceActionKeyInstall,
	}
}
