import { isGuarded } from "./admission/guards.ts";
import { blockingCauseOf, pausingBudget } from "./blocking.ts";
import { describeOpen, type OpenChildren } from "./children/describing.ts";
import { isWaitingForChildren } from "./children/families.ts";
import { describeUpstreams, type Upstream, waitsForGroup } from "./flows/describing.ts";
import { isClaimable } from "./placement.ts";
import { describeBlocking } from "./reading.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import type { LaneRecord } from "./records/lane.ts";
import type { SuspensionRecord } from "./records/suspension.ts";
import { WorkersFor } from "./serving.ts";
import type { TerminalOutcome } from "./state.ts";
import { describeCondition } from "./suspension/describing.ts";
import { timeText } from "./time-text.ts";

/** Why an execution does not run, in words, from what whoever explains it has gathered. */

/** Where it stands among what waits. */
export interface QueueStanding {
	/** How many would be handed out before it to somebody who can serve everything. */
	ahead: number;
	/** False when counting stopped. */
	exact: boolean;
	/** Those of its own fairness key among them. */
	aheadInKey?: number;
}

/** What must be known of the world, beyond record and lane, to explain an execution. */
export const factsNeeded = (record: ExecutionRecord): Record<Exclude<keyof Facts, "lane">, boolean> => ({
	workers: record.lifecyclePhase === "runnable",
	refusals:
		(record.lifecyclePhase === "runnable" && record.hold === null && isGuarded(record)) ||
		pausingBudget(record) !== undefined,
	standing: isClaimable(record),
	suspension: record.suspension !== null,
	upstreams: waitsForGroup(record),
	children: isWaitingForChildren(record),
});

export interface Facts {
	/** The copy of its lane beside it. */
	lane: LaneRecord;
	/** Given when needed. */
	workers?: WorkersFor;
	standing?: QueueStanding;
	/** Budgets and quotas that would not admit it now; given when needed. */
	refusals?: readonly GuardRefusal[];
	/** What it is suspended in; given when needed. */
	suspension?: SuspensionRecord;
	/** Upstreams in its flow that have not ended, the first of them; given when needed. */
	upstreams?: readonly Upstream[];
	/** What it waits for of its children; given when needed. */
	children?: OpenChildren;
}

/** A budget or quota that admits nothing more, and because of whom. */
export interface GuardRefusal {
	detail: string;
	/** Executions that hold its slots, or spent of it last. */
	holders: readonly string[];
	/** How many there are beyond these. */
	more: number;
}

export interface Explained {
	/** What keeps it from running, the foremost first, each naming the holder. */
	reasons: string[];
	workers?: { live: number; able: number };
	missingCapabilities?: string[];
}

export function explainRecord(record: ExecutionRecord, facts: Facts): Explained {
	switch (record.lifecyclePhase) {
		case "runnable":
			return explainWaiting(record, facts);
		case "active":
			return { reasons: [describeHolder(record)] };
		case "suspended":
			return explainSuspended(record, facts);
		case "terminal":
			return { reasons: [describeEnd(record)] };
	}
}

function explainWaiting(
	record: ExecutionRecord,
	{ lane, workers, standing, refusals = [], upstreams = [], children }: Facts,
): Explained {
	const { live, able, missing, lack } = workers ?? new WorkersFor(record);
	const reasons: string[] = [];
	const cause = blockingCauseOf(record);
	const isRoute = cause === "route";
	// What set it aside and its turn are told below, as they are now.
	if (!isClaimable(record) && cause === undefined) reasons.push(describeBlocking(record, lane));
	if (record.member && upstreams.length > 0) reasons.push(describeUpstreams(record.member.group, upstreams));
	if (children && children.first.length > 0) reasons.push(describeOpen(children));
	for (const refusal of refusals) reasons.push(describeRefusal(refusal));
	if (cause && !isRoute && refusals.length === 0)
		reasons.push(`${cause} ${record.blockedOn} has room again; it is about to be released`);
	if (lane.state === "paused") reasons.push(`lane ${record.lane} is paused`);
	if (isRoute && !missing) reasons.push("a worker that can serve it has registered; it is about to be released");
	// Work that is granted, or that waits for something else first, needs no worker yet.
	else if (lack !== undefined && (missing || live > 0 || isClaimable(record))) reasons.push(lack);
	if (standing) for (const reason of describeStanding(record, standing)) reasons.push(reason);
	return { reasons, workers: { live, able }, ...(missing ? { missingCapabilities: missing } : undefined) };
}

function explainSuspended(record: ExecutionRecord, { lane, suspension, refusals = [] }: Facts): Explained {
	const reasons = [describeBlocking(record, lane)];
	if (suspension) reasons.push(`it waits for ${describeCondition(suspension)}`);
	for (const refusal of refusals) reasons.push(describeRefusal(refusal));
	return { reasons };
}

function describeRefusal({ detail, holders, more }: GuardRefusal): string {
	if (holders.length === 0) return detail;
	return `${detail}; by ${holders.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function describeStanding(
	{ lane, fairnessKey }: ExecutionRecord,
	{ ahead, exact, aheadInKey }: QueueStanding,
): string[] {
	const place =
		ahead === 0
			? `it is next on lane ${lane}`
			: `${exact ? "" : "at least "}${ahead} ${ahead === 1 ? "execution is" : "executions are"} ahead of it on lane ${lane}`;
	return aheadInKey ? [place, `${aheadInKey} of its fairness key ${fairnessKey} are ahead of it`] : [place];
}

function describeHolder({ lease, cancel }: ExecutionRecord): string {
	const { instanceId = "", expiresAt = 0 } = lease ?? {};
	const asked = cancel ? "; a cancel was requested" : "";
	return `it is running on ${instanceId}, under a lease until ${timeText(expiresAt)}${asked}`;
}

const HOW_IT_ENDED: Record<TerminalOutcome, string> = {
	none: "ended",
	success: "completed",
	failed: "failed",
	cancelled: "was cancelled",
	expired: "expired",
	skipped: "was skipped",
};

function describeEnd({ terminalOutcome, completedAt, failure }: ExecutionRecord): string {
	return `it ${HOW_IT_ENDED[terminalOutcome]} at ${timeText(completedAt)}${failure ? `: ${failure.reason}` : ""}`;
}
