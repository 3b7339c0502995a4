import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { guardText } from "../../kernel/admission/guards.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { budgetKey } from "../../kernel/records/budget.ts";
import { type GuardName, type GuardRecord, isGone, slotOfGuard } from "../../kernel/records/guard.ts";
import { quotaKey } from "../../kernel/records/quota.ts";
import type { CreateCommand } from "../../kernel/rules/create.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { corruptRecord } from "../partition/unreadable.ts";

export interface GuardDirectoryOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
}

/** How long something that was there is taken to be there. */
const REMEMBERED_MS = 1000;
const MOST_REMEMBERED = 10_000;

/** What is there, by `guardText`, and what cannot be told of. */
type Answers = ReadonlyMap<string, "there" | FlowFabricError>;

/** What is asked of one partition together. */
interface Question {
	keys: Map<string, string>;
	answer: Promise<Answers>;
}

/**
 * Knows which budgets and quotas there are, so that nothing is submitted under one that is not. Submits that come together
 * are one question to each partition, and a yes holds for a second.
 */
export class GuardDirectory {
	readonly #options: GuardDirectoryOptions;
	/** Until when each is taken to be there. */
	readonly #known = new Map<string, number>();
	readonly #open = new Map<PartitionRunner, Question>();

	constructor(options: GuardDirectoryOptions) {
		this.#options = options;
	}

	/** Undefined when all that a create names is known to be there; else resolves when it is, or throws. */
	check({
		namespace,
		budgets,
		quotas,
	}: Pick<CreateCommand, "namespace" | "budgets" | "quotas">): Promise<void> | undefined {
		if (budgets === undefined && quotas === undefined) return undefined;
		const guards: GuardName[] = [];
		for (const id of budgets ?? []) guards.push({ kind: "budget", namespace, id });
		for (const id of quotas ?? []) guards.push({ kind: "quota", namespace, id });
		const now = this.#options.clock.monotonic();
		const unknown = guards.filter((guard) => (this.#known.get(guardText(guard)) ?? 0) <= now);
		return unknown.length === 0 ? undefined : this.#find(unknown);
	}

	/** It was deleted here. */
	forget(guard: GuardName): void {
		this.#known.delete(guardText(guard));
	}

	async #find(guards: readonly GuardName[]): Promise<void> {
		const answers = await Promise.all(guards.map((guard) => this.#ask(guard)));
		guards.forEach((guard, n) => {
			const answer = answers[n]?.get(guardText(guard));
			if (answer === undefined) throw notFound(guard);
			if (answer !== "there") throw answer;
		});
	}

	#ask(guard: GuardName): Promise<Answers> {
		const { runners } = this.#options;
		const runner = runners[slotOfGuard(guard) % runners.length] as PartitionRunner;
		let question = this.#open.get(runner);
		if (!question) {
			const keys = new Map<string, string>();
			question = { keys, answer: this.#answer(runner, keys) };
			this.#open.set(runner, question);
		}
		question.keys.set(keyOf(guard), guardText(guard));
		return question.answer;
	}

	async #answer(runner: PartitionRunner, keys: ReadonlyMap<string, string>): Promise<Answers> {
		const { clock, kernel } = this.#options;
		await new Promise<void>((resolve) => clock.defer(resolve));
		this.#open.delete(runner);
		const { records } = await runner.ask((store, partition) => store.read(partition, [...keys.keys()]));
		const answers = new Map<string, "there" | FlowFabricError>();
		const until = clock.monotonic() + REMEMBERED_MS;
		if (this.#known.size + records.length > MOST_REMEMBERED) this.#known.clear();
		for (const { key, version, doc } of records) {
			const text = keys.get(key);
			if (version === 0 || text === undefined) continue;
			try {
				if (isGone(kernel.decode(key, doc) as GuardRecord)) continue;
				answers.set(text, "there");
				this.#known.set(text, until);
			} catch (error) {
				answers.set(text, corruptRecord(key, error));
			}
		}
		return answers;
	}
}

export const keyOf = ({ kind, namespace, id }: GuardName): string =>
	kind === "budget" ? budgetKey(namespace, id) : quotaKey(namespace, id);

export const notFound = ({ kind, id }: GuardName): FlowFabricError =>
	kind === "budget"
		? new FlowFabricError("budget_not_found", { message: `no such budget: ${id}`, details: { budget: id } })
		: new FlowFabricError("quota_not_found", { message: `no such quota: ${id}`, details: { quota: id } });
