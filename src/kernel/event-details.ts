import type { AttemptType, CancelSource } from "./records/execution.ts";
import type { WaitMode } from "./records/family.ts";
import type { CancelPolicy, FlowOutcome } from "./records/flow.ts";
import type { EdgeCondition, EdgeState } from "./records/links.ts";
import type { SignalEffect, SignalSource } from "./records/signal.ts";
import type { SuspensionEnd } from "./records/suspension.ts";
import type { BlockingReason } from "./state.ts";

/** What an event that ends a lease tells of it. */
interface EndedLease {
	/** The epoch of the lease that ended with this event; left out when none did. */
	epoch?: number;
	/** How often that lease had been renewed; left out when it never was. */
	renewals?: number;
}

/** What an event that tells of a failure says about it. */
interface ToldFailure {
	/** The message of what was thrown, or what the engine says went wrong. */
	reason: string;
	/** The kind of failure, as retry policies name it. */
	category: string;
}

/** What an execution's events tell beyond the fields that all of them have, by type. */
export interface ExecutionEventDetails {
	/** It was submitted. */
	created: {
		/** When it becomes eligible, in Unix milliseconds; left out when it is at once. */
		delayUntil?: number;
		/** The execution it is a child of. */
		parentId?: string;
		/** Its key among the children of its parent. */
		key?: string;
		/** Its key among the nodes of its flow. */
		node?: string;
	};
	/** A worker can claim it from now on. */
	eligible: object;
	/** Something keeps it from running. */
	blocked: {
		/** What it waits for. */
		reason: BlockingReason;
		/** The same for a person, with names and figures. */
		detail?: string;
		/** The limit that refused it: a dimension of a budget, or `rate` or `concurrency` of a quota. */
		limit?: string;
		/** The suspension that timed out and now waits for an operator. */
		suspensionId?: string;
		/** Of a wait for children: which of them end it. */
		mode?: WaitMode;
		/** Of a wait for children: how many there are. */
		children?: number;
	} & EndedLease;
	/** What kept it from running is over. */
	unblocked: {
		/** What it had waited for. */
		reason: BlockingReason;
	};
	/** It was reserved for a worker. */
	granted: {
		/** The grant it is reserved under. */
		grantId: string;
		/** When the grant lapses, in Unix milliseconds. */
		expiresAt: number;
		/** The name of the worker it is reserved for. */
		workerId: string;
	};
	/** A reservation was not accepted in time. */
	grant_lapsed: {
		/** The grant that lapsed. */
		grantId: string;
		/** The worker instance it had been reserved for. */
		instanceId: string;
	};
	/** A worker claimed it, and an attempt began or went on. */
	claimed: {
		/** Why this attempt was made. */
		attemptType: AttemptType;
		/** The lease it is held under. */
		leaseId: string;
		/** The epoch of that lease: it grows with every claim. */
		epoch: number;
		/** When the lease ends unless it is renewed, in Unix milliseconds. */
		expiresAt: number;
		/** The name of the worker that claimed it; the instance is the `actor`. */
		workerId: string;
		/** When its budgets and quotas admitted it, in Unix milliseconds. */
		admittedAt?: number;
	};
	/** Its lease ran out. */
	lease_expired: {
		/** The lease that ran out. */
		leaseId: string;
	} & EndedLease;
	/** Its lease was taken away. */
	lease_revoked: {
		/** The lease that was revoked. */
		leaseId: string;
		/** Why, in the words of whoever revoked it. */
		reason?: string;
	} & EndedLease;
	/** Its worker handed it back. */
	lease_released: {
		/** When it becomes eligible, in Unix milliseconds; left out when it is at once. */
		delayUntil?: number;
	} & EndedLease;
	/** An attempt failed and another will be made. */
	retry_scheduled: {
		/** When the next attempt may begin, in Unix milliseconds. */
		retryAt: number;
	} & ToldFailure &
		EndedLease;
	/** Its worker put it off. */
	delayed: {
		/** When it becomes eligible, in Unix milliseconds. */
		delayUntil: number;
	} & EndedLease;
	/** It began to wait for signals. */
	suspended: {
		/** The suspension that began. */
		suspensionId: string;
		/** Why it was suspended. */
		reason: string;
		/** When it times out, in Unix milliseconds; left out when it does not. */
		timeoutAt?: number;
		/** What it waits for, for a person. */
		detail?: string;
	} & EndedLease;
	/** A signal came. */
	signalled: {
		/** The signal that came. */
		signalId: string;
		/** The waitpoint it came to. */
		waitpointId: string;
		/** The key of that waitpoint. */
		waitpoint: string;
		/** The name of the signal. */
		name: string;
		/** What it brought about. */
		effect: SignalEffect;
		/** Who sent it. */
		source?: SignalSource;
	};
	/** Its wait for signals ended. */
	resumed: {
		/** The suspension that ended. */
		suspensionId: string;
		/** What ended it. */
		by: Exclude<SuspensionEnd, "" | "execution_ended">;
		/** What an operator said. */
		reason?: string;
		/** When it becomes eligible, in Unix milliseconds; left out when it is at once. */
		delayUntil?: number;
	};
	/** Its priority was changed. */
	priority_changed: {
		/** The priority it had. */
		from: number;
		/** The priority it has now. */
		to: number;
	};
	/** Its tags were changed. */
	tags_changed: {
		/** Tags that were set, with their values. */
		set?: Record<string, string>;
		/** The keys of tags that were removed. */
		removed?: readonly string[];
	};
	/** Its worker was asked to stop. */
	cancel_requested: {
		/** Who asked for it. */
		source: CancelSource;
		/** Why, in their words. */
		reason?: string;
		/** When it is cancelled in any case, in Unix milliseconds. */
		deadlineAt: number;
	};
	/** It ended with a result. */
	completed: EndedLease;
	/** It failed for good. */
	failed: ToldFailure & EndedLease;
	/** It was cancelled. */
	cancelled: {
		/** Who asked for it. */
		source: CancelSource;
		/** Why, in their words. */
		reason?: string;
	} & EndedLease;
	/** Its time ran out. */
	expired: {
		/** Which of its times ran out. */
		reason: string;
	} & EndedLease;
	/** It can no longer run, because of how others ended. */
	skipped: {
		/** Why it can no longer run. */
		reason: string;
	};
	/** It runs again after its end. */
	replayed: {
		/** How often it has been replayed by now. */
		replays: number;
	};
	/** Every trace of it was removed. */
	deleted: object;
}

