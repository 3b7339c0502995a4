import { describe, expect, it } from "vitest";
import { type ClaimedExecution, HandlerAborted } from "../../src/index.ts";
import { gate, Stage, withCalls } from "./stage.ts";

describe("stopping a worker", () => {
	it("lets handlers finish, and their outcomes be told", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const worker = await stage.run(() => hold.passed.then(() => "finished"));
		const id = await stage.submit();
		let stopped = false;
		const stopping = worker.stop({ graceMs: 60_000 }).then(() => (stopped = true));
		await stage.clock.advance(20_000);
		expect([stopped, await stage.state(id)]).toEqual([false, "active"]);
		hold.open();
		await stage.clock.settle();
		await stopping;
		expect(await stage.ff.result(id)).toBe("finished");
	});

	it("takes no new work from then on", async () => {
		const stage = await Stage.open();
		const worker = await stage.run(() => "done");
		await stage.clock.settle();
		const stopping = worker.stop();
		const id = await stage.submit();
		await stopping;
		await stage.clock.advance(60_000);
		expect(await stage.state(id)).toBe("waiting");
	});

	it("waits 10 s for handlers unless told otherwise", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const worker = await stage.run(() => hold.passed);
		const id = await stage.submit();
		const stopping = worker.stop();
		await stage.clock.advance(9999);
		expect(await stage.state(id)).toBe("active");
		await stage.clock.advance(1);
		await stopping;
		expect(await stage.state(id)).toBe("waiting");
		hold.open();
	});

	it("hands work back when the grace is over, to go on elsewhere as the same attempt", async () => {
		const stage = await Stage.open();
		const worker = await stage.run(
			(ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
			{ graceMs: 500 },
		);
		const id = await stage.submit();
		const stopping = worker.stop();
		await stage.clock.advance(500);
		await stopping;
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0, retries: 0 });
		let attempt: unknown;
		await stage.run(
			(ctx) => {
				attempt = ctx.attempt;
				return "elsewhere";
			},
			{ instanceId: "w-2" },
		);
		await stage.clock.settle();
		expect(await stage.ff.result(id)).toBe("elsewhere");
		expect(attempt).toEqual({ index: 0, type: "initial" });
		expect(await stage.backend.executions.attempts(id)).toHaveLength(1);
	});

	it("hands work back although the handler ignores its signal, and drops what it does later", async () => {
		const stage = await Stage.open();
		const hold = gate();
		let reason: unknown;
		const worker = await stage.run(
			async (ctx) => {
				await hold.passed;
				reason = ctx.signal.reason;
				return "dropped";
			},
			{ graceMs: 0 },
		);
		const id = await stage.submit();
		const stopping = worker.stop();
		await stage.clock.settle();
		await stopping;
		expect(await stage.state(id)).toBe("waiting");
		hold.open();
		await stage.clock.settle();
		expect(reason).toBeInstanceOf(HandlerAborted);
		expect(reason).toMatchObject({ why: "shutdown" });
		expect(await stage.state(id)).toBe("waiting");
	});

	it("renews leases until the end of the grace", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const worker = await stage.run(() => hold.passed.then(() => "late"), { leaseMs: 3000 });
		const id = await stage.submit();
		const stopping = worker.stop({ graceMs: 30_000 });
		await stage.clock.advance(20_000);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "active", reclaims: 0 });
		hold.open();
		await stage.clock.settle();
		await stopping;
		expect(await stage.ff.result(id)).toBe("late");
	});

	it("hands back at once what a claim brings while stopping", async () => {
		const stage = await Stage.open();
		const late = gate();
		let ran = false;
		const backend = withCalls(stage.backend, {
			claim: async (request): Promise<ClaimedExecution[]> => {
				if (request.waitMs === 0) return [];
				await late.passed;
				return stage.backend.leases.claim({ ...request, waitMs: 0 });
			},
		});
		const worker = await stage.run(
			() => {
				ran = true;
			},
			{},
			backend,
		);
		const id = await stage.submit();
		const stopping = worker.stop();
		late.open();
		await stopping;
		expect(ran).toBe(false);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0 });
		expect(await stage.backend.executions.attempts(id)).toHaveLength(1);
	});

	it("while it is starting keeps it from running anything", async () => {
		const stage = await Stage.open();
		const id = await stage.submit();
		let ran = false;
		let stopped = false;
		let claimedAfter = false;
		const backend = withCalls(stage.backend, {
			claim: async (request, signal) => {
				if (!stopped) return stage.backend.leases.claim(request, signal);
				claimedAfter = true;
				return new Promise(() => {});
			},
		});
		const worker = stage.worker({}, backend).handle("job", () => {
			ran = true;
		});
		const starting = worker.start().catch(() => {});
		await worker.stop();
		stopped = true;
		await starting;
		await stage.clock.settle();
		expect([ran, claimedAfter]).toEqual([false, false]);
		expect(await stage.state(id)).toBe("waiting");
	});

	it("twice is stopping once", async () => {
		const stage = await Stage.open();
		const worker = await stage.run(() => "done");
		await Promise.all([worker.stop(), worker.stop()]);
		await worker.stop();
	});

	it("before it started is allowed, and it cannot start then", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().handle("job", () => "done");
		await worker.stop();
		await expect(worker.start()).rejects.toThrow(/stopped/);
	});

	it("leaves no timer behind", async () => {
		const stage = await Stage.open();
		const calls: string[] = [];
		const backend = withCalls(stage.backend, {
			renew: (request) => {
				calls.push("renew");
				return stage.backend.leases.renew(request);
			},
			claim: (request, signal) => {
				calls.push("claim");
				return stage.backend.leases.claim(request, signal);
			},
		});
		const worker = await stage.run(() => "done", {}, backend);
		await stage.submit();
		await worker.stop();
		calls.length = 0;
		await stage.clock.advance(120_000);
		expect(calls).toEqual([]);
	});

	it("a cancelled execution in the grace ends as cancelled when it is handed back", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const worker = await stage.run(() => hold.passed);
		const id = await stage.submit();
		const stopping = worker.stop({ graceMs: 1000 });
		await stage.backend.executions.cancel(id);
		await stage.clock.advance(1000);
		await stopping;
		expect(await stage.state(id)).toBe("cancelled");
		hold.open();
	});
});
