import { holder, leaseEvent, takeLease } from "../changing.ts";
import { familyOf, isOver } from "../children/families.ts";
import { closed, goingOn } from "../children/following.ts";
import { isMarked, marked } from "../children/marks.ts";
import { type Fence, fenceAnswer, firstAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { type ExecutionRecord, partsOf } from "../records/execution.ts";
import { type ChildrenWait, type FamilyRecord, familyDefaults, familyKey, type WaitMode } from "../records/family.ts";
import { amend } from "../records/record.ts";
import { blocked, type PublicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";

export interface WaitChildrenCommand extends Target {
	op: "waitChildren";
	fence?: Fence;
	mode: WaitMode;
	/** Numbers of the children that are meant, each once; all of them when left out. */
	numbers?: readonly number[];
}

export type WaitChildrenOutcome = Outcome<{ publicState: PublicState }>;

/** Gives the lease back until children are done; the same attempt goes on then, at once if they are. */
export function waitChildren(tx: Tx, command: WaitChildrenCommand, now: number): WaitChildrenOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "waitChildren");
	if (answer) return answer as WaitChildrenOutcome;
	const deed = holder(record, now);
	if (record.cancel) return endCancelled(tx, record, "waitChildren", deed);
	const family = familyOf(tx, record);
	const wait = waitFor(family ?? familyDefaults, command);
	const goesOn = isOver(wait);
	if (family) {
		const key = familyKey(record.id, partsOf(record).generation);
		tx.put(key, amend(family, { waits: wait.number, wait: goesOn ? closed(wait) : wait }));
	}
	const { joined: _, joinedBytes: _bytes, ...parts } = partsOf(record);
	const changes: Partial<ExecutionRecord> = goesOn
		? goingOn(record, family ?? familyDefaults, wait, now)
		: {
				...blocked("blocked_by_dependencies", "waiting_for_children", "attempt_interrupted"),
				parts,
				blockingDetail: `waiting for ${WORDS[wait.mode]} of ${wait.total} children`,
				blockedAt: now,
			};
	takeLease(changes, record, now, "waitChildren", { publicState: goesOn ? "waiting" : "waiting_children" });
	const event = leaseEvent("blocked", record);
	event.reason = "waiting_for_children";
	event.mode = wait.mode;
	event.children = wait.total;
	return firstAnswer(
		goesOn
			? transition(tx, record, changes, deed, event, { type: "eligible" })
			: transition(tx, record, changes, deed, event),
	);
}

const WORDS: Record<WaitMode, string> = { all: "all", any: "any", first_success: "the first success" };

function waitFor(family: FamilyRecord, { mode, numbers }: WaitChildrenCommand): ChildrenWait {
	const { count: upTo, endedMarks, succeededMarks } = family;
	const wait = { number: family.waits + 1, mode, upTo, isOpen: true } as const;
	const meant = numbers ?? Array.from({ length: upTo }, (_, n) => n + 1);
	const ended = meant.filter((number) => isMarked(endedMarks, number));
	return {
		...wait,
		among: numbers ? numbers.reduce(marked, "") : "",
		total: meant.length,
		left: meant.length - ended.length,
		succeeded: ended.filter((number) => isMarked(succeededMarks, number)).length,
	};
}
