import { trustedSlot } from "../../kernel/ids.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { LedgerEntryRecord } from "../../kernel/records/budget.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type GuardKind, type GuardName, guardPartSubject } from "../../kernel/records/guard.ts";
import { type HoldRecord, holdSubject } from "../../kernel/records/hold.ts";
import type { TakeBackCommand } from "../../kernel/rules/reserve.ts";
import type { QueuePosition, StoredRecord } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import { PartitionRounds } from "../duties/partition-rounds.ts";
import type { Scanner } from "../duties/scanner.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";

export interface GuardReconcilerOptions {
	kind: GuardKind;
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	/** Whether scanners here may act for a namespace. */
	isOurs(namespace: string): boolean;
	/** Told what was put right. */
	onCorrected(corrections: readonly string[]): void;
}

const PAGE = 100;
const IN_FLIGHT = 16;
/** What was taken less long ago may be on its way to the execution, or back. */
const YOUNG_MS = 60_000;
/** Pages of one ledger in a pass; the next goes on behind them. */
const LEDGER_PAGES = 10;
/** How the names of ledgers begin. */
const LEDGERS = "ledger,";

type Message = TakeBackCommand["messages"][number];

/**
 * Holds what budgets and quotas have given against the executions they gave it to, and their sums against what is held. A
 * hold that no lease or grant is left for goes back; spending of executions that are gone joins what nobody in particular
 * spent. What cannot be read is left alone.
 */
export class GuardReconciler implements Scanner {
	readonly name: "budget_reconciler" | "quota_reconciler";
	readonly failure = "held slots and reservations could not be checked";
	readonly #options: GuardReconcilerOptions;
	readonly #rounds = new PartitionRounds(8);
	/** Where the next pass goes on in ledgers that were not gone through to their end. */
	readonly #ledgers = new Map<string, QueuePosition>();

	constructor(options: GuardReconcilerOptions) {
		this.#options = options;
		this.name = `${options.kind}_reconciler`;
	}

	async runOnce(own: readonly number[], changed: readonly number[]): Promise<number> {
		const { kind } = this.#options;
		const corrections: string[] = [];
		let joined = 0;
		const holding: number[] = [];
		for (const partition of this.#rounds.next(own, changed)) {
			const guards = await this.#guardsIn(partition, `holders,${kind},`);
			for (const guard of guards) await this.#reconcileHolds(partition, guard, corrections);
			const ledgers = kind === "budget" ? await this.#ledgersIn(partition) : [];
			for (const ledger of ledgers) joined += await this.#joinGone(partition, ledger);
			if (guards.length + ledgers.length > 0) holding.push(partition);
		}
		this.#rounds.found(holding);
		if (corrections.length > 0) this.#options.onCorrected(corrections);
		return corrections.length + joined;
	}

