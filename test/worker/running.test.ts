import { describe, expect, it } from "vitest";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Context } from "../../src/index.ts";
import { type Gate, gate, Stage } from "./stage.ts";

describe("a worker", () => {
	it("runs what is submitted and tells the result", async () => {
		const stage = await Stage.open();
		await stage.run(({ input }) => ({ doubled: (input as number) * 2 }));
		const run = await stage.ff.submit("job", 21);
		expect(await run.result()).toEqual({ doubled: 42 });
	});

	it("runs what was waiting before it started", async () => {
		const stage = await Stage.open();
		const ids = [await stage.submit(1), await stage.submit(2)];
		await stage.run(() => "done");
		await stage.clock.settle();
		for (const id of ids) expect(await stage.state(id)).toBe("completed");
	});

	it("gives the handler its execution, attempt and input, twice", async () => {
		const stage = await Stage.open();
		const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
		let seen: [Context<unknown>, unknown] | undefined;
		const worker = stage.worker({ lanes: ["fast"] }).handle("job", (ctx: Context<unknown>, input: unknown) => {
			seen = [ctx, input];
		});
		await worker.start();
		const id = await stage.submit({ a: 1 }, { lane: "fast", tags: { team: "red" }, traceparent });
		expect(seen?.[1]).toEqual({ a: 1 });
		expect(seen?.[0]).toMatchObject({
			execution: { id, kind: "job", namespace: "default", lane: "fast", tags: { team: "red" }, traceparent },
			attempt: { index: 0, type: "initial" },
			input: { a: 1 },
			contentType: "application/json",
		});
	});

	it("gives a context that can be taken apart", async () => {
		const stage = await Stage.open();
		await stage.run(async ({ progress, log, signal }) => {
			log.debug("begun");
			await progress({ percent: 40 });
			return signal.aborted;
		});
		const run = await stage.ff.submit("job", 1);
		expect(await run.result()).toBe(false);
		expect(await run.get()).toMatchObject({ progress: { percent: 40 } });
	});

	it("gives JSON as values, text as text and everything else as bytes", async () => {
		const stage = await Stage.open();
		const seen: unknown[] = [];
		await stage.run(({ input }) => void seen.push(input));
		await stage.submit([1, null]);
		await stage.submit("plain", { contentType: "text/plain" });
		await stage.submit(Uint8Array.from([0, 255]));
		await stage.submit(undefined);
		expect(seen).toEqual([[1, null], "plain", Uint8Array.from([0, 255]), undefined]);
	});

	it("takes only kinds it has handlers for", async () => {
		const stage = await Stage.open();
		await stage.run(() => "done");
		const other = (await stage.ff.submit("other")).id;
		const mine = await stage.submit();
		expect(await stage.state(mine)).toBe("completed");
		expect(await stage.state(other)).toBe("waiting");
	});

	it("that is bound to a namespace works in it without being told which", async () => {
		const stage = await Stage.open();
		const { backend } = stage;
		if (!(backend instanceof LocalBackend)) throw new TypeError("memory: runs in process");
		const bound = { ...backend.as({ actor: "ada", namespace: "a" }), close: async () => {} };
		await stage.run(() => "done", {}, bound);
		const mine = await stage.submit(1, { namespace: "a" });
		const other = await stage.submit(1);
		expect(await stage.state(mine)).toBe("completed");
		expect(await stage.state(other)).toBe("waiting");
	});

	it("takes only its lanes and its namespace", async () => {
		const stage = await Stage.open();
		await stage.run(() => "done", { lanes: ["a", "b"], namespace: "team" });
		const elsewhere = [await stage.submit(1, { lane: "a" }), await stage.submit(1, { lane: "c", namespace: "team" })];
		const mine = [
			await stage.submit(1, { lane: "a", namespace: "team" }),
			await stage.submit(1, { lane: "b", namespace: "team" }),
		];
		for (const id of elsewhere) expect(await stage.state(id)).toBe("waiting");
		for (const id of mine) expect(await stage.state(id)).toBe("completed");
	});

	it("never runs more handlers at once than its concurrency", async () => {
		const stage = await Stage.open();
		const gates: Gate[] = [];
		let most = 0;
		let running = 0;
		const worker = await stage.run(
			async () => {
				most = Math.max(most, ++running);
				const next = gate();
				gates.push(next);
				await next.passed;
				running -= 1;
			},
			{ concurrency: 3 },
		);
		const ids: string[] = [];
		for (let n = 0; n < 10; n++) ids.push(await stage.submit(n));
		expect([running, worker.running]).toEqual([3, 3]);
		for (let ended = 0; ended < 10; ended++) {
			gates[ended]?.open();
			await stage.clock.settle();
			expect(worker.running).toBe(Math.min(3, 9 - ended));
		}
		expect(most).toBe(3);
		for (const id of ids) expect(await stage.state(id)).toBe("completed");
	});

	it("leaves work beyond its concurrency to others", async () => {
		const stage = await Stage.open();
		const hold = gate();
		await stage.run(() => hold.passed, { concurrency: 1 });
		await stage.submit();
		const second = await stage.submit();
		expect(await stage.state(second)).toBe("waiting");
		await stage.run(() => "taken", { instanceId: "w-2", concurrency: 1 });
		await stage.clock.settle();
		expect(await stage.ff.result(second)).toBe("taken");
		hold.open();
	});

	it("shares a lane with another, and nothing runs twice", async () => {
		const stage = await Stage.open();
		const ran: string[] = [];
		const handler = (ctx: Context<never>) => void ran.push(ctx.execution.id);
		await stage.run(handler, { concurrency: 2 });
		await stage.run(handler, { instanceId: "w-2", concurrency: 2 });
		const created = await stage.backend.executions.createMany(Array.from({ length: 40 }, () => ({ kind: "job" })));
		await stage.clock.advance(1000);
		expect(ran.sort()).toEqual(created.map(({ id }) => id).sort());
	});

	it("runs more than one claim can hold", async () => {
		const stage = await Stage.open();
		await stage.run(() => "done", { concurrency: 400 });
		await stage.backend.executions.createMany(Array.from({ length: 600 }, () => ({ kind: "job" })));
		await stage.clock.advance(1000);
		expect((await stage.backend.executions.list({ limit: 1000, state: "completed" })).executions).toHaveLength(600);
	});

	it("tells progress on the way", async () => {
		const stage = await Stage.open();
		const hold = gate();
		await stage.run(async (ctx) => {
			await ctx.progress({ percent: 10, message: "reading" });
			await ctx.progress({ percent: 50 });
			await hold.passed;
		});
		const id = await stage.submit();
		expect((await stage.backend.executions.get(id)).progress).toEqual({ percent: 50, message: "reading" });
		hold.open();
	});

	it("names the execution in what its handlers log", async () => {
		const stage = await Stage.open();
		await stage.run((ctx) => ctx.log.info("hello"));
		const id = await stage.submit();
		expect(stage.log).toContainEqual(expect.stringMatching(new RegExp(`^info .*${id}.* hello$`)));
	});

	it("closing FlowFabric stops its workers first", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const worker = stage.ff.worker({ clock: stage.clock, handleSignals: false, log: stage.logger });
		let finished = false;
		worker.handle("job", async () => {
			await hold.passed;
			finished = true;
		});
		await worker.start();
		await stage.submit();
		const closing = stage.ff.close();
		await stage.clock.settle();
		hold.open();
		await stage.clock.settle();
		await closing;
		expect(finished).toBe(true);
		expect(stage.log.filter((line) => /^(warn|error)/.test(line))).toEqual([]);
	});
});
