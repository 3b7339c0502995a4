import { describe, expect, it } from "vitest";
import { type Backend, HandlerAborted, type RenewRequest } from "../../src/index.ts";
import { gate, Stage, unavailable, withCalls } from "./stage.ts";

/** A handler that runs until its signal aborts, and notes why and when. */
function watching(stage: Stage) {
	const seen: { why: string; message: string; at: number }[] = [];
	const start = stage.clock.monotonic();
	const handler = (ctx: { signal: AbortSignal }) =>
		new Promise<never>((_, reject) => {
			ctx.signal.addEventListener("abort", () => {
				const { reason } = ctx.signal;
				if (!(reason instanceof HandlerAborted)) throw new TypeError("aborted with something else");
				seen.push({ why: reason.why, message: reason.message, at: stage.clock.monotonic() - start });
				reject(reason);
			});
		});
	return { handler, seen };
}

describe("leases of a worker", () => {
	it("are renewed all together, each third of their ttl", async () => {
		const stage = await Stage.open();
		const calls: RenewRequest[] = [];
		const hold = gate();
		const backend = withCalls(stage.backend, {
			renew: (request) => {
				calls.push(request);
				return stage.backend.leases.renew(request);
			},
		});
		await stage.run(() => hold.passed, { concurrency: 5, leaseMs: 9000 }, backend);
		const ids = [await stage.submit(), await stage.submit(), await stage.submit()];
		await stage.clock.advance(2999);
		expect(calls.filter(({ leases }) => leases.length > 0)).toEqual([]);
		await stage.clock.advance(1);
		expect(calls.map(({ leases }) => leases.map(({ executionId }) => executionId))).toEqual([ids]);
		await stage.clock.advance(6000);
		expect(calls).toHaveLength(3);
		expect(calls.every(({ leases, leaseMs }) => leases.length === 3 && leaseMs === 9000)).toBe(true);
		hold.open();
	});

	it("keep a handler's work its own for as long as it runs", async () => {
		const stage = await Stage.open();
		const hold = gate();
		await stage.run(() => hold.passed.then(() => "late"), { leaseMs: 3000 });
		const id = await stage.submit();
		await stage.clock.advance(60_000);
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "active",
			reclaims: 0,
			lease: { epoch: 1 },
		});
		hold.open();
		expect(await stage.ff.result(id)).toBe("late");
	});

	it("are kept although one that is renewed with them gets no answer", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const healed = gate();
		let stuck: string | undefined;
		const backend = withCalls(stage.backend, {
			renew: async (request) => {
				if (request.leases.some(({ executionId }) => executionId === stuck)) await healed.passed;
				return stage.backend.leases.renew(request);
			},
		});
		await stage.run(() => hold.passed.then(() => "done"), { concurrency: 5, leaseMs: 9000 }, backend);
		stuck = await stage.submit();
		const ids = [await stage.submit(), await stage.submit()];
		await stage.clock.advance(8000);
		healed.open();
		await stage.clock.advance(60_000);
		for (const id of [stuck, ...ids])
			expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "active", reclaims: 0 });

		stuck = undefined;
		hold.open();
		await stage.clock.settle();
		for (const id of ids) expect(await stage.ff.result(id)).toBe("done");
	});

	it("are not shortened by an answer that comes behind a later one", async () => {
		const stage = await Stage.open();
		const healed = gate();
		let calls = 0;
		const backend = withCalls(stage.backend, {
			renew: async (request) => {
				calls += 1;
				if (calls === 1) await healed.passed;
				if (calls > 2) throw unavailable();
				return stage.backend.leases.renew(request);
			},
		});
		const seen = watching(stage);
		await stage.run(seen.handler, { leaseMs: 9000 }, backend);
		await stage.submit();
		// The first call, at 3 s, is answered after the second, at 6 s; all later ones fail.
		await stage.clock.advance(7000);
		healed.open();
		await stage.clock.advance(7999);
		expect(seen.seen).toEqual([]);
		await stage.clock.advance(1);
		expect(seen.seen).toMatchObject([{ why: "lease_lost" }]);
	});

	it("of others are kept for as long as one gets no answer", async () => {
		const stage = await Stage.open();
		const hold = gate();
		let stuck: string | undefined;
		const backend = withCalls(stage.backend, {
			renew: (request) =>
				request.leases.some(({ executionId }) => executionId === stuck)
					? new Promise(() => {})
					: stage.backend.leases.renew(request),
		});
		await stage.run(() => hold.passed, { concurrency: 5, leaseMs: 9000 }, backend);
		stuck = await stage.submit();
		const other = await stage.submit();
		await stage.clock.advance(60_000);
		expect(await stage.backend.executions.get(other)).toMatchObject({ publicState: "active", reclaims: 0 });
		expect((await stage.backend.executions.get(stuck)).reclaims).toBeGreaterThan(0);
		hold.open();
	});

	it("are kept while an outcome cannot be told", async () => {
		const stage = await Stage.open();
		let away = true;
		const backend = withCalls(stage.backend, {
			complete: async (id, request) => {
				if (away) throw unavailable();
				return stage.backend.leases.complete(id, request);
			},
		});
		await stage.run(() => "kept", {}, backend);
		const id = await stage.submit();
		await stage.clock.advance(20_000);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "active", reclaims: 0 });
		away = false;
		await stage.clock.advance(10_000);
		expect(await stage.ff.result(id)).toBe("kept");
	});
});

