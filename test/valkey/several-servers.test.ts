import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import { serveEngine } from "../../src/server/server.ts";
import { hasValkey, ownStore, sharedValkey } from "../servers/valkey-server.ts";

/** A server of its own on the store, and a client of it. */
async function serve(url: string) {
	const local = await openBackend(url, { partitions: 8 });
	const server = await serveEngine({
		engine: local.engine,
		backendFor: (caller) => local.as(caller),
		port: 0,
		docs: false,
	});
	const ff = FlowFabric.connect(server.address);
	return {
		ff,
		async close() {
			await ff.close();
			await server.close();
			await local.close();
		},
	};
}

type Served = Awaited<ReturnType<typeof serve>>;

describe.runIf(hasValkey())("two servers on one store behave as one", () => {
	let here: Served;
	let there: Served;
	let drop: () => Promise<unknown>;

	beforeAll(async () => {
		const own = ownStore(await sharedValkey());
		drop = own.drop;
		here = await serve(own.url);
		there = await serve(own.url);
	});

	afterAll(async () => {
		await here.close();
		await there.close();
		await drop();
	});

	test("what one accepted the other shows at once", async () => {
		const { id } = await here.ff.submit("work", { n: 1 }, { lane: "shown" });
		expect((await there.ff.get(id)).publicState).toBe("waiting");
		expect((await there.ff.list({ lane: "shown" })).executions.map((execution) => execution.id)).toEqual([id]);
		await there.ff.cancel(id);
		expect((await here.ff.get(id)).publicState).toBe("cancelled");
	});

	test("a key stands for the same execution at both", async () => {
		const first = await here.ff.submit("work", { n: 1 }, { lane: "keyed", idempotencyKey: "one" });
		const again = await there.ff.submit("work", { n: 1 }, { lane: "keyed", idempotencyKey: "one" });
		expect(again).toMatchObject({ id: first.id, created: false });
	});

	test("work submitted at one wakes a worker at the other, and its result the one who waits", async () => {
		const worker = there.ff.worker({ lanes: ["woken"], concurrency: 4, handleSignals: false });
		worker.handle("double", async (_context, { n }: { n: number }) => 2 * n);
		await worker.start();
		// The first may come before the worker has gone to wait; all others find it waiting.
		for (let n = 0; n < 20; n++) {
			const run = await here.ff.submit("double", { n }, { lane: "woken" });
			expect(await run.result({ timeoutMs: 10_000 })).toBe(2 * n);
		}
		await worker.stop();
	});

	test("keys that rotate at one count at the other at once", async () => {
		const { id } = await here.ff.submit("work", {}, { lane: "signed" });
		const [claimed] = await there.ff.backend.leases.claim({ lanes: ["signed"], workerId: "w", instanceId: "i" });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		const waitpoint = await there.ff.backend.leases.createWaitpoint(id, { fence, key: "door" });
		const tokens = [waitpoint.token];
		for (let n = 0; n < 20; n++) {
			const [rotating, other] = n % 2 ? [here, there] : [there, here];
			const { kid } = await rotating.ff.rotateWaitpointSecret();
			const { token } = await rotating.ff.backend.waitpoints.token(id, waitpoint.id);
			expect(token.startsWith(`${kid}.`)).toBe(true);
			tokens.push(token);
			const signal = { waitpointId: waitpoint.id, token, name: "knock" };
			expect(await other.ff.backend.waitpoints.signal(id, signal)).toMatchObject({ status: "accepted" });
			// By now it has read the ring, if it had not heard before.
			expect((await other.ff.backend.waitpoints.token(id, waitpoint.id)).token).toBe(token);
		}
		for (const token of tokens) {
			const signal = { waitpointId: waitpoint.id, token, name: "knock" };
			expect(await here.ff.backend.waitpoints.signal(id, signal)).toMatchObject({ status: "accepted" });
		}
	});

	test("events and progress of work that runs at one are followed at the other", async () => {
		const { id } = await here.ff.submit("work", {}, { lane: "followed" });
		let hear = () => {};
		const heardClaim = new Promise<void>((resolve) => (hear = resolve));
		const followed = (async () => {
			const heard: string[] = [];
			const onProgress = ({ percent }: { percent?: number }) => heard.push(`progress ${percent}`);
			for await (const { event } of here.ff.backend.executions.follow(id, { onProgress })) {
				heard.push(event.type);
				if (event.type === "claimed") hear();
			}
			return heard;
		})();
		// If the claim fails, that is what is to be told.
		followed.catch(() => {});
		const [claimed] = await there.ff.backend.leases.claim({ lanes: ["followed"], workerId: "w", instanceId: "i" });
		if (!claimed) throw new Error("nothing was claimed");
		const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		await heardClaim;
		await there.ff.backend.leases.progress(id, { fence, percent: 50 });
		await there.ff.backend.leases.complete(id, { fence });
		expect(await followed).toEqual(["created", "claimed", "progress 50", "completed"]);
	});

	test("work that a worker at one holds is cancelled at the other: its handler is told at once", async () => {
		// It would renew in minutes: nothing but a notice can tell it in time.
		const worker = there.ff.worker({ lanes: ["stopped"], leaseMs: 600_000, handleSignals: false });
		let begin = () => {};
		const begun = new Promise<void>((resolve) => (begin = resolve));
		worker.handle("long", async ({ signal }) => {
			begin();
			await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
		});
		await worker.start();
		const run = await here.ff.submit("long", {}, { lane: "stopped" });
		await begun;
		await here.ff.cancel(run.id, { reason: "enough", graceMs: 600_000 });
		expect((await run.wait()).publicState).toBe("cancelled");
		await worker.stop();
	});

	test("a lane paused at one hands out nothing at the other", async () => {
		const { id } = await here.ff.submit("work", {}, { lane: "paused" });
		await here.ff.backend.lanes.pause("paused");
		const claim = { lanes: ["paused"], workerId: "w", instanceId: "i" };
		expect(await there.ff.backend.leases.claim(claim)).toEqual([]);
		const waiting = there.ff.backend.leases.claim({ ...claim, waitMs: 10_000 });
		await here.ff.backend.lanes.resume("paused");
		expect((await waiting).map((execution) => execution.id)).toEqual([id]);
	});

	test("never two leases: both are asked for the same work at once", async () => {
		const ids = (await here.ff.submitMany(Array.from({ length: 200 }, () => ({ kind: "work", lane: "raced" })))).map(
			(item) => (item.ok ? item.run.id : "refused"),
		);
		const taken: string[] = [];
		const take = async ({ ff }: Served, instanceId: string) => {
			for (;;) {
				const claimed = await ff.backend.leases.claim({ lanes: ["raced"], workerId: "w", instanceId, max: 7 });
				if (claimed.length === 0) return;
				taken.push(...claimed.map((execution) => execution.id));
			}
		};
		await Promise.all([take(here, "a"), take(there, "b"), take(here, "c"), take(there, "d")]);
		expect(taken.sort()).toEqual(ids.sort());
	});
});
