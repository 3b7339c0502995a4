import { expect, it } from "vitest";
import { isMarked } from "../../src/kernel/children/marks.ts";
import type { CommandOf } from "../../src/kernel/kernel.ts";
import { DUE_QUEUE } from "../../src/kernel/placement.ts";
import { type ExecutionRecord, executionKey } from "../../src/kernel/records/execution.ts";
import { familyDefaults, familyKey, WAIT_MODES, type WaitMode } from "../../src/kernel/records/family.ts";
import { hasEnded, publicState } from "../../src/kernel/state.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

/*
 * A parent and its children, to whom anything happens in any order. What is remembered of them is held against what a look
 * at every one of them says.
 */

const NOW = 1_700_000_000_000;
const SEEDS = 100;
const MOVES = 100;
const idOf = (n: number) => `ex_${String(n).padStart(32, "0")}_7`;
const PARENT = idOf(0);

/** Each in a lane of its own, so that whoever is meant is claimed. */
const work = (executionId: string): CommandOf<"create"> => ({
	op: "create",
	executionId,
	kind: "job",
	namespace: "default",
	lane: executionId,
	priority: 0,
	policy: { maxReplays: 1000 },
	input: null,
	createdBy: "me",
	retentionMs: 0,
	actor: "me",
});

class Play {
	readonly #partition = new MapPartition();
	#state: number;
	/** Children of the generation that counts, in the order they were made. */
	#children: string[] = [];
	readonly #left = new Set<string>();
	#generation = 0;
	/** What the parent waits for. */
	#wait: { mode: WaitMode; ids: string[] } | undefined;
	#made = 0;
	#leases = 0;

	constructor(seed: number) {
		this.#state = seed;
		this.#partition.run(work(PARENT), NOW);
	}

	#below(count: number): number {
		this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((this.#state / 2 ** 32) * count);
	}

	#child(): string | undefined {
		return this.#children[this.#below(this.#children.length)];
	}

	#read(id: string): ExecutionRecord {
		const record = this.#partition.read(executionKey(id));
		if (!record) throw new Error(`${id} is gone`);
		return record;
	}

	/** The fence of something, claimed if it has to be; undefined when it cannot be. */
	#held(id: string) {
		const { namespace, lane, kind, requiredCapabilities } = this.#read(id);
		this.#partition.run(claimOne({ namespace, lane, kind, requiredCapabilities }, ++this.#leases), NOW);
		const { lease } = this.#read(id);
		return lease ? { leaseId: lease.id, epoch: lease.epoch } : undefined;
	}

	#moves: (() => void)[] = [
		() => {
			const fence = this.#held(PARENT);
			if (!fence) return;
			const items = Array.from({ length: 1 + this.#below(3) }, () => {
				const executionId = idOf(++this.#made);
				const isLeft = this.#below(4) === 0;
				this.#children.push(executionId);
				if (isLeft) this.#left.add(executionId);
				const item = { key: executionId, work: work(executionId) };
				return isLeft ? { ...item, isLeft: true as const } : item;
			});
			this.#partition.run({ op: "addChildren", executionId: PARENT, fence, items }, NOW);
		},
		() => {
			const fence = this.#held(PARENT);
			if (!fence) return;
			const mode = WAIT_MODES[this.#below(3)] ?? "all";
			const numbers = this.#children.map((_, n) => n + 1).filter(() => this.#below(2) === 0);
			const some = this.#below(2) === 0 && numbers.length > 0 ? { numbers } : undefined;
			this.#partition.run({ op: "waitChildren", executionId: PARENT, fence, mode, ...some }, NOW);
			const ids = some ? numbers.map((number) => this.#children[number - 1] ?? "") : [...this.#children];
			this.#wait = { mode, ids };
		},
		...Array.from({ length: 4 }, () => () => {
			const id = this.#child();
			const fence = id && this.#held(id);
			if (id && fence) this.#partition.run({ op: "complete", executionId: id, fence, result: null }, NOW);
		}),
		() => {
			const executionId = this.#child();
			if (!executionId || hasEnded(this.#read(executionId))) return;
			this.#partition.run({ op: "cancel", executionId, mode: "force", graceMs: 0, actor: "me" }, NOW);
		},
		() => {
			const id = this.#child();
			// What was cancelled for the end of its parent would be once more if it ran before all of them are.
			if (!id || !hasEnded(this.#read(id)) || hasEnded(this.#read(PARENT))) return;
			this.#partition.run({ op: "replay", executionId: id, actor: "me" }, NOW);
		},
		() => {
			if (this.#below(3) > 0) return;
			const fence = this.#held(PARENT);
			if (fence) this.#partition.run({ op: "complete", executionId: PARENT, fence, result: null }, NOW);
			else if (!hasEnded(this.#read(PARENT)))
				this.#partition.run({ op: "cancel", executionId: PARENT, mode: "force", graceMs: 0, actor: "me" }, NOW);
			this.#wait = undefined;
			if (this.#below(2) === 0) this.#tickAll();
			if (this.#below(2) === 0) this.#expectCancelled();
			const keepSteps = this.#below(2) === 0;
			this.#partition.run({ op: "replay", executionId: PARENT, keepSteps, actor: "me" }, NOW);
			const { generation } = this.#read(PARENT).parts ?? { generation: this.#generation };
			if (generation === this.#generation) return;
			this.#generation = generation;
			this.#children = [];
		},
	];

	move(): void {
		this.#moves[this.#below(this.#moves.length)]?.();
		this.#check();
	}

	#tickAll(): void {
		for (;;) {
			const [first] = this.#partition.queue(DUE_QUEUE);
			if (!first || first.score > NOW) return;
			this.#partition.run({ op: "tick", key: first.key, writableSince: 0, jitter: 0 }, NOW);
		}
	}

	/** Nothing goes on that was not to be left, but for what runs and was asked to stop. */
	#expectCancelled(): void {
		this.#tickAll();
		for (const id of this.#children) {
			const record = this.#read(id);
			if (!this.#left.has(id) && !record.cancel) expect(hasEnded(record)).toBe(true);
		}
	}

	#check(): void {
		const family = this.#partition.read(familyKey(PARENT, this.#generation)) ?? familyDefaults;
		const ended = this.#children.map((id) => hasEnded(this.#read(id)));
		expect(family.count).toBe(this.#children.length);
		expect(family.ended).toBe(ended.filter(Boolean).length);
		for (const [n, isEnded] of ended.entries()) expect(isMarked(family.endedMarks, n + 1)).toBe(isEnded);
		if (publicState(this.#read(PARENT)) !== "waiting_children") return;
		const { mode = "all", ids = [] } = this.#wait ?? {};
		const outcomes = ids.map((id) => this.#read(id).terminalOutcome).filter((outcome) => outcome !== "none");
		const isOver =
			outcomes.length === ids.length ||
			(mode === "any" && outcomes.length > 0) ||
			(mode === "first_success" && outcomes.includes("success"));
		expect(isOver).toBe(false);
		expect(family.wait).toMatchObject({ mode, isOpen: true, total: ids.length, left: ids.length - outcomes.length });
	}
}

it("a parent waits exactly as long as it has to, whatever happens to its children and in whatever order", () => {
	for (let seed = 1; seed <= SEEDS; seed++) {
		const play = new Play(seed);
		for (let n = 0; n < MOVES; n++) play.move();
	}
});
