import { describe, expect, it } from "vitest";
import { isMarked, marked, unmarked } from "../../src/kernel/children/marks.ts";
import type { CommandOf, OutcomeOf } from "../../src/kernel/kernel.ts";
import { childrenQueue, DUE_QUEUE } from "../../src/kernel/placement.ts";
import { executionKey } from "../../src/kernel/records/execution.ts";
import { CHILDREN_PER_PAGE, familyKey, MAX_CHILDREN } from "../../src/kernel/records/family.ts";
import { publicState } from "../../src/kernel/state.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;
const idOf = (n: number) => `ex_${String(n).padStart(32, "0")}_7`;
const PARENT = idOf(0);

const work = (executionId: string, lane = "kids"): CommandOf<"create"> => ({
	op: "create",
	executionId,
	kind: "job",
	namespace: "default",
	lane,
	priority: 0,
	policy: {},
	input: null,
	createdBy: "me",
	retentionMs: 1000,
	actor: "me",
});

type Fence = { leaseId: string; epoch: number };

/** A parent that is held, and words for what is done to it and its children. */
class Family {
	readonly partition = new MapPartition();
	fence: Fence;
	#leases = 0;
	#made = 0;

	constructor() {
		this.partition.run(work(PARENT, "default"), NOW);
		this.fence = this.claim("default").fence;
	}

