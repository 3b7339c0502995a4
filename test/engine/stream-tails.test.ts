import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { EngineGroup } from "./engine-group.ts";

/** A memory store that counts what is read of streams. */
class CountingStore extends MemoryStore {
	reads = 0;

	override readBlobs(...given: Parameters<MemoryStore["readBlobs"]>) {
		this.reads += 1;
		return super.readBlobs(...given);
	}
}

async function stage() {
	const clock = new VirtualClock();
	const store = new CountingStore(1, clock.now, false);
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const { id } = await backend.executions.create({ kind: "job" });
	const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	const append = (...texts: string[]) =>
		backend.leases.appendFrames(id, { fence, frames: texts.map((text) => ({ text })) });
	const follow = (after = "start") => {
		const seen: (string | undefined)[] = [];
		const done = (async () => {
			for await (const { frames } of backend.streams.follow(id, 0, { after }))
				seen.push(...frames.map(({ text }) => text));
		})();
		return { seen, done };
	};
	return { clock, store, engine, backend, id, fence, append, follow };
}

test("however many follow a stream, it is read once", async () => {
	const readsWith = async (followers: number) => {
		const { clock, store, backend, id, fence, append, follow } = await stage();
		const all = Array.from({ length: followers }, () => follow());
		await clock.settle();
		store.reads = 0;
		for (let n = 0; n < 20; n++) {
			await append(`${n}`);
			await clock.settle();
		}
		const { reads } = store;
		await backend.leases.complete(id, { fence });
		for (const { seen, done } of all) {
			await done;
			expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`));
		}
		await backend.close();
		return reads;
	};
	expect(await readsWith(100)).toBe(await readsWith(1));
});

test("nobody is followed any more once all have left", async () => {
	const { clock, engine, backend, id, append } = await stage();
	const controller = new AbortController();
	const pages = backend.streams.follow(id, 0, { signal: controller.signal })[Symbol.asyncIterator]();
	const next = pages.next();
	await clock.settle();
	expect([engine.streamTails.size, engine.watchers.size]).toEqual([1, 2]);
	controller.abort();
	expect((await next).done).toBe(true);
	await backend.streams.tail(id, 0);
	expect([engine.streamTails.size, engine.watchers.size]).toEqual([0, 0]);
	await append("a");
	await backend.close();
});

test("closing the engine ends tails", async () => {
	const { clock, backend, follow } = await stage();
	const { done } = follow();
	const ended = done.catch((error: unknown) => error);
	await clock.settle();
	await backend.close();
	expect(await ended).toMatchObject({ code: "shutting_down", retryable: true });
});

test("a tail that a store fails goes on with the next that asks", async () => {
	const { clock, store, backend, id, append } = await stage();
	await append("a");
	const { readBlobs } = store;
	store.readBlobs = () => Promise.reject(new Error("no route"));
	await expect(backend.streams.tail(id, 0)).rejects.toThrow("no route");
	store.readBlobs = readBlobs;
	const page = backend.streams.tail(id, 0);
	await clock.settle();
	expect((await page).frames).toMatchObject([{ text: "a" }]);
	await backend.close();
});

test("a tail shows what was kept before it was asked for, also at a server that has not heard of it", async () => {
	const group = new EngineGroup(1);
	const one = await group.start("one");
	const two = await group.start("two");
	const { id } = await one.backend.executions.create({ kind: "job" });
	const [claimed] = await one.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	const append = (text: string) => one.backend.leases.appendFrames(id, { fence, frames: [{ text }] });
	const seen: (string | undefined)[] = [];
	const followed = (async () => {
		for await (const { frames } of two.backend.streams.follow(id, 0)) seen.push(...frames.map(({ text }) => text));
	})();
	await append("a");
	await group.clock.settle();
	two.isDeaf = true;
	await append("b");
	const { frames } = await two.backend.streams.tail(id, 0);
	expect(frames.map(({ text }) => text)).toEqual(["a", "b"]);
	await group.clock.settle();
	expect(seen).toEqual(["a", "b"]);
	await one.backend.leases.complete(id, { fence });
	expect(await two.backend.streams.tail(id, 0)).toMatchObject({ closeReason: "completed" });
	await followed;
	for (const { engine } of group.members) await engine.close();
});
