import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { GuardRecord } from "../../src/kernel/records/guard.ts";
import type { HoldRecord } from "../../src/kernel/records/hold.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";

/** What one unit did to a budget or quota. */
export interface GuardChange<R> {
	/** What it was, and what commands of the unit made of it one after the other; undefined where there was none. */
	states: (R | undefined)[];
	/** Holds that were given, and those that were given back. */
	taken: Map<string, HoldRecord>;
	returned: Set<string>;
}

/** A budget or quota as a watcher of commits knows it. */
export abstract class WatchedGuard<R extends GuardRecord> {
	readonly name: string;
	readonly partition: SimPartition;
	/** As it is, if it is there and was not deleted. */
	record: R | undefined;
	/** How often it was deleted. */
	life = 0;
	/** Since which moment it is there. */
	since = 0;
	/** Who has something of it. */
	readonly holds = new Map<string, HoldRecord>();
	/** Marks of what was given back before it was taken, by when that was. */
	readonly marks = new Map<string, number>();
	/** Every hold there ever was, and every mark. */
	readonly #known = new Set<string>();
	readonly #over = new Set<string>();

	constructor(name: string, partition: SimPartition) {
		this.name = name;
		this.partition = partition;
	}

	get kind(): string {
		return this.name.slice(0, this.name.indexOf(" "));
	}

	get time(): number {
		return this.partition.time;
	}

	/** Whether it admitted something under this id. */
	hasAdmitted(holdId: string): boolean {
		return this.#known.has(holdId);
	}

	/** Whether it took that back. */
	hasTakenBack(holdId: string): boolean {
		return this.#over.has(holdId);
	}

	/** A hold was written; undefined when it was removed. */
	wrote(holdId: string, next: HoldRecord | undefined, change: GuardChange<R>): void {
		const before = this.holds.get(holdId);
		this.marks.delete(holdId);
		if (next && next.givenBackAt === 0) {
			if (!before && (this.#known.has(holdId) || this.#over.has(holdId)))
				throw new Violation(`${this.name} admitted ${holdId} twice`);
			this.#known.add(holdId);
			this.holds.set(holdId, next);
			if (!before) change.taken.set(holdId, next);
			return;
		}
		this.holds.delete(holdId);
		this.#over.add(holdId);
		if (before) change.returned.add(holdId);
		if (next) this.marks.set(holdId, next.givenBackAt);
	}

	/** All of a unit is known: `states` of its own record, `hasRecord` when the last of them is what it is now. */
	changed(change: GuardChange<R>, moment: number, wasLeased: (holdId: string) => boolean): void {
		const { states } = change;
		states.forEach((state, n) => {
			if (n > 0 && isDeleted(states[n - 1], state)) this.life += 1;
			if (n > 0 && isMade(states[n - 1], state)) this.since = moment;
		});
		this.record = there(states.at(-1));
		this.judge({ ...change, states: states.map(there) }, wasLeased);
	}

	/** Whether one is not what became of the other, but of the same name. */
	protected isOther(before: R | undefined, next: R | undefined): boolean {
		return !before || !next || before.createdAt !== next.createdAt;
	}

	protected abstract judge(change: GuardChange<R>, wasLeased: (holdId: string) => boolean): void;

	/** Whether it would admit an execution, as far as a watcher can tell. */
	abstract hasRoom(execution: ExecutionRecord): boolean;
}

const there = <R extends GuardRecord>(record: R | undefined): R | undefined =>
	record && record.removeAt === 0 ? record : undefined;

const isDeleted = (before: GuardRecord | undefined, next: GuardRecord | undefined): boolean =>
	there(before) !== undefined && there(next) === undefined;

const isMade = (before: GuardRecord | undefined, next: GuardRecord | undefined): boolean =>
	there(before) === undefined && there(next) !== undefined;