describe("a handler's signal aborts", () => {
	it("when its lease is revoked", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler);
		const id = await stage.submit();
		await stage.backend.executions.revokeLease(id);
		await stage.clock.settle();
		expect(seen[0]).toMatchObject({ why: "lease_lost", message: expect.stringContaining("revoked"), at: 0 });
	});

	it("when the execution is cancelled, with the reason given", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler);
		const id = await stage.submit(undefined, { policy: { retry: {} } });
		await stage.backend.executions.cancel(id, { reason: "user hung up" });
		await stage.clock.settle();
		expect(seen).toEqual([{ why: "cancelled", message: "user hung up", at: 0 }]);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "cancelled", retries: 0 });
	});

	it("when the execution is cancelled by force", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler);
		const id = await stage.submit();
		await stage.backend.executions.cancel(id, { mode: "force", reason: "now" });
		await stage.clock.settle();
		expect(seen).toMatchObject([{ why: "cancelled", at: 0 }]);
		expect(await stage.state(id)).toBe("cancelled");
	});

	it("when its attempt times out", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler);
		const id = await stage.submit(undefined, { policy: { timeouts: { attemptMs: 1500 } } });
		await stage.clock.advance(1500);
		expect(seen).toMatchObject([{ why: "lease_lost", message: expect.stringContaining("timeout"), at: 1500 }]);
		expect(await stage.state(id)).toBe("failed");
	});

	it("when its deadline has come", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler);
		const id = await stage.submit(undefined, { policy: { timeouts: { deadlineMs: 1500 } } });
		await stage.clock.advance(1500);
		expect(seen).toMatchObject([{ why: "lease_lost", message: expect.stringContaining("deadline"), at: 1500 }]);
		expect(await stage.state(id)).toBe("expired");
	});

	it("when the worker shuts down and the grace is over", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		const worker = await stage.run(handler);
		await stage.submit();
		const stopping = worker.stop({ graceMs: 700 });
		await stage.clock.advance(699);
		expect(seen).toEqual([]);
		await stage.clock.advance(1);
		await stopping;
		expect(seen).toMatchObject([{ why: "shutdown", at: 700 }]);
	});

	it("when it hears of a cancel only by renewing", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler, {}, deaf(stage.backend));
		const id = await stage.submit();
		await stage.backend.executions.cancel(id, { reason: "enough" });
		await stage.clock.advance(1000);
		expect(seen).toEqual([{ why: "cancelled", message: "enough", at: 1000 }]);
	});

	it("when the same worker is given the work again", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler, { concurrency: 2 }, deaf(stage.backend));
		const id = await stage.submit();
		await stage.backend.executions.revokeLease(id);
		await stage.clock.advance(1000);
		expect((await stage.backend.executions.get(id)).lease?.epoch).toBe(2);
		expect(seen).toMatchObject([{ why: "lease_lost" }]);
	});

	it("when it hears of a lost lease only by renewing", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		await stage.run(handler, { concurrency: 1 }, deaf(stage.backend));
		const id = await stage.submit();
		await stage.backend.executions.revokeLease(id);
		await stage.clock.advance(1000);
		expect(seen[0]).toMatchObject({ why: "lease_lost", message: expect.stringContaining("revoked"), at: 1000 });
	});

	it("when its lease could not be renewed for as long as it lasts", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		const backend = withCalls(deaf(stage.backend), { renew: () => Promise.reject(unavailable()) });
		await stage.run(handler, { leaseMs: 3000, concurrency: 1 }, backend);
		await stage.clock.advance(500);
		await stage.submit();
		await stage.clock.advance(3000);
		expect(seen[0]).toMatchObject({ why: "lease_lost", at: 3500 });
	});

	it("when renewing hangs for as long as the lease lasts", async () => {
		const stage = await Stage.open();
		const { handler, seen } = watching(stage);
		const backend = withCalls(deaf(stage.backend), { renew: () => new Promise(() => {}) });
		await stage.run(handler, { leaseMs: 3000, concurrency: 1 }, backend);
		await stage.submit();
		await stage.clock.advance(3000);
		expect(seen[0]).toMatchObject({ why: "lease_lost", at: 3000 });
	});

	it("although the handler asks for it only later", async () => {
		const stage = await Stage.open();
		const hold = gate();
		let aborted: unknown;
		await stage.run(async (ctx) => {
			await hold.passed;
			aborted = ctx.signal.aborted && ctx.signal.reason;
		});
		const id = await stage.submit();
		await stage.backend.executions.cancel(id, { reason: "earlier" });
		await stage.clock.settle();
		hold.open();
		await stage.clock.settle();
		expect(aborted).toMatchObject({ why: "cancelled", message: "earlier" });
	});
});

describe("a handler that ignores its signal", () => {
	it("can change nothing once its lease is lost", async () => {
		const stage = await Stage.open();
		const hold = gate();
		let refused: unknown;
		await stage.run(
			async (ctx) => {
				await hold.passed;
				refused = await ctx.progress({ percent: 99 }).catch((error: unknown) => error);
				return "too late";
			},
			{ concurrency: 1 },
		);
		const id = await stage.submit();
		await stage.backend.executions.revokeLease(id);
		await stage.run(() => "in time", { instanceId: "w-2" });
		await stage.clock.settle();
		expect(await stage.ff.result(id)).toBe("in time");
		const before = await stage.backend.executions.get(id);
		hold.open();
		await stage.clock.settle();
		expect(refused).toMatchObject({ name: "FlowFabricError", status: 409 });
		expect(await stage.backend.executions.get(id)).toEqual(before);
	});

	it("may still complete work that was asked to cancel", async () => {
		const stage = await Stage.open();
		const hold = gate();
		await stage.run(() => hold.passed.then(() => "made it"));
		const id = await stage.submit();
		await stage.backend.executions.cancel(id);
		await stage.clock.settle();
		hold.open();
		expect(await stage.ff.result(id)).toBe("made it");
	});
});

/** A backend whose notices never arrive. */
function deaf(backend: Backend): Backend {
	return withCalls(backend, { notices: () => () => {} });
}