	claim(lane: string): { id: string; fence: Fence } {
		const wanted = { namespace: "default", lane, kind: "job", requiredCapabilities: [] };
		const outcome = this.partition.run(claimOne(wanted, ++this.#leases), NOW);
		const [record] = outcome.ok ? outcome.executions : [];
		if (!record?.lease) throw new Error("nothing was claimed");
		return { id: record.id, fence: { leaseId: record.lease.id, epoch: record.lease.epoch } };
	}

	add(count: number): OutcomeOf<"addChildren"> {
		const items = Array.from({ length: count }, () => {
			const n = ++this.#made;
			return { key: `c${n}`, work: work(idOf(n)) };
		});
		return this.partition.run({ op: "addChildren", executionId: PARENT, fence: this.fence, items }, NOW);
	}

	wait(mode: "all" | "any" | "first_success", numbers?: number[]): OutcomeOf<"waitChildren"> {
		const command = { op: "waitChildren", executionId: PARENT, fence: this.fence, mode } as const;
		return this.partition.run(numbers ? { ...command, numbers } : command, NOW);
	}

	/** Ends the child that is next. */
	end(): string {
		const { id, fence } = this.claim("kids");
		this.partition.run({ op: "complete", executionId: id, fence, result: null }, NOW);
		return id;
	}

	complete(): void {
		this.partition.run({ op: "complete", executionId: PARENT, fence: this.fence, result: null }, NOW);
	}

	/** Does all that is due; how many steps that took. */
	tickAll(now = NOW): number {
		for (let steps = 0; ; steps++) {
			const [first] = this.partition.queue(DUE_QUEUE);
			if (!first || first.score > now) return steps;
			this.partition.run({ op: "tick", key: first.key, writableSince: 0, jitter: 0 }, now);
		}
	}

	family() {
		return this.partition.read(familyKey(PARENT, 0));
	}

	state(id = PARENT) {
		const record = this.partition.read(executionKey(id));
		return record && publicState(record);
	}
}

describe("marks", () => {
	it("are set and taken away one by one, wherever they are", () => {
		let marks = "";
		const numbers = [1, 6, 7, 64, 65, 9_999, 10_000];
		for (const number of numbers) marks = marked(marks, number);
		const all = () => Array.from({ length: 10_001 }, (_, n) => n + 1).filter((number) => isMarked(marks, number));
		expect(all()).toEqual(numbers);
		for (const number of [6, 10_000]) marks = unmarked(marks, number);
		expect(all()).toEqual([1, 7, 64, 65, 9_999]);
		expect(marks.length).toBeLessThan(1700);
	});
});

describe("children", () => {
	it("a parent's record does not grow with them, and is not written when they end", () => {
		const family = new Family();
		family.add(32);
		const doc = family.partition.docs.get(PARENT);
		family.add(32);
		family.end();
		expect(family.partition.docs.get(PARENT)).toBe(doc);
		expect(family.family()).toMatchObject({ count: 64, ended: 1 });
	});

	it("work without children and parents has nothing of it in its document", () => {
		const partition = new MapPartition();
		partition.run(work(PARENT), NOW);
		expect(partition.docs.get(PARENT)).not.toMatch(/child|famil|parts/);
	});

	it("stand in a queue of their parent, whatever becomes of them", () => {
		const family = new Family();
		family.add(3);
		family.end();
		family.complete();
		family.tickAll();
		expect(family.partition.queue(childrenQueue(PARENT)).map(({ key }) => key)).toEqual([1, 2, 3].map(idOf));
	});

	it("are so many at most, and a key that is known is answered all the same", () => {
		const family = new Family();
		for (let made = 0; made < MAX_CHILDREN; made += 50) family.add(50);
		const added = family.add(1);
		expect(added).toMatchObject({ ok: true, children: [{ ok: false, code: "too_many_children" }] });
		const again = [{ key: "c1", work: work(idOf(99_999)) }];
		const { partition, fence } = family;
		expect(partition.run({ op: "addChildren", executionId: PARENT, fence, items: again }, NOW)).toMatchObject({
			children: [{ id: idOf(1), created: false }],
		});
		expect(family.wait("all")).toEqual({ ok: true, publicState: "waiting_children" });
	});

	it("looking for a child makes none", () => {
		const { partition, fence } = new Family();
		const items = [{ key: "c1", work: null }];
		const outcome = partition.run({ op: "addChildren", executionId: PARENT, fence, items }, NOW);
		expect(outcome).toEqual({ ok: true, children: [null] });
		expect(partition.docs.size).toBe(1);
	});

	it("let their parent go on in the very step in which the last of them ends", () => {
		const family = new Family();
		family.add(3);
		family.wait("all", [1, 3]);
		family.end();
		family.end();
		expect(family.state()).toBe("waiting_children");
		const before = family.partition.events.length;
		family.end();
		expect(family.state()).toBe("waiting");
		const told = family.partition.events.slice(before + 1).map(({ type, executionId }) => [type, executionId]);
		expect(told).toEqual([
			["completed", idOf(3)],
			["eligible", PARENT],
		]);
		expect(family.family()?.wait).not.toHaveProperty("isOpen");
	});

	it("of a parent that ended are cancelled a page at a time", () => {
		const family = new Family();
		for (let n = 0; n < 5; n++) family.add(30);
		family.complete();
		expect(family.state(idOf(1))).toBe("waiting");
		expect(family.tickAll()).toBe(Math.ceil(150 / CHILDREN_PER_PAGE));
		expect(family.family()).toMatchObject({ count: 150, ended: 150, cancelFrom: 0, cancelTo: 0 });
		for (let n = 1; n <= 150; n++) expect(family.state(idOf(n))).toBe("cancelled");
	});

	it("that a replay with keepSteps adds are not cancelled for the end before it", () => {
		const family = new Family();
		for (let n = 0; n < 3; n++) family.add(30);
		family.complete();
		family.partition.run({ op: "replay", executionId: PARENT, keepSteps: true, actor: "me" }, NOW);
		family.fence = family.claim("default").fence;
		family.add(20);
		family.tickAll();
		expect(family.family()).toMatchObject({ count: 110, ended: 90 });
	});

	it("leave nothing behind when all is removed", () => {
		const family = new Family();
		for (let n = 0; n < 5; n++) family.add(30);
		family.complete();
		family.tickAll();
		family.partition.run({ op: "replay", executionId: PARENT, actor: "me" }, NOW);
		family.fence = family.claim("default").fence;
		family.add(10);
		family.complete();
		family.tickAll(NOW + 1000);
		family.tickAll(NOW + 2000);
		expect([...family.partition.docs.keys()]).toEqual([]);
	});
});
