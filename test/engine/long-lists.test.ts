import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { makeId } from "../../src/kernel/ids.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** More than arguments of one call can be. */
const CALLS = 150;
const EACH = 1000;

const unknown = (call: number) =>
	Array.from({ length: EACH }, (_, n) => ({
		executionId: makeId("ex", (call * EACH + n).toString(16).padStart(32, "0"), 5),
		leaseId: "le_1",
		epoch: 1,
	}));

async function stage() {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const read = store.read.bind(store);
	let mostRead = 0;
	store.read = (partition, keys) => {
		mostRead = Math.max(mostRead, keys.length);
		return read(partition, keys);
	};
	const engine = new Engine({ store, clock });
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 1000 });
	await engine.start();
	return { backend, mostRead: () => mostRead };
}

it(`${CALLS} renewals at once of ${EACH} leases nobody has are all answered`, async () => {
	const { backend, mostRead } = await stage();
	const answers = await Promise.all(
		Array.from({ length: CALLS }, (_, call) => backend.leases.renew({ leases: unknown(call) })),
	);
	expect(answers.flat().length).toBe(CALLS * EACH);
	for (const lease of answers.flat()) if (lease.error?.code !== "execution_not_found") expect(lease).toBeUndefined();
	// The store is asked for so many at a time, whatever waits.
	expect(mostRead()).toBeLessThanOrEqual(1024);
	await backend.close();
});

it(`${CALLS} joint completes at once of ${EACH} executions nobody has are all answered`, async () => {
	const { backend } = await stage();
	const answers = await Promise.all(
		Array.from({ length: CALLS }, (_, call) =>
			backend.leases.completeMany(
				unknown(call).map(({ executionId, leaseId, epoch }) => ({ executionId, fence: { leaseId, epoch } })),
			),
		),
	);
	expect(answers.flat().length).toBe(CALLS * EACH);
	for (const item of answers.flat()) if (item.error?.code !== "execution_not_found") expect(item).toBeUndefined();
	await backend.close();
});

it("whoever comes alone is answered while hundreds of thousands that came before still wait", async () => {
	const { backend } = await stage();
	const { executions, leases } = backend;
	let renewed = 0;
	const renewals = Array.from({ length: CALLS }, (_, call) =>
		leases.renew({ leases: unknown(call) }).then(() => (renewed += 1)),
	);
	let made = 0;
	const batches = Array.from({ length: 50 }, () =>
		executions.createMany(Array.from({ length: EACH }, () => ({ kind: "job" }))).then(() => (made += 1)),
	);
	// All of them have begun by now.
	for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
	const { id } = await executions.create({ kind: "alone", priority: 9 });
	expect(renewed + made).toBeLessThan(CALLS / 4);
	const [claimed] = await leases.claim({ workerId: "w", instanceId: "i" });
	expect(claimed).toMatchObject({ id });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: 1 };
	await leases.renew({ leases: [{ executionId: id, ...fence }] });
	await leases.complete(id, { fence });
	expect(renewed + made).toBeLessThan(CALLS / 2);
	await Promise.all([...renewals, ...batches]);
	await backend.close();
});
