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
		message: "a tag key must be lower-case words of a-z, 0-9 and _ joined by dots",
	},
	timeout_in_past: { status: 400, retryable: false, message: "timeoutAt must be in the future" },
	timeout_required: { status: 400, retryable: false, message: "timeoutOnly needs timeoutAt or timeoutMs" },
	all_of_empty: { status: 400, retryable: false, message: "allOf needs at least one condition" },
	any_of_empty: { status: 400, retryable: false, message: "anyOf needs at least one condition" },
	depth_exceeded: { status: 400, retryable: false, message: "allOf and anyOf may be nested at most 4 deep" },
	condition_too_large: { status: 400, retryable: false, message: "a condition may have at most 64 nodes" },
	count_n_zero: { status: 400, retryable: false, message: "count.n must be at least 1" },
	count_unreachable: {
		status: 400,
		retryable: false,
		message: "count.n can never be reached: it is more than the number of waitpoints, or more than 1000",
	},
	count_waitpoints_empty: {
		status: 400,
		retryable: false,
		message: "count.waitpoints must name at least one waitpoint; leave it out to count at all of them",
	},
	waitpoint_unknown: {
		status: 400,
		retryable: false,
		message:
			"a condition may only name keys listed in waitpoints, and an id in waitpoints must belong to an open waitpoint",
	},
	duplicate_waitpoint: { status: 400, retryable: false, message: "waitpoints names a key twice" },
	import_invalid: { status: 400, retryable: false, message: "the file is not an export that can be taken in" },
	self_edge: { status: 400, retryable: false, message: "an edge must lead from one node to another" },
	unknown_node: { status: 400, retryable: false, message: "the flow has no such node" },
	duplicate_node: {
		status: 409,
		retryable: false,
		message: "the flow already has a node with this key and a different body",
	},
	duplicate_group: { status: 400, retryable: false, message: "groups names a node twice" },
	duplicate_edge: {
		status: 409,
		retryable: false,
		message: "the flow already has a different edge between these nodes",
	},
	duplicate_result_name: {
		status: 409,
		retryable: false,
		message: "another edge to this node passes its result under the same name",
	},
	cycle_detected: { status: 409, retryable: false, message: "the edges would form a cycle" },
	quorum_unreachable: { status: 409, retryable: false, message: "a group needs more edges than its node has" },
	too_many_nodes: { status: 400, retryable: false, message: "a flow may have at most 10000 nodes" },
	unauthorized: { status: 401, retryable: false, message: "a valid token is required" },
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
	method_not_allowed: { status: 405, retryable: false, message: "the route does not support this method" },
	idempotency_conflict: {
		status: 409,
		retryable: false,
		message: "idempotencyKey was already used with a different body",
	},
	already_exists: {
		status: 409,
		retryable: false,
		message: "it already exists with a different definition; change it with PATCH",
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
	lane_draining: { status: 409, retryable: false, message: "the lane is draining and accepts no new work" },
	lane_paused: { status: 409, retryable: false, message: "the lane is paused and hands out no work" },
	grant_expired: { status: 409, retryable: false, message: "the grant expired before it was accepted" },
	grant_of_other_instance: {
		status: 409,
		retryable: false,
		message: "the grant was given to another worker instance",
	},
	stale_lease: { status: 409, retryable: false, message: "the fence does not match the current lease" },
	lease_expired: { status: 409, retryable: false, message: "the lease expired before this call" },
	lease_revoked: { status: 409, retryable: false, message: "the lease was revoked before this call" },
	execution_not_active: { status: 409, retryable: false, message: "the execution is not active" },
	execution_not_suspended: { status: 409, retryable: false, message: "the execution is not suspended" },
	waitpoint_closed: { status: 409, retryable: false, message: "the waitpoint is closed" },
	signal_limit_exceeded: {
		status: 409,
		retryable: false,
		message: "the execution has received as many signals as policy.maxSignals allows",
	},
	summary_too_large: {
		status: 409,
		retryable: false,
		message: "the summary of the stream would be longer than 61440 characters",
	},
	too_many_waitpoints: {
		status: 409,
		retryable: false,
		message: "the execution has already had 10000 waitpoints, the maximum",
	},
	execution_not_terminal: { status: 409, retryable: false, message: "the execution has not ended" },
	too_many_tags: {
		status: 409,
		retryable: false,
		message: "the execution would have more than 64 tags, or tags of more than 24576 characters together",
	},
	max_replays_exhausted: {
		status: 409,
		retryable: false,
		message: "the execution was already replayed as often as policy.maxReplays allows",
	},
	execution_in_flow: {
		status: 409,
		retryable: false,
		message: "the execution is a member of a flow; delete the flow instead",
	},
	member_skipped: {
		status: 409,
		retryable: false,
		message: "the member's upstreams have ended in a way that would skip it again; replay those upstreams instead",
	},
	node_already_started: { status: 409, retryable: false, message: "the node was already claimed, or has ended" },
	stale_graph_revision: {
		status: 409,
		retryable: false,
		message: "the flow has another revision; read the flow, and try again with its current revision",
	},
	flow_sealed: {
		status: 409,
		retryable: false,
		message: "the flow is sealed and accepts no more members, edges or groups",
	},
	flow_cancelled: { status: 409, retryable: false, message: "the flow was cancelled" },
	flow_already_terminal: { status: 409, retryable: false, message: "the flow has ended" },
	flow_not_terminal: { status: 409, retryable: false, message: "the flow has not ended" },
	cancel_requested: {
		status: 409,
		retryable: false,
		message: "a cancel of the execution was requested, so it cannot add children",
	},
	too_many_children: {
		status: 409,
		retryable: false,
		message: "the execution already has 10000 children, the maximum",
	},
	steps_too_large: {
		status: 409,
		retryable: false,
		message: "the execution's recorded steps would take more than 64 MiB together",
	},
	result_not_ready: { status: 409, retryable: false, message: "the execution has not ended, so it has no result yet" },
	rotation_conflict: {
		status: 409,
		retryable: false,
		message: "the keyring already has this kid with a different secret",
	},
	cursor_expired: { status: 409, retryable: false, message: "events after this cursor are no longer kept" },
	store_not_empty: { status: 409, retryable: false, message: "the store holds something; import into a new one" },
	partition_mismatch: {
		status: 409,
		retryable: false,
		message: "the store was created with a different number of partitions than configured",
	},
	payload_too_large: { status: 413, retryable: false, message: "the payload is too large" },
	too_many_workers: {
		status: 429,
		retryable: true,
		message: "the namespace has reached its limit of live worker instances",
	},
	too_many_lanes: { status: 429, retryable: true, message: "the namespace has reached its limit of lanes" },
	too_many_kinds: {
		status: 429,
		retryable: true,
		message: "too many different kinds wait in the lane, or too many different sets of capabilities are waited for",
	},
	too_many_budgets: { status: 429, retryable: true, message: "the namespace has reached its limit of budgets" },
	too_many_quotas: { status: 429, retryable: true, message: "the namespace has reached its limit of quotas" },
	too_many_keys: {
		status: 429,
		retryable: true,
		message: "the keyring is full; each key is removed 7 days after its grace period",
	},
	too_many_requests: { status: 429, retryable: true, message: "too many of these calls are in progress" },
	corrupt_record: { status: 500, retryable: false, message: "a stored record cannot be read" },
	store_corrupt: {
		status: 500,
		retryable: false,
		message: "the store's file is damaged; run doctor on it and restore a backup",
	},
	internal: { status: 500, retryable: false, message: "internal error; see the log" },
	store_invalid: { status: 503, retryable: false, message: "the store is not a FlowFabric store" },
	store_read_only: { status: 503, retryable: false, message: "the store cannot be written" },
	store_too_new: { status: 503, retryable: false, message: "the store was written by a newer version of FlowFabric" },
	store_version_too_low: { status: 503, retryable: false, message: "the store's server is too old" },
	store_driver_missing: {
		status: 503,
		retryable: false,
		message: "the store's driver is not installed, or was built for another platform",
	},
	store_in_use: { status: 503, retryable: false, message: "the store is open in another process" },
	store_unavailable: {
		status: 503,
		retryable: true,
		message: "the store did not answer, or cannot accept changes now",
	},
	unreachable: { status: 503, retryable: true, message: "the server could not be reached" },
	shutting_down: { status: 503, retryable: true, message: "the engine is shutting down" },
	request_timeout: {
		status: 504,
		retryable: true,
		message: "the request did not arrive, or was not answered, in time",
	},
	wait_timeout: { status: 504, retryable: true, message: "the wait ended before the execution did" },
} as const satisfies Record<string, ErrorEntry>;

/** What was refused, for programs. */
export type ErrorCode = keyof typeof ERRORS;
