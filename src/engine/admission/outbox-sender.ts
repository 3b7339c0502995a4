import type { Clock } from "../../contract/clock.ts";
import { guardText } from "../../kernel/admission/guards.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import { type GuardName, slotOfGuard } from "../../kernel/records/guard.ts";
import { OUTBOX_PREFIX, type OutboxRecord } from "../../kernel/records/outbox.ts";
import type { Key } from "../../kernel/records/record.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import type { UnitDraft } from "../partition/unit-draft.ts";

/** A message that was left for a budget or quota. */
export interface Letter {
	key: Key<OutboxRecord>;
	record: OutboxRecord;
}

const LETTERS_PER_COMMAND = 100;

/**
 * Takes messages that executions left for budgets and quotas where they are meant for, and then removes them. What this
 * engine left goes at once, all that is there together; for what is left after that, timers call.
 */
export class OutboxSender {
	readonly #runnerOf: (slot: number) => PartitionRunner;
	readonly #clock: Clock;
	#left: Letter[] = [];
	#underWay = 0;

	constructor(runnerOf: (slot: number) => PartitionRunner, clock: Clock) {
		this.#runnerOf = runnerOf;
		this.#clock = clock;
	}

	get idle(): boolean {
		return this.#left.length === 0 && this.#underWay === 0;
	}

	/** A unit was committed here, and may have left messages. */
	committed({ written }: UnitDraft): void {
		for (const { key, record, before } of written) {
			// One that stood there before is called for by its timer.
			if (!key.startsWith(OUTBOX_PREFIX) || !record || before.length > 0) continue;
			if (this.#left.length === 0) this.#clock.defer(() => void this.#sendLeft());
			this.#left.push({ key, record: record as OutboxRecord });
		}
	}

	/** Resolves when all have arrived and are removed; fails if one has not. */
	async send(letters: readonly Letter[]): Promise<void> {
		const byGuard = new Map<string, { guard: GuardName; letters: Letter[] }>();
		for (const letter of letters) {
			const { kind, namespace, id } = letter.record;
			const guard = { kind, namespace, id };
			const name = guardText(guard);
			const group = byGuard.get(name);
			if (group) group.letters.push(letter);
			else byGuard.set(name, { guard, letters: [letter] });
		}
		await Promise.all([...byGuard.values()].map((group) => this.#deliver(group.guard, group.letters)));
	}

	async #sendLeft(): Promise<void> {
		const letters = this.#left;
		this.#left = [];
		this.#underWay += 1;
		// What does not arrive is sent again when its time comes.
		await this.send(letters).catch(() => {});
		this.#underWay -= 1;
	}

	async #deliver(guard: GuardName, letters: readonly Letter[]): Promise<void> {
		for (let n = 0; n < letters.length; n += LETTERS_PER_COMMAND) {
			const some = letters.slice(n, n + LETTERS_PER_COMMAND);
			const messages = some.map(({ record }) => ({
				executionId: record.executionId,
				holdId: record.holdId,
				message: record.message,
			}));
			const outcome = await this.#runnerOf(slotOfGuard(guard)).run(
				{ op: "takeBack", guard, messages },
				PARTITION_PATIENCE_MS,
			);
			if (!outcome.ok) throw new Error(outcome.code);
			await this.#remove(some);
		}
	}

	async #remove(letters: readonly Letter[]): Promise<void> {
		const byRunner = new Map<PartitionRunner, Key<OutboxRecord>[]>();
		for (const { key, record } of letters) {
			const runner = this.#runnerOf(trustedSlot(record.executionId));
			const keys = byRunner.get(runner);
			if (keys) keys.push(key);
			else byRunner.set(runner, [key]);
		}
		await Promise.all([...byRunner].map(([runner, keys]) => runner.run({ op: "sent", keys }, PARTITION_PATIENCE_MS)));
	}
}