/** What a flow's own events tell beyond the fields that all of them have, by type. */
export interface FlowEventDetails {
	/** The flow was created. */
	flow_created: {
		/** The kind of the flow; empty when it has none. */
		kind: string;
		/** How many nodes it began with. */
		nodes: number;
		/** How many edges it began with. */
		edges: number;
		/** Whether it takes no more members. */
		sealed: boolean;
	};
	/** A node was added. */
	member_added: {
		/** The key of the node. */
		node: string;
		/** The execution of the node. */
		memberId: string;
	};
	/** An edge was added. */
	edge_added: {
		/** The id of the edge. */
		edgeId: string;
		/** The key of the node it begins at. */
		from: string;
		/** The key of the node that waits. */
		to: string;
		/** What must become of the first. */
		on: EdgeCondition;
	};
	/** It takes no more members and edges. */
	sealed: {
		/** How many nodes it has. */
		nodes: number;
		/** How many edges it has. */
		edges: number;
	};
	/** An edge was satisfied, or can no longer be. */
	edge_resolved: {
		/** The id of the edge. */
		edgeId: string;
		/** The key of the node it begins at. */
		from: string;
		/** The key of the node that waited. */
		to: string;
		/** What became of the edge. */
		state: EdgeState;
	};
	/** A cancel of the flow was asked for. */
	flow_cancel_requested: {
		/** What becomes of its members. */
		policy: CancelPolicy;
		/** Why, in the words of whoever asked. */
		reason?: string;
	};
	/** The flow ended. */
	flow_ended: {
		/** How it ended. */
		state: FlowOutcome;
	};
	/** A member of the ended flow was replayed. */
	flow_reopened: {
		/** The node that was replayed. */
		node: string;
	};
	/** Every trace of it was removed. */
	deleted: object;
}
