import { describe, expect, it } from "vitest";
import type { Backend, WorkerCalls } from "../../src/index.ts";
import { gate, Stage, unavailable, withCalls } from "./stage.ts";

/** A backend whose registry is replaced, call by call. */
function withRegistry(backend: Backend, calls: Partial<WorkerCalls>): Backend {
	const workers = new Proxy(backend.workers, {
		get: (target, name: keyof WorkerCalls) => calls[name] ?? target[name].bind(target as never),
	});
	return new Proxy(backend, {
		get: (target, name: keyof Backend) => (name === "workers" ? workers : target[name]),
	});
}

const listed = async (stage: Stage) => (await stage.ff.workers()).workers;

describe("registration", () => {
	it("tells what a worker offers from its start to its stop", async () => {
		const stage = await Stage.open();
		expect(await listed(stage)).toEqual([]);
		const worker = await stage.run(() => {}, { capabilities: ["gpu"], lanes: ["a", "b"] });
		expect(await listed(stage)).toMatchObject([
			{ instanceId: "w-1", workerId: "w", capabilities: ["gpu"], kinds: ["job"], lanes: ["a", "b"] },
		]);
		await worker.stop();
		expect(await listed(stage)).toEqual([]);
	});

	it("is left to claims while they wait, but for now and then", async () => {
		const stage = await Stage.open();
		let beats = 0;
		const backend = withRegistry(stage.backend, {
			register: (instanceId, request) => {
				beats += 1;
				return stage.backend.workers.register(instanceId, request);
			},
		});
		await stage.run(() => {}, {}, backend);
		await stage.clock.advance(59_000);
		expect(beats).toBe(1);
		expect((await listed(stage))[0]?.lastSeenAt).toBeGreaterThan(stage.clock.now() - 11_000);
		await stage.clock.advance(541_000);
		expect(beats).toBe(11);
	});

	it("is refreshed at a third of its time while a worker is too busy to claim", async () => {
		const stage = await Stage.open();
		let beats = 0;
		const backend = withRegistry(stage.backend, {
			register: (instanceId, request) => {
				beats += 1;
				return stage.backend.workers.register(instanceId, request);
			},
		});
		const busy = gate();
		await stage.run(() => busy.passed, { concurrency: 1 }, backend);
		await stage.submit();
		await stage.clock.advance(100_000);
		expect(beats).toBe(11);
		busy.open();
	});

	it("is made anew after a claim that failed: whoever answers next may not know of it", async () => {
		const stage = await Stage.open();
		let cut = () => {};
		const backend = withCalls(stage.backend, {
			claim: (request, signal) =>
				Promise.race([
					stage.backend.leases.claim(request, signal),
					new Promise<never>((_, reject) => (cut = () => reject(unavailable()))),
				]),
		});
		await stage.run(() => {}, {}, backend);
		await stage.clock.advance(1000);
		await stage.backend.workers.remove("w-1");
		cut();
		await stage.clock.advance(11_000);
		expect(await listed(stage)).toHaveLength(1);
	});

	it("that fails is logged once, in words, and tried again, and the worker works", async () => {
		const stage = await Stage.open();
		let failing = true;
		const backend = withRegistry(stage.backend, {
			register: (instanceId, request) =>
				failing ? Promise.reject(unavailable()) : stage.backend.workers.register(instanceId, request),
		});
		await stage.run(() => "done", {}, backend);
		const id = await stage.submit();
		expect(await stage.state(id)).toBe("completed");
		await stage.clock.advance(20_000);
		expect(stage.log.filter((line) => line.includes("does not answer"))).toEqual([
			expect.stringMatching(/^warn the store does not answer \(.*\); trying again until it does$/),
		]);
		failing = false;
		await stage.clock.advance(5000);
		expect(await listed(stage)).toHaveLength(1);
		expect(stage.log.filter((line) => line.includes("answers again"))).toEqual([
			expect.stringMatching(/^warn the store answers again after 2\d s$/),
		]);
	});

	it("is kept by claims while the registry takes no other word for it", async () => {
		const stage = await Stage.open();
		let failing = false;
		const backend = withRegistry(stage.backend, {
			register: (instanceId, request) =>
				failing ? Promise.reject(unavailable()) : stage.backend.workers.register(instanceId, request),
		});
		await stage.run(() => {}, {}, backend);
		failing = true;
		await stage.clock.advance(60_000);
		expect(await listed(stage)).toHaveLength(1);
		failing = false;
		await stage.clock.advance(5000);
		expect(await listed(stage)).toHaveLength(1);
	});

	it("with a bad capability is refused at the start, by name, and nothing is claimed", async () => {
		const stage = await Stage.open();
		const id = await stage.submit();
		await expect(stage.run(() => {}, { capabilities: ["a b"] })).rejects.toMatchObject({
			code: "invalid_input",
			details: { field: "capabilities[0]" },
		});
		await stage.clock.settle();
		expect(await stage.state(id)).toBe("waiting");
	});

	it("ends with a start that was refused or overtaken by a stop", async () => {
		const stage = await Stage.open();
		await expect(stage.run(() => {}, { leaseMs: 1 })).rejects.toMatchObject({ code: "invalid_input" });
		expect(await listed(stage)).toEqual([]);
		const slow = gate();
		const backend = withCalls(stage.backend, {
			claim: async () => {
				await slow.passed;
				return [];
			},
		});
		const worker = stage.worker({}, backend).handle("job", () => {});
		const starting = worker.start();
		await stage.clock.settle();
		await worker.stop();
		slow.open();
		await starting;
		expect(await listed(stage)).toEqual([]);
	});

	it("that cannot be ended is logged, and lapses", async () => {
		const stage = await Stage.open();
		const backend = withRegistry(stage.backend, { remove: () => Promise.reject(unavailable()) });
		const worker = await stage.run(() => {}, {}, backend);
		await worker.stop();
		expect(stage.log.some((line) => line.startsWith("warn unregistering failed"))).toBe(true);
		expect(await listed(stage)).toHaveLength(1);
		await stage.clock.advance(30_000);
		expect(await listed(stage)).toEqual([]);
	});
});
