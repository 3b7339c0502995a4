import { describe, expect, it } from "vitest";
import type { CommandOf } from "../../src/kernel/kernel.ts";
import { stepBlobKey } from "../../src/kernel/payload.ts";
import { stepsQueue } from "../../src/kernel/placement.ts";
import { executionKey } from "../../src/kernel/records/execution.ts";
import { MAX_STEP_BYTES, stepKey, stepSubject } from "../../src/kernel/records/step.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;
const ID = `ex_${"0".repeat(31)}1_7`;
const MIB = 1024 * 1024;
const CLASS = { namespace: "default", lane: "default", kind: "job", requiredCapabilities: [] };

/** One execution, and words for what is done to it. */
class Job {
	readonly partition = new MapPartition();
	fence = { leaseId: "", epoch: 0 };
	#leases = 0;

	constructor() {
		this.partition.run(
			{
				op: "create",
				executionId: ID,
				kind: "job",
				namespace: "default",
				lane: "default",
				priority: 0,
				policy: {},
				input: null,
				createdBy: "me",
				retentionMs: 1000,
				actor: "me",
			},
			NOW,
		);
		this.claim();
	}

	claim(): void {
		const outcome = this.partition.run(claimOne(CLASS, ++this.#leases), NOW);
		const lease = outcome.ok ? outcome.executions[0]?.lease : undefined;
		if (!lease) throw new Error("nothing was claimed");
		this.fence = { leaseId: lease.id, epoch: lease.epoch };
	}

	record(fields: Partial<CommandOf<"recordStep">> = {}, at = NOW) {
		return this.partition.run(
			{
				op: "recordStep",
				executionId: ID,
				fence: this.fence,
				name: "a",
				index: 0,
				result: null,
				startedAt: NOW,
				...fields,
			},
			at,
		);
	}

	/** Records a step whose result is so large that it is kept apart. */
	recordLarge(name: string, size: number) {
		const key = stepBlobKey(ID, this.fence.epoch, name, 0);
		return this.record({ name, result: { size, ref: key }, resultBlob: { key, bytes: new Uint8Array() } });
	}

	complete(): void {
		this.partition.run({ op: "complete", executionId: ID, fence: this.fence, result: null }, NOW);
	}

	replay(keepSteps: boolean): void {
		this.partition.run({ op: "replay", executionId: ID, actor: "me", keepSteps }, NOW);
		this.claim();
	}

	get parts() {
		return this.partition.read(executionKey(ID))?.parts;
	}

	step(name: string, generation = 0) {
		return this.partition.read(stepKey(ID, generation, name, 0));
	}

	/** How many commits it took to remove it. */
	remove(): number {
		this.partition.run({ op: "delete", executionId: ID, actor: "me" }, NOW);
		let steps = 1;
		while (this.partition.docs.has(ID) && steps < 1000) {
			this.partition.run({ op: "tick", key: ID, writableSince: 0, jitter: 0 }, NOW + steps);
			steps += 1;
		}
		return steps;
	}
}

describe("recorded steps", () => {
	it("a key leads back to its execution, whatever the step is called", () => {
		for (const name of ["a", "1.2/3", "x/p9.9.y", "."]) {
			expect(stepSubject(stepKey(ID, 12, name, 3))).toEqual({ executionId: ID, generation: 12 });
		}
	});

	it("stand in the order they were made, each under its name and index", () => {
		const job = new Job();
		const steps = [
			{ name: "b", index: 0 },
			{ name: "a", index: 1 },
			{ name: "a", index: 0 },
		];
		for (const step of steps) job.record(step);
		expect(job.partition.queue(stepsQueue(ID, 0))).toEqual(
			steps.map(({ name, index }, n) => ({ key: stepKey(ID, 0, name, index), score: n + 1 })),
		);
		expect(job.parts).toMatchObject({ steps: 3 });
	});

	it("a result is final, even against another one", () => {
		const job = new Job();
		const first = job.record({ result: { size: 1, text: "1" } }, NOW + 5);
		const before = new Map(job.partition.docs);
		expect(job.record({ result: { size: 1, text: "2" } }, NOW + 9)).toEqual(first);
		expect(job.record({ error: { reason: "late", category: "error" } }, NOW + 9)).toEqual(first);
		expect(job.partition.docs).toEqual(before);
	});

	it("a failure is recorded anew, in its place; the same one told twice is one", () => {
		const job = new Job();
		const failure = { error: { reason: "no", category: "net" }, startedAt: NOW - 4 };
		const first = job.record(failure, NOW + 1);
		job.record({ name: "b" });
		expect(job.record(failure, NOW + 7)).toEqual(first);
		expect(job.record({ ...failure, startedAt: NOW + 8 }, NOW + 9)).toMatchObject({
			step: { number: 1, recordedAt: NOW + 9, durationMs: 1, error: { reason: "no" } },
		});
		expect(job.record({ result: { size: 100, text: "…" } }, NOW + 20)).toMatchObject({
			step: { number: 1, error: null, result: { size: 100 } },
		});
		expect(job.parts).toMatchObject({ steps: 2, stepBytes: 164 });
	});

	it("a worker whose clock is ahead has taken no time, not less than none", () => {
		const job = new Job();
		expect(job.record({ startedAt: NOW + 5000 })).toMatchObject({ step: { durationMs: 0 } });
	});

	it("need the live lease", () => {
		const job = new Job();
		const { fence, ...without } = { fence: undefined };
		expect(job.record({ ...without, fence } as never)).toMatchObject({ code: "fence_required" });
		expect(job.record({ fence: { ...job.fence, epoch: 9 } })).toMatchObject({ code: "stale_lease" });
		job.complete();
		expect(job.record()).toMatchObject({ code: "execution_not_active" });
		expect(job.parts).toBeNull();
	});

	it("make no event", () => {
		const job = new Job();
		const { length } = job.partition.events;
		job.record();
		expect(job.partition.events).toHaveLength(length);
	});

	it("may be 64 MiB together, and are refused by name beyond", () => {
		const job = new Job();
		for (let n = 0; n < 64; n++) expect(job.recordLarge(`step ${n}`, MIB)).toMatchObject({ ok: true });
		expect(job.record({ name: "one more" })).toMatchObject({
			code: "steps_too_large",
			details: { limit: MAX_STEP_BYTES, size: MAX_STEP_BYTES + 64 },
		});
		expect(job.record({ name: "step 3" })).toMatchObject({ ok: true, step: { number: 4 } });
		expect(job.parts).toMatchObject({ steps: 64, stepBytes: MAX_STEP_BYTES });
	});

	it("count something though they returned nothing, so that there is an end to them", () => {
		const job = new Job();
		job.record();
		job.record({ name: "b", error: { reason: "no", category: "error" } });
		expect(job.parts).toMatchObject({ steps: 2, stepBytes: 128 });
	});
});

describe("a replay", () => {
	it("starts without steps, and counts them anew", () => {
		const job = new Job();
		job.recordLarge("a", MIB);
		job.complete();
		job.replay(false);
		expect(job.parts).toMatchObject({ generation: 1, steps: 0, stepBytes: 0 });
		expect(job.record({ result: { size: 1, text: "2" } })).toMatchObject({ step: { number: 1, attempt: 1 } });
		expect(job.step("a")).toMatchObject({ result: { size: MIB } });
		expect(job.step("a", 1)).toMatchObject({ result: { text: "2" } });
	});

	it("with keepSteps goes on with what is recorded", () => {
		const job = new Job();
		job.record({ result: { size: 1, text: "1" } });
		job.complete();
		job.replay(true);
		expect(job.parts).toMatchObject({ generation: 0, steps: 1 });
		expect(job.record({ result: { size: 1, text: "2" } })).toMatchObject({
			step: { attempt: 0, result: { text: "1" } },
		});
	});

	it("of work without steps leaves nothing to remember", () => {
		const job = new Job();
		job.complete();
		job.replay(false);
		expect(job.parts).toBeNull();
	});
});

describe("removing an execution", () => {
	it("takes the steps of all generations and their bytes, some at a time", () => {
		const job = new Job();
		for (let n = 0; n < 250; n++) job.recordLarge(`step ${n}`, 5000);
		job.complete();
		job.replay(false);
		for (let n = 0; n < 20; n++) job.recordLarge(`step ${n}`, 5000);
		job.complete();
		expect(job.partition.blobs.size).toBe(270);
		expect(job.remove()).toBe(4);
		expect([...job.partition.docs.keys()]).toEqual([]);
		expect([...job.partition.blobs]).toEqual([]);
	});

	it("takes one step where there is little", () => {
		const job = new Job();
		job.recordLarge("a", 5000);
		job.complete();
		expect(job.remove()).toBe(1);
		expect(job.partition.docs.size + job.partition.blobs.size).toBe(0);
	});
});
