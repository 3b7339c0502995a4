import { begin, type Deed, holder } from "../changing.ts";
import { hasFamily } from "../children/families.ts";
import { type NewExecution, newExecution } from "../creating.ts";
import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, type Refusal, refuse } from "../outcome.ts";
import { amendExecution, type ExecutionRecord, executionKey, partsOf } from "../records/execution.ts";
import {
	CHILDREN_PER_PAGE,
	childNameKey,
	childrenPageDefaults,
	childrenPageKey,
	type FamilyRecord,
	familyDefaults,
	familyKey,
	MAX_CHILDREN,
	pageOfChild,
} from "../records/family.ts";
import { flowKey } from "../records/flow.ts";
import { laneDefaults, laneKey } from "../records/lane.ts";
import { amend } from "../records/record.ts";
import { type PublicState, publicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface GivenChild {
	key: string;
	/** Null to look for one that was made before. */
	work: NewExecution | null;
	/** It goes on when its parent ends. */
	isLeft?: true;
}

export interface AddChildrenCommand extends Target {
	op: "addChildren";
	fence?: Fence;
	/** A few dozen at most, so that no unit grows with a call. */
	items: readonly GivenChild[];
}

/** Null for one that was looked for and is not there. */
export type AddedChild = Outcome<{ id: string; publicState: PublicState; created: boolean }> | null;

export type AddChildrenOutcome = Outcome<{ children: AddedChild[] }>;

/** Makes children of the work that a lease is held of; a key that was given before leads to the child that it was given to. */
export function addChildren(tx: Tx, command: AddChildrenCommand, now: number): AddChildrenOutcome {
	const parent = find(tx, command);
	if (!parent) return notFound(command);
	const answer = fenceAnswer(parent, command.fence, "addChildren");
	if (answer) return answer as AddChildrenOutcome;
	const refusal = refusalOf(tx, parent);
	if (refusal) return refusal;
	const step = new FamilyStep(tx, parent, holder(parent, now));
	const children = command.items.map((item) => step.add(item));
	step.write();
	return { ok: true, children };
}

/** Whoever is to stop begins nothing new. */
function refusalOf(tx: Tx, { id: executionId, cancel, member, flowId }: ExecutionRecord): Refusal | undefined {
	if (cancel) return refuse("cancel_requested", { executionId });
	const isCancelled = member !== null && tx.get(flowKey(flowId))?.cancel;
	return isCancelled ? refuse("flow_cancelled", { executionId, flowId }) : undefined;
}

/** A family during one step: it is written once at the end. */
class FamilyStep {
	readonly #tx: Tx;
	readonly #parent: ExecutionRecord;
	readonly #deed: Deed;
	readonly #generation: number;
	readonly #isNew: boolean;
	#family: FamilyRecord;

	constructor(tx: Tx, parent: ExecutionRecord, deed: Deed) {
		const parts = partsOf(parent);
		this.#tx = tx;
		this.#parent = parent;
		this.#deed = deed;
		this.#generation = parts.generation;
		this.#isNew = !hasFamily(parts);
		this.#family = (this.#isNew ? undefined : tx.get(familyKey(parent.id, parts.generation))) ?? familyDefaults;
	}

	add({ key, work, isLeft }: GivenChild): AddedChild {
		const tx = this.#tx;
		const name = childNameKey(this.#parent.id, this.#generation, key);
		const known = this.#isNew ? tx.getFresh(name) : tx.get(name);
		if (known) {
			const child = tx.get(executionKey(known.executionId));
			const state = child && !child.removing ? publicState(child) : this.#endOf(known.number);
			return { ok: true, id: known.executionId, publicState: state, created: false };
		}
		if (!work) return null;
		const { id: parentId, lane } = this.#parent;
		if (this.#family.count >= MAX_CHILDREN)
			return refuse("too_many_children", { executionId: parentId, limit: MAX_CHILDREN });
		const laneCopy = tx.get(laneKey(work.namespace, work.lane)) ?? laneDefaults;
		// What a lane is to be rid of may still do what it has to in order to end.
		if (laneCopy.state === "draining" && work.lane !== lane) return refuse("lane_draining", { lane: work.lane });
		const number = this.#family.count + 1;
		tx.put(name, { executionId: work.executionId, number });
		this.#list(key, work.executionId, number);
		tx.getFresh(executionKey(work.executionId));
		if (work.inputBlob) tx.putBlob(work.inputBlob);
		const record = newExecution(work, laneCopy, this.#deed.now);
		record.child = { parentId, key, number };
		if (this.#generation > 0) record.child.generation = this.#generation;
		if (isLeft) record.child.isLeft = true;
		const { delayUntil } = record;
		begin(tx, record, this.#deed, { type: "created", parentId, key, ...(delayUntil > 0 ? { delayUntil } : undefined) });
		this.#family = amend(this.#family, { count: number });
		return { ok: true, id: work.executionId, publicState: publicState(record), created: true };
	}

	#list(key: string, executionId: string, number: number): void {
		const page = childrenPageKey(this.#parent.id, this.#generation, pageOfChild(number));
		const isFirst = (number - 1) % CHILDREN_PER_PAGE === 0;
		const { children } = (isFirst ? this.#tx.getFresh(page) : this.#tx.get(page)) ?? childrenPageDefaults;
		this.#tx.put(page, { children: [...children, { key, executionId }] });
	}

	/** How a child ended that is not there any more. */
	#endOf(number: number): PublicState {
		const page = this.#tx.get(childrenPageKey(this.#parent.id, this.#generation, pageOfChild(number)));
		return page?.children[(number - 1) % CHILDREN_PER_PAGE]?.end ?? "completed";
	}

	write(): void {
		if (this.#family.count === 0) return;
		const { id } = this.#parent;
		const key = familyKey(id, this.#generation);
		if (this.#tx.get(key)?.count !== this.#family.count) this.#tx.put(key, this.#family);
		if (!this.#isNew) return;
		const parts = { ...partsOf(this.#parent), families: this.#generation + 1 };
		this.#tx.put(executionKey(id), amendExecution(this.#parent, { parts }));
	}
}
