/**
 * Every refusal FlowFabric can give, once. The HTTP status, whether a retry may help, and the sentence a person reads
 * all come from here; a test holds this table against the docs.
 */

interface ErrorEntry {
	status: number;
	retryable: boolean;
	/** The message when the place that refuses has nothing better to say. */
	message: string;
}

export const ERRORS = {
	invalid_input: { status: 400, retryable: false, message: "the request is not valid" },
	fence_required: { status: 400, retryable: false, message: "this call needs fence {leaseId, epoch}" },
	invalid_tag_key: {
		status: 400,
		retryable: false,
		message: "a tag's key is lower-case words of a-z, 0-9 and _ joined by dots",
	},
	timeout_in_past: { status: 400, retryable: false, message: "timeoutAt must lie in the future" },
	timeout_required: { status: 400, retryable: false, message: "timeoutOnly needs timeoutAt or timeoutMs" },
	all_of_empty: { status: 400, retryable: false, message: "allOf needs at least one condition" },
	any_of_empty: { status: 400, retryable: false, message: "anyOf needs at least one condition" },
	depth_exceeded: { status: 400, retryable: false, message: "allOf and anyOf may be nested 4 deep" },
	condition_too_large: { status: 400, retryable: false, message: "a condition may have 64 nodes" },
	count_n_zero: { status: 400, retryable: false, message: "count.n must be at least 1" },
	count_unreachable: {
		status: 400,
		retryable: false,
		message: "count.n is more than can ever be counted: the waitpoints there are, or 1000",
	},
	count_waitpoints_empty: {
		status: 400,
		retryable: false,
		message: "count.waitpoints must name a waitpoint; leave it out to count at all of them",
	},
	waitpoint_unknown: {
		status: 400,
		retryable: false,
		message: "a condition may name the keys in waitpoints, and an id there must be that of an open waitpoint",
	},
	duplicate_waitpoint: { status: 400, retryable: false, message: "waitpoints names a key twice" },
	self_edge: { status: 400, retryable: false, message: "an edge must lead from one node to another" },
	unknown_node: { status: 400, retryable: false, message: "the flow has no such node" },
	duplicate_node: { status: 409, retryable: false, message: "the flow has a node of this key with another body" },
	duplicate_group: { status: 400, retryable: false, message: "groups names a node twice" },
	duplicate_edge: { status: 409, retryable: false, message: "the flow has another edge between these nodes" },
	duplicate_result_name: {
		status: 409,
		retryable: false,
		message: "another edge to this node passes its result under the same name",
	},
	cycle_detected: { status: 409, retryable: false, message: "the edges would form a cycle" },
	quorum_unreachable: { status: 409, retryable: false, message: "a group wants more edges than lead to its node" },
	too_many_nodes: { status: 400, retryable: false, message: "a flow may have 10000 nodes" },
	unauthorized: { status: 401, retryable: false, message: "a valid token is needed" },
	invalid_token: { status: 401, retryable: false, message: "the waitpoint's token is not valid" },
	token_expired: { status: 401, retryable: false, message: "the waitpoint's token is no longer valid" },
	forbidden: { status: 403, retryable: false, message: "the token does not allow this" },
	not_found: { status: 404, retryable: false, message: "no such route" },
	execution_not_found: { status: 404, retryable: false, message: "no such execution" },
	flow_not_found: { status: 404, retryable: false, message: "no such flow" },
	result_not_found: { status: 404, retryable: false, message: "the execution ended without a result" },
	budget_not_found: { status: 404, retryable: false, message: "no such budget" },
	quota_not_found: { status: 404, retryable: false, message: "no such quota" },
	attempt_not_found: { status: 404, retryable: false, message: "the execution has no such attempt" },
	waitpoint_not_found: { status: 404, retryable: false, message: "the execution has no such waitpoint" },
	grant_not_found: { status: 404, retryable: false, message: "no such grant" },
	method_not_allowed: { status: 405, retryable: false, message: "the route has no such method" },
	idempotency_conflict: {
		status: 409,
		retryable: false,
		message: "idempotencyKey was already used with a different body",
	},
	already_exists: {
		status: 409,
		retryable: false,
		message: "it exists already with another definition; change it with PATCH",
	},
	budget_full: {
		status: 409,
		retryable: false,
		message: "the budget would count more than 64 dimensions, or more of one than 9007199254740991",
	},
	quota_without_limit: {
		status: 409,
		retryable: false,
		message: "the quota would have neither rate nor concurrency; delete it instead",
	},
	lane_draining: { status: 409, retryable: false, message: "the lane is draining and takes no new work" },
	lane_paused: { status: 409, retryable: false, message: "the lane is paused and hands out no work" },
	grant_expired: { status: 409, retryable: false, message: "the grant lapsed before it was accepted" },
	grant_of_other_instance: {
		status: 409,
		retryable: false,
		message: "the grant was given to another worker instance",
	},
	stale_lease: { status: 409, retryable: false, message: "the fence is not that of the current lease" },
	lease_expired: { status: 409, retryable: false, message: "the lease expired before this call" },
	lease_revoked: { status: 409, retryable: false, message: "the lease was revoked before this call" },
	execution_not_active: { status: 409, retryable: false, message: "the execution is not active" },
	execution_not_suspended: { status: 409, retryable: false, message: "the execution is not suspended" },
	waitpoint_closed: { status: 409, retryable: false, message: "the waitpoint is closed" },
	signal_limit_exceeded: {
		status: 409,
		retryable: false,
		message: "the execution has had as many signals as policy.maxSignals allows",
	},
	summary_too_large: {
		status: 409,
		retryable: false,
		message: "the summary of the stream would be longer than 61440 characters",
	},
	too_many_waitpoints: { status: 409, retryable: false, message: "the execution has had 10000 waitpoints" },
	execution_not_terminal: { status: 409, retryable: false, message: "the execution has not ended" },
	too_many_tags: {
		status: 409,
		retryable: false,
		message: "the execution would have more than 64 tags, or tags of more than 24576 characters together",
	},
	max_replays_exhausted: { status: 409, retryable: false, message: "policy.maxReplays replays were made already" },
	execution_in_flow: {
		status: 409,
		retryable: false,
		message: "the execution is a member of a flow; delete the flow instead",
	},
	member_skipped: {
		status: 409,
		retryable: false,
		message: "what the member waits for has ended, so that it would be skipped; replay that instead",
	},
	node_already_started: { status: 409, retryable: false, message: "the node was claimed already, or has ended" },
	stale_graph_revision: {
		status: 409,
		retryable: false,
		message: "the flow has another revision; read it, and try again with that",
	},
	flow_sealed: {
		status: 409,
		retryable: false,
		message: "the flow is sealed and takes no more members, edges and groups",
	},
	flow_cancelled: { status: 409, retryable: false, message: "the flow was cancelled" },
	flow_already_terminal: { status: 409, retryable: false, message: "the flow has ended" },
	flow_not_terminal: { status: 409, retryable: false, message: "the flow has not ended" },
	cancel_requested: {
		status: 409,
		retryable: false,
		message: "the execution was asked to stop, and adds no children",
	},
	too_many_children: { status: 409, retryable: false, message: "the execution has 10000 children" },
	steps_too_large: {
		status: 409,
		retryable: false,
		message: "the execution's recorded steps would be more than 64 MiB together",
	},
	result_not_ready: { status: 409, retryable: false, message: "the execution has not ended, so it has no result yet" },
	rotation_conflict: { status: 409, retryable: false, message: "the keyring has this kid with another secret" },
	cursor_expired: { status: 409, retryable: false, message: "events behind this cursor are no longer kept" },
	partition_mismatch: {
		status: 409,
		retryable: false,
		message: "the store was created with other partition counts than configured",
	},
	payload_too_large: { status: 413, retryable: false, message: "the payload is too large" },
	too_many_workers: {
		status: 429,
		retryable: true,
		message: "the namespace has as many live worker instances as it may have",
	},
	too_many_lanes: { status: 429, retryable: true, message: "the namespace has as many lanes as it may have" },
	too_many_kinds: {
		status: 429,
		retryable: true,
		message: "as many kinds of work wait in the lane, or as many sets of capabilities are waited for, as may be",
	},
	too_many_budgets: { status: 429, retryable: true, message: "the namespace has as many budgets as it may have" },
	too_many_quotas: { status: 429, retryable: true, message: "the namespace has as many quotas as it may have" },
	too_many_keys: {
		status: 429,
		retryable: true,
		message: "the keyring holds as many keys as it may have; each goes 7 days after its grace",
	},
	too_many_requests: { status: 429, retryable: true, message: "too many of these calls are under way" },
	corrupt_record: { status: 500, retryable: false, message: "a stored record cannot be read" },
	store_corrupt: {
		status: 500,
		retryable: false,
		message: "the store's file is damaged; run doctor on it, and restore a backup",
	},
	internal: { status: 500, retryable: false, message: "an internal error; see the log" },
	store_invalid: { status: 503, retryable: false, message: "the store is not a FlowFabric store" },
	store_read_only: { status: 503, retryable: false, message: "the store cannot be written" },
	store_too_new: { status: 503, retryable: false, message: "the store was written by a newer version of FlowFabric" },
	store_version_too_low: { status: 503, retryable: false, message: "the store's server is too old" },
	store_in_use: { status: 503, retryable: false, message: "the store is open in another process" },
	store_unavailable: { status: 503, retryable: true, message: "the store did not answer, or takes nothing now" },
	unreachable: { status: 503, retryable: true, message: "the server could not be reached" },
	shutting_down: { status: 503, retryable: true, message: "the engine is shutting down" },
	request_timeout: {
		status: 504,
		retryable: true,
		message: "the request did not arrive, or was not answered, in time",
	},
	wait_timeout: { status: 504, retryable: true, message: "the wait ended before the execution did" },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;
