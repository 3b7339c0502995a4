import { errorBody, refusalError } from "../../contract/errors.ts";
import type { CreateRequest } from "../../contract/executions.ts";
import type { Created, CreatedItem } from "../../contract/replies.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import type { CommandOf, OutcomeOf } from "../../kernel/kernel.ts";
import type { Outcome } from "../../kernel/outcome.ts";
import { MemberKeys } from "../flows/member-keys.ts";
import { shareOfMany } from "../partition/waiting-commands.ts";
import { createCommand, type SubmissionContext } from "../submission.ts";
import type { Session } from "./session.ts";

type Create = CommandOf<"create">;

/**
 * Creates that go into one command. They touch nothing in common, so joining them changes no outcome; it saves each the
 * cost of a unit of its own, a third of all it costs.
 */
const TOGETHER = 32;

/** Items read at a time: then others get their turn, and the store begins to write while the rest is read. */
const SLICE = 128;

export const submissionAt = ({ engine, caller, retentionMs }: Session): SubmissionContext => ({
	mint: engine.mint,
	partition: engine.chooser.next(),
	partitions: engine.runners.length,
	now: engine.now(),
	actor: caller.actor,
	scope: caller.namespace,
	retentionMs,
});

/** Makes an execution, or finds what was made under its key. */
export async function createOne(session: Session, command: Create): Promise<Created> {
	for (;;) {
		const { holder, ok: _, ...created } = await session.run("create", command);
		if (!holder) return created;
		const { namespace, idempotencyKey = "" } = command;
		const made = await new MemberKeys(session).madeBefore({ namespace, idempotencyKey, holder });
		if (made) return made;
	}
}

/** Every item is answered by itself, in the order given: one that is refused never spoils the rest. */
export function createTogether(session: Session, items: readonly CreateRequest[]): Promise<CreatedItem[]> {
	const { engine } = session;
	const context = submissionAt(session);
	const answers = new Array<CreatedItem>(items.length);
	let open = items.length;
	if (open === 0) return Promise.resolve(answers);
	return new Promise((resolve) => {
		const settle = (place: number, answer: CreatedItem) => {
			// A caller the runner has given up on may still hear what became of its command.
			if (answers[place]) return;
			answers[place] = answer;
			if (--open === 0) resolve(answers);
		};
		const refuse = (place: number, error: unknown) => settle(place, { ok: false, error: errorBody(error) });

		const partitionOf = ({ executionId }: Create): number => trustedSlot(executionId) % engine.runners.length;
		const alone = (command: Create, place: number) => {
			if (command.idempotencyKey) {
				createOne(session, command).then(
					(created) => settle(place, { ok: true, ...created }),
					(error) => refuse(place, error),
				);
				return;
			}
			send(
				partitionOf(command),
				command,
				(outcome) => settle(place, createdItem(outcome as OutcomeOf<"create">)),
				(error) => refuse(place, error),
			);
		};
		const together = (partition: number, { commands, places }: Group) => {
			send(
				partition,
				{ op: "createMany", items: commands },
				(outcome) => {
					const { ok, items: outcomes } = outcome as Extract<OutcomeOf<"createMany">, { ok: true }>;
					commands.forEach((command, n) => {
						const place = places[n] as number;
						// A record that cannot be read may concern only some of them: then each must find out by itself.
						if (!ok) alone(command, place);
						else settle(place, createdItem(outcomes[n] as OutcomeOf<"create">));
					});
				},
				(error) => {
					for (const place of places) refuse(place, error);
				},
			);
		};
		const send = (
			partition: number,
			command: Create | CommandOf<"createMany">,
			hear: (outcome: Outcome) => void,
			fail: (error: unknown) => void,
		) => {
			try {
				const share = command.op === "createMany" ? command.items.length : 1;
				engine.runner(partition).enqueue(command, hear, fail, undefined, share * shareOfMany(items.length));
			} catch (error) {
				fail(error);
			}
		};

		const groups = new Map<number, Group>();
		const flush = () => {
			for (const [partition, group] of groups) together(partition, group);
			groups.clear();
		};
		const join = (partition: number, command: Create, place: number) => {
			let group = groups.get(partition);
			if (!group) groups.set(partition, (group = { commands: [], places: [] }));
			group.commands.push(command);
			group.places.push(place);
			if (group.commands.length < TOGETHER) return;
			groups.delete(partition);
			together(partition, group);
			context.partition = engine.chooser.next();
		};
		const dispatch = (partition: number, command: Create, place: number) => {
			if (command.idempotencyKey || command.inputBlob) alone(command, place);
			else join(partition, command, place);
		};

		const create = (item: CreateRequest, place: number) => {
			try {
				const command = createCommand(item, context);
				const partition = partitionOf(command);
				// What is refused brings no names.
				const goOn = () => {
					engine.nameLimits.check(partition, command);
					dispatch(partition, command, place);
				};
				const finding = engine.guards.directory.check(command);
				if (!finding) return goOn();
				finding
					.then(() => {
						goOn();
						// Those that waited for the same answer go on together.
						queueMicrotask(flush);
					})
					.catch((error) => refuse(place, error));
			} catch (error) {
				refuse(place, error);
			}
		};
		// The caller may use the list again as soon as it has called.
		const all = [...items];
		const createFrom = (from: number) => {
			const end = Math.min(from + SLICE, all.length);
			for (let place = from; place < end; place++) create(all[place] as CreateRequest, place);
			flush();
			if (end < all.length) engine.clock.defer(() => createFrom(end));
		};
		createFrom(0);
	});
}

/** Creates of one partition, and where in the caller's list each stood. */
interface Group {
	commands: Create[];
	places: number[];
}

function createdItem(outcome: OutcomeOf<"create">): CreatedItem {
	if (!outcome.ok) return { ok: false, error: errorBody(refusalError(outcome)) };
	return { ok: true, id: outcome.id, publicState: outcome.publicState, created: outcome.created };
}
