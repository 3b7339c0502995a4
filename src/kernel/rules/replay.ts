import { isSatisfied } from "../flows/groups.ts";
import { beforeGroup } from "../flows/members.ts";
import { mayReopen, reopenFlow } from "../flows/reopening.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { partsAfterReplay } from "../parts.ts";
import { DEFAULT_MAX_REPLAYS } from "../policy.ts";
import { eligible, type PublicState, publicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface ReplayCommand extends Target {
	op: "replay";
	actor: string;
	/** What was recorded of it stays, so that it goes on where it stopped. */
	keepSteps?: boolean;
}

/** `unfinished` tells that it is to be asked for again: something else came first. */
export type ReplayOutcome = Outcome<{ publicState: PublicState; replays: number; unfinished?: true }>;

/** Runs ended work again. The last attempt keeps its result; it moves to its own record when the next one starts. */
export function replay(tx: Tx, command: ReplayCommand, now: number): ReplayOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	if (record.lifecyclePhase !== "terminal") {
		return refuse("execution_not_terminal", { executionId: record.id, publicState: publicState(record) });
	}
	const max = record.policy.maxReplays ?? DEFAULT_MAX_REPLAYS;
	if (record.replays >= max) return refuse("max_replays_exhausted", { executionId: record.id, maxReplays: max });
	const deed = { now, actor: command.actor };
	if (record.member !== null) {
		const reopening = mayReopen(tx, record, deed);
		if (!reopening.ok) return reopening;
		if (reopening.unfinished)
			return { ok: true, publicState: publicState(record), replays: record.replays, unfinished: true };
	}
	const waits = record.member !== null && !isSatisfied(record.member.group);
	const replays = record.replays + 1;
	const next = transition(
		tx,
		record,
		{
			...(waits ? beforeGroup("pending_replay_attempt") : eligible("pending_replay_attempt")),
			retries: 0,
			reclaims: 0,
			replays,
			failure: null,
			cancel: null,
			progress: null,
			parts: partsAfterReplay(record, command.keepSteps === true),
			completedAt: 0,
			eligibleAt: now,
			// A deadline that counted from creation would end most replays before they start.
			deadlineFrom: now,
		},
		deed,
		{ type: "replayed", replays },
	);
	if (next.member !== null) reopenFlow(tx, record, next, deed);
	return { ok: true, publicState: publicState(next), replays };
}
