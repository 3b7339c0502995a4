import { describe, expect, it } from "vitest";
import { makeId } from "../../src/kernel/ids.ts";
import { eligibleQueue } from "../../src/kernel/placement.ts";
import { attemptKey } from "../../src/kernel/records/attempt.ts";
import { claimRequestKey } from "../../src/kernel/records/claim-request.ts";
import { executionKey } from "../../src/kernel/records/execution.ts";
import { stepKey } from "../../src/kernel/records/step.ts";
import { workerKey } from "../../src/kernel/records/worker.ts";
import { withLaterFields } from "../later-fields.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;
const LATER = "fromLaterVersion";
const uuid = (n: number): string => n.toString(16).padStart(32, "0");
const lane = { namespace: "default", lane: "default" };
const QUEUE = eligibleQueue({ ...lane, kind: "job", requiredCapabilities: [] });

function stage() {
	const partition = new MapPartition();
	let minted = 0;
	const create = (): string => {
		const executionId = makeId("ex", uuid(++minted), 7);
		const fields = { ...lane, executionId, kind: "job", priority: 0, policy: {}, input: null };
		partition.run({ op: "create", ...fields, createdBy: "ops", retentionMs: 1000, actor: "ops" }, NOW);
		return executionId;
	};
	const request = { key: claimRequestKey("default", "w-1", "r"), call: "c" };
	const claim = () => {
		const worker = { workerId: "w", instanceId: "w-1", capabilities: [], actor: "w-1" };
		const room = { max: 1, inputBudget: 1e9, atLeastOne: true, leaseMs: 1000 };
		const leaseUuids = [uuid(++minted)];
		partition.run({ op: "claim", ...lane, ...worker, ...room, queues: [QUEUE], leaseUuids, request }, NOW);
	};
	const claimed = () => {
		const executionId = create();
		claim();
		const { lease } = partition.read(executionKey(executionId)) ?? {};
		return { executionId, fence: { leaseId: lease?.id ?? "", epoch: lease?.epoch ?? 0 } };
	};
	const rewriteLater = (key: string) => partition.docs.set(key, withLaterFields(partition.docs.get(key) ?? "{}"));
	const doc = (key: string) => JSON.parse(partition.docs.get(key) ?? "{}");
	return { partition, create, claim, claimed, request, rewriteLater, doc };
}

describe("fields of a later version", () => {
	it("stay when a call takes more under its request", () => {
		const { create, claim, request, rewriteLater, doc } = stage();
		create();
		create();
		claim();
		rewriteLater(request.key);
		claim();
		expect(doc(request.key).leases).toHaveLength(2);
		expect(doc(request.key)).toHaveProperty(LATER);
	});

	it("stay when a worker's progress is told piece by piece", () => {
		const { partition, claimed, rewriteLater, doc } = stage();
		const { executionId, fence } = claimed();
		partition.run({ op: "progress", executionId, fence, progress: { percent: 5 } }, NOW);
		rewriteLater(executionId);
		partition.run({ op: "progress", executionId, fence, progress: { message: "half" } }, NOW);
		expect(doc(executionId).progress).toMatchObject({ percent: 5, message: "half", [LATER]: {} });
	});

	it("go with an attempt into its own record, in the place they had", () => {
		const { partition, create, claim, rewriteLater, doc } = stage();
		const executionId = create();
		claim();
		rewriteLater(executionId);
		partition.run({ op: "revokeLease", executionId, actor: "ops" }, NOW);
		claim();
		expect(doc(attemptKey(executionId, 0)).attempt).toMatchObject({ index: 0, [LATER]: {} });
		expect(doc(executionId).attempt).not.toHaveProperty(LATER);
	});

	it("stay when a step that failed is recorded anew", () => {
		const { partition, claimed, rewriteLater, doc } = stage();
		const { executionId, fence } = claimed();
		const step = { op: "recordStep" as const, executionId, fence, name: "draft", index: 0, result: null };
		const key = stepKey(executionId, 0, step.name, step.index);
		const error = { reason: "the model is busy", category: "error" };
		partition.run({ ...step, error, startedAt: NOW }, NOW);
		rewriteLater(key);
		partition.run({ ...step, startedAt: NOW + 1 }, NOW + 2);
		expect(doc(key)).not.toHaveProperty("error");
		expect(doc(key)).toHaveProperty(LATER);
	});

	it("stay when a worker says that it is still there", () => {
		const { partition, rewriteLater, doc } = stage();
		const key = workerKey("default", "w-1");
		const offer = { workerId: "w", instanceId: "w-1", capabilities: ["gpu"], kinds: null, lanes: ["default"] };
		partition.run({ op: "registerWorker", namespace: "default", ...offer, ttlMs: 1000 }, NOW);
		rewriteLater(key);
		partition.run({ op: "beat", namespace: "default", beats: [offer] }, NOW + 1);
		partition.run({ op: "registerWorker", namespace: "default", ...offer, ttlMs: 1000 }, NOW + 2);
		expect(doc(key)).toHaveProperty(LATER);
	});
});
