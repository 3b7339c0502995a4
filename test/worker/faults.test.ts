import { describe, expect, it } from "vitest";
import { FlowFabricError, type WorkerOptions } from "../../src/index.ts";
import { Stage, unavailable, withCalls } from "./stage.ts";

describe("a worker whose claims fail", () => {
	it("tries again, waiting longer each time up to a few seconds, and never gives up", async () => {
		const stage = await Stage.open();
		const times: number[] = [];
		let away = true;
		const backend = withCalls(stage.backend, {
			claim: async (request, signal) => {
				if (request.waitMs === 0) return [];
				times.push(stage.clock.monotonic());
				if (away) throw unavailable();
				return stage.backend.leases.claim(request, signal);
			},
		});
		await stage.run(() => "done", {}, backend);
		await stage.clock.advance(120_000);
		const waits = times.slice(1).map((time, n) => time - (times[n] ?? 0));
		expect(waits.length).toBeGreaterThan(20);
		expect(waits[0]).toBeLessThanOrEqual(100);
		expect(Math.min(...waits)).toBeGreaterThan(0);
		expect(Math.max(...waits)).toBeLessThanOrEqual(5000);
		expect(Math.min(...waits.slice(10))).toBeGreaterThanOrEqual(2500);
		expect(new Set(waits.slice(10)).size).toBeGreaterThan(1);
		away = false;
		const id = await stage.submit();
		await stage.clock.advance(5000);
		expect(await stage.ff.result(id)).toBe("done");
	});

	it("says so in its log, once", async () => {
		const stage = await Stage.open();
		const backend = withCalls(stage.backend, {
			claim: async (request) => {
				if (request.waitMs === 0) return [];
				throw unavailable();
			},
		});
		await stage.run(() => "done", {}, backend);
		await stage.clock.advance(60_000);
		expect(stage.log.filter((line) => line.startsWith("warn"))).toEqual([
			expect.stringMatching(/^warn the store does not answer \(.*\); trying again until it does$/),
		]);
	});

	it("goes on after any error, not only those of FlowFabric", async () => {
		const stage = await Stage.open();
		const errors: unknown[] = [new Error("socket hang up"), new TypeError("fetch failed"), "text", undefined];
		const backend = withCalls(stage.backend, {
			claim: async (request, signal) => {
				if (request.waitMs !== 0 && errors.length > 0) throw errors.shift();
				return stage.backend.leases.claim(request, signal);
			},
		});
		await stage.run(() => "done", {}, backend);
		const id = await stage.submit();
		await stage.clock.advance(5000);
		expect(await stage.ff.result(id)).toBe("done");
	});

	it("starts although the store is away just then", async () => {
		const stage = await Stage.open();
		let away = true;
		const backend = withCalls(stage.backend, {
			claim: async (request, signal) => {
				if (away) throw unavailable();
				return stage.backend.leases.claim(request, signal);
			},
		});
		await stage.run(() => "done", {}, backend);
		away = false;
		const id = await stage.submit();
		await stage.clock.advance(1000);
		expect(await stage.ff.result(id)).toBe("done");
	});

	it("does not spin when claims answer at once with nothing", async () => {
		const stage = await Stage.open();
		let claims = 0;
		const backend = withCalls(stage.backend, {
			// A spinning loop would never let the test see it, so it is caught after a while.
			claim: async (_request, signal) => {
				if (++claims < 1000) return [];
				return new Promise((resolve) => signal?.addEventListener("abort", () => resolve([])));
			},
		});
		await stage.run(() => "done", {}, backend);
		await stage.clock.advance(1000);
		expect(claims).toBeLessThan(1000);
	});

	it("stops at once although it waits to try again", async () => {
		const stage = await Stage.open();
		const backend = withCalls(stage.backend, {
			claim: async (request) => {
				if (request.waitMs === 0) return [];
				throw unavailable();
			},
		});
		const worker = await stage.run(() => "done", {}, backend);
		await stage.clock.advance(60_000);
		await worker.stop();
	});
});

describe("a worker with bad options is refused by name", () => {
	const bad: Record<string, [options: object, field: string]> = {
		"concurrency 0": [{ concurrency: 0 }, "concurrency"],
		"a negative concurrency": [{ concurrency: -1 }, "concurrency"],
		"concurrency with a fraction": [{ concurrency: 1.5 }, "concurrency"],
		"concurrency as text": [{ concurrency: "16" }, "concurrency"],
		"concurrency beyond all reason": [{ concurrency: 10_001 }, "concurrency"],
		"no lanes": [{ lanes: [] }, "lanes"],
		"a bad lane": [{ lanes: ["a,b"] }, "lanes[0]"],
		"a bad namespace": [{ namespace: "a b" }, "namespace"],
		"a lease of 99 ms": [{ leaseMs: 99 }, "leaseMs"],
		"a lease over an hour": [{ leaseMs: 3_600_001 }, "leaseMs"],
		"an empty workerId": [{ workerId: "" }, "workerId"],
		"an empty instanceId": [{ instanceId: "" }, "instanceId"],
		"a negative graceMs": [{ graceMs: -1 }, "graceMs"],
		"a graceMs that is no number": [{ graceMs: Number.NaN }, "graceMs"],
	};
	for (const [what, [options, field]] of Object.entries(bad)) {
		it(what, async () => {
			const stage = await Stage.open();
			const start = async () => stage.run(() => "done", options as WorkerOptions);
			const error = await start().then(
				() => undefined,
				(thrown: unknown) => thrown,
			);
			expect(error).toBeInstanceOf(FlowFabricError);
			expect(error).toMatchObject({ code: "invalid_input", details: { field } });
		});
	}

	it("a kind that cannot be one", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().handle("\ud800", () => "done");
		await expect(worker.start()).rejects.toMatchObject({ code: "invalid_input", details: { field: "kinds[0]" } });
	});

	it("no handler", async () => {
		const stage = await Stage.open();
		await expect(stage.worker().start()).rejects.toThrow(/handler/);
	});

	it("two handlers of a kind", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().handle("job", () => 1);
		expect(() => worker.handle("job", () => 2)).toThrow(/job/);
	});

	it("a handler or a start too late", async () => {
		const stage = await Stage.open();
		const worker = await stage.run(() => "done");
		expect(() => worker.handle("late", () => 1)).toThrow(/start/);
		await expect(worker.start()).rejects.toThrow(/running/);
	});
});