	async #guardsIn(partition: number, prefix: string): Promise<GuardName[]> {
		const { queues } = await this.#runner(partition).ask(
			(store, at) => store.queues(at, prefix),
			PARTITION_PATIENCE_MS,
		);
		const { kind, isOurs } = this.#options;
		return queues
			.map((queue) => ({ kind, ...nameOf(queue.slice(prefix.length)) }))
			.filter(({ namespace }) => isOurs(namespace));
	}

	async #reconcileHolds(partition: number, guard: GuardName, corrections: string[]): Promise<void> {
		const queue = `holders,${guard.kind},${guard.namespace},${guard.id}`;
		const runner = this.#runner(partition);
		let after: QueuePosition | undefined;
		do {
			const position = after;
			const { entries, time } = await runner.ask(
				(store, at) => store.first(at, queue, PAGE, position),
				PARTITION_PATIENCE_MS,
			);
			const old = entries.filter(({ score }) => score <= time - YOUNG_MS);
			const stored = await this.#read<HoldRecord>(
				partition,
				old.map(({ key }) => key),
			);
			const over = await this.#overOf(stored);
			if (over.length > 0) {
				await this.#takeBack(partition, guard, over);
				for (const { holdId, executionId } of over)
					corrections.push(`${guard.kind} ${guard.id}: ${holdId} of ${executionId} was over and is given back`);
			}
			// They stand in the order they came: behind a young one all are.
			after = old.length < PAGE ? undefined : entries.at(-1);
		} while (after);
		const outcome = await runner.run({ op: "recount", guard }, PARTITION_PATIENCE_MS);
		if (outcome.ok && outcome.corrected) corrections.push(outcome.corrected);
	}

	/** Holds that no execution has any more. */
	async #overOf(holds: ReadonlyMap<string, HoldRecord>): Promise<Message[]> {
		const wanted = [...holds].filter(([, { executionId, givenBackAt }]) => executionId !== "" && givenBackAt === 0);
		const executions = await this.#executions(wanted.map(([, { executionId }]) => executionId));
		return wanted.flatMap(([key, { executionId }]): Message[] => {
			const { holdId } = holdSubject(key);
			const execution = executions.get(executionId);
			if (execution === "unreadable" || execution?.hold?.id === holdId) return [];
			if (execution?.kept?.some((slot) => slot.holdId === holdId)) return [];
			return [{ executionId, holdId, message: "used" }];
		});
	}

	async #ledgersIn(partition: number): Promise<string[]> {
		const { queues } = await this.#runner(partition).ask(
			(store, at) => store.queues(at, LEDGERS),
			PARTITION_PATIENCE_MS,
		);
		return queues;
	}

	/**
	 * Joins what executions that are gone have spent. That is no correction: an execution tells the budgets that it names when
	 * it goes, but operators report spending of others too.
	 */
	async #joinGone(partition: number, queue: string): Promise<number> {
		const guard: GuardName = { kind: "budget", ...nameOf(queue.slice(LEDGERS.length)) };
		if (!this.#options.isOurs(guard.namespace)) return 0;
		let joined = 0;
		const name = `${partition} ${queue}`;
		let after = this.#ledgers.get(name);
		this.#ledgers.delete(name);
		for (let page = 0; page < LEDGER_PAGES; page++) {
			const position = after;
			const { entries } = await this.#runner(partition).ask(
				(store, at) => store.first(at, queue, PAGE, position),
				PARTITION_PATIENCE_MS,
			);
			const stored = await this.#read<LedgerEntryRecord>(
				partition,
				entries.map(({ key }) => key),
			);
			const spenders = [...stored.values()].flatMap(({ executionId }) => (executionId === "" ? [] : [executionId]));
			const executions = await this.#executions(spenders);
			const gone = spenders.filter((id) => executions.get(id) === undefined);
			if (gone.length > 0) {
				const messages = gone.map((executionId): Message => ({ executionId, holdId: "", message: "removed" }));
				await this.#takeBack(partition, guard, messages);
				joined += gone.length;
			}
			if (entries.length < PAGE) return joined;
			after = entries.at(-1);
		}
		if (after) this.#ledgers.set(name, after);
		return joined;
	}

	async #takeBack(partition: number, guard: GuardName, messages: readonly Message[]): Promise<void> {
		const outcome = await this.#runner(partition).run({ op: "takeBack", guard, messages }, PARTITION_PATIENCE_MS);
		if (!outcome.ok) throw new Error(outcome.code);
	}

	/** Executions by id; those that are not there are left out. */
	async #executions(ids: readonly string[]): Promise<Map<string, ExecutionRecord | "unreadable">> {
		const { length } = this.#options.runners;
		const found = new Map<string, ExecutionRecord | "unreadable">();
		const byPartition = new Map<number, string[]>();
		for (const id of new Set(ids)) {
			const partition = trustedSlot(id) % length;
			byPartition.set(partition, [...(byPartition.get(partition) ?? []), id]);
		}
		await mapBounded([...byPartition], IN_FLIGHT, async ([partition, keys]) => {
			for (const [key, record] of await this.#read<ExecutionRecord>(partition, keys, (each) =>
				found.set(each, "unreadable"),
			))
				found.set(key, record);
		});
		return found;
	}

	async #read<R extends object>(
		partition: number,
		keys: string[],
		onUnreadable: (key: string) => void = () => {},
	): Promise<Map<string, R>> {
		if (keys.length === 0) return new Map();
		const { records } = await this.#runner(partition).ask((store, at) => store.read(at, keys), PARTITION_PATIENCE_MS);
		const found = new Map<string, R>();
		for (const stored of records) if (stored.version > 0) this.#decode(stored, found, onUnreadable);
		return found;
	}

	#decode<R extends object>(
		{ key, doc }: StoredRecord,
		into: Map<string, R>,
		onUnreadable: (key: string) => void,
	): void {
		try {
			into.set(key, this.#options.kernel.decode(key, doc) as R);
		} catch {
			onUnreadable(key);
		}
	}

	#runner(partition: number): PartitionRunner {
		return this.#options.runners[partition] as PartitionRunner;
	}
}

function nameOf(subject: string): { namespace: string; id: string } {
	const { namespace, id } = guardPartSubject(subject);
	return { namespace, id };
}
