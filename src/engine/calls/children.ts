import {
	type AddChildrenRequest,
	addChildrenRequest,
	type WaitChildrenRequest,
	waitChildrenRequest,
} from "../../contract/children.ts";
import { errorBody, FlowFabricError, refusalError } from "../../contract/errors.ts";
import type { AddedChild } from "../../contract/replies.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { GivenChild, AddedChild as Outcome } from "../../kernel/rules/add-children.ts";
import type { PublicState } from "../../kernel/state.ts";
import { readChildren, readFamily } from "../children/families.ts";
import { type ChildOf, childOf } from "../children/given-child.ts";
import { shareOfMany } from "../partition/waiting-commands.ts";
import { submissionAt } from "./create-together.ts";
import type { Session } from "./session.ts";

/** Children that are made by one command. */
const TOGETHER = 32;

/** Items read at a time: then others get their turn. */
const SLICE = 128;

/** A child that was asked for, and what it is refused for unless it was made before. */
interface Asked extends GivenChild {
	error?: unknown;
}

/** Submits children of the work that a lease is held of. Every item is answered by itself, in the order given. */
export async function addChildren(session: Session, id: string, request: AddChildrenRequest): Promise<AddedChild[]> {
	const { fence, items } = addChildrenRequest.check(request);
	const { record: parent } = await session.read(id);
	const asked = await readItems(session, parent, [...items]);
	const valid = asked.filter((item): item is Asked => !(item instanceof Refused));
	const run = async (group: readonly Asked[]): Promise<Outcome[]> => {
		const command: CommandOf<"addChildren"> = { op: "addChildren", executionId: id, items: group.map(plain) };
		if (fence) command.fence = fence;
		const { children } = await session.run("addChildren", command, group.length * shareOfMany(items.length));
		return children;
	};
	const outcomes = (await Promise.all(groupsOf(valid).map(run))).flat();
	let next = 0;
	return asked.map((item) => {
		if (item instanceof Refused) return { key: item.key, ok: false, error: errorBody(item.error) };
		return answerOf(item, outcomes[next++] ?? null);
	});
}

class Refused {
	readonly key: string;
	readonly error: unknown;
	constructor(item: unknown, error: unknown) {
		const { key } = (item ?? {}) as { key?: unknown };
		this.key = typeof key === "string" ? key.slice(0, MOST_ECHOED) : "";
		this.error = error;
	}
}

const MOST_ECHOED = 256;

async function readItems(
	session: Session,
	parent: ExecutionRecord,
	items: readonly unknown[],
): Promise<(Asked | Refused)[]> {
	const { engine } = session;
	const context = { ...submissionAt(session), slot: trustedSlot(parent.id) };
	const read: (Asked | Refused | Promise<Asked>)[] = [];
	for (const [n, item] of items.entries()) {
		if (n > 0 && n % SLICE === 0) await new Promise<void>((resolve) => engine.clock.defer(resolve));
		try {
			read.push(checked(session, childOf(item, parent, context)));
		} catch (error) {
			read.push(new Refused(item, error));
		}
	}
	return Promise.all(read);
}

/** What was made once is the same child, also when it could not be made any more. */
function checked({ engine }: Session, child: ChildOf): Asked | Promise<Asked> {
	const refused = (error: unknown): Asked => ({ key: child.key, work: null, error });
	const unlessTooMany = (): Asked => {
		try {
			engine.nameLimits.check(trustedSlot(child.work.executionId) % engine.runners.length, child.work);
		} catch (error) {
			return refused(error);
		}
		return child;
	};
	return engine.guards.directory.check(child.names)?.then(unlessTooMany, refused) ?? unlessTooMany();
}

const plain = ({ key, work, isLeft }: Asked): GivenChild => ({ key, work, ...(isLeft ? { isLeft } : undefined) });

/** In order; what brings bytes of its own goes alone, so that no unit grows large. There is one at least, for the fence. */
function groupsOf(items: readonly Asked[]): Asked[][] {
	const groups: Asked[][] = [];
	let open: Asked[] = [];
	for (const item of items) {
		const isLarge = item.work?.inputBlob !== undefined;
		if (open.length > 0 && (isLarge || open.length === TOGETHER)) {
			groups.push(open);
			open = [];
		}
		open.push(item);
		if (!isLarge) continue;
		groups.push(open);
		open = [];
	}
	return open.length > 0 || groups.length === 0 ? [...groups, open] : groups;
}

function answerOf({ key, error }: Asked, outcome: Outcome): AddedChild {
	if (!outcome) return { key, ok: false, error: errorBody(error ?? new FlowFabricError("internal")) };
	if (!outcome.ok) return { key, ok: false, error: errorBody(refusalError(outcome)) };
	return { key, ok: true, id: outcome.id, publicState: outcome.publicState, created: outcome.created };
}

/** Lets go of a lease until children are done. */
export async function waitChildren(
	session: Session,
	id: string,
	request: WaitChildrenRequest,
): Promise<{ publicState: PublicState }> {
	const { fence, mode, ids } = waitChildrenRequest.check(request);
	const command: CommandOf<"waitChildren"> = { op: "waitChildren", executionId: id, mode };
	if (fence) command.fence = fence;
	if (ids) command.numbers = await numbersOf(session, id, ids);
	const { publicState } = await session.run("waitChildren", command);
	return { publicState };
}

/** Which child has which number never changes. */
async function numbersOf(session: Session, id: string, ids: readonly string[]): Promise<number[]> {
	const { record } = await session.read(id);
	const family = await readFamily(session, record);
	const children = family ? await readChildren(session, record, family) : [];
	const known = new Map(children.map(({ executionId, number }) => [executionId, number]));
	const numbers = new Set<number>();
	for (const [n, childId] of ids.entries()) {
		const number = known.get(childId);
		if (number === undefined) {
			const field = `ids[${n}]`;
			throw new FlowFabricError("invalid_input", {
				message: `${field}: must be a child of this execution, got ${childId}`,
				details: { field },
			});
		}
		numbers.add(number);
	}
	return [...numbers];
}
