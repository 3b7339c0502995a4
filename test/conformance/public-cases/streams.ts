import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";
import { append, framesOf, type GivenFrame, keptOf, texts, textsOf } from "../streamed.ts";

const KIB = 1024;
const everyByte = Uint8Array.from({ length: 256 }, (_, n) => n);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => String(from + n));

/** What a stream is: frames in order, and how they are read. */
export function streamCases(test: PublicCase): void {
	test("frames come back in the order they were appended, each with its id, time, type, mode, attempt and epoch", async (scene) => {
		const held = await scene.start();
		const told = await append(scene, held, "a", "b");
		const at = scene.now;
		await scene.clock.advance(50);
		await append(scene, held, { text: "c", type: "thought" });
		const [a, b, c] = await framesOf(scene, held.id);
		const shared = { mode: "durable", attempt: 0, epoch: held.fence.epoch };
		expect(a).toEqual({ ...shared, id: a?.id, at, type: "text", text: "a" });
		expect(b).toEqual({ ...shared, id: told.lastId, at, type: "text", text: "b" });
		expect(c).toEqual({ ...shared, id: c?.id, at: at + 50, type: "thought", text: "c" });
		expect(new Set([a?.id, b?.id, c?.id]).size).toBe(3);
	});

	test("an append tells the id of its last frame and how many frames there were", async (scene) => {
		const held = await scene.start();
		const first = await append(scene, held, "a", "b");
		expect(first).toEqual({ lastId: first.lastId, frameCount: 2 });
		const second = await append(scene, held, { text: "c", mode: "best_effort" }, { patch: { d: 1 }, mode: "summary" });
		expect(second).toEqual({ lastId: second.lastId, frameCount: 4, summaryVersion: 1 });
		expect((await framesOf(scene, held.id)).at(-1)?.id).toBe(second.lastId);
		expect(await append(scene, held, "e")).toMatchObject({ frameCount: 5, summaryVersion: 1 });
	});

	test("a stream that nothing was appended to is empty and open", async (scene) => {
		const held = await scene.start();
		expect(await scene.backend.streams.read(held.id, 0)).toEqual({ frames: [] });
	});

	for (const [what, frame] of Object.entries<GivenFrame>({
		"a text": { text: "plain" },
		"an empty text": { text: "" },
		"a text of every script": { text: 'é 🦊 \u0000\u2028 \ud800 \\ "' },
		"every byte": { payloadBase64: base64(everyByte) },
		"no bytes": { payloadBase64: "" },
	})) {
		test(`${what} comes back as it was appended`, async (scene) => {
			const held = await scene.start();
			await append(scene, held, frame);
			const [found] = await framesOf(scene, held.id);
			expect(found).toMatchObject({ ...frame, type: frame.text === undefined ? "data" : "text" });
		});
	}

	test("a frame may have 64 KiB, and no byte more", async (scene) => {
		const held = await scene.start();
		const longest = { text: "ä".repeat(32 * KIB) };
		const bytes = { payloadBase64: base64(Buffer.alloc(64 * KIB, everyByte)) };
		await append(scene, held, longest, bytes);
		for (const [frame, field] of [
			[{ text: `${longest.text}x` }, "frames[0]"],
			[{ payloadBase64: base64(Buffer.alloc(64 * KIB + 1)) }, "frames[0]"],
			[{ mode: "summary", patch: "x".repeat(64 * KIB) }, "frames[0]"],
		] as const) {
			expect(await refusal(append(scene, held, frame))).toMatchObject({
				code: "payload_too_large",
				status: 413,
				details: { field, limit: 64 * KIB },
			});
		}
		const found = await framesOf(scene, held.id);
		expect([found.length, found[0]?.text === longest.text]).toEqual([2, true]);
		expect(found[1]?.payloadBase64 === bytes.payloadBase64).toBe(true);
	});

	test("frames of one call may have 1 MiB together", async (scene) => {
		const held = await scene.start();
		const frames = Array.from({ length: 17 }, () => ({ text: "x".repeat(64 * KIB) }));
		expect(await refusal(append(scene, held, ...frames))).toMatchObject({ code: "payload_too_large", status: 413 });
		expect(await framesOf(scene, held.id)).toEqual([]);
		await append(scene, held, ...frames.slice(1));
		expect(await framesOf(scene, held.id)).toHaveLength(16);
	});

	test("what is appended at the same time is all kept, and what came in one call stays together", async (scene) => {
		const held = await scene.start();
		const calls = Array.from({ length: 20 }, (_, call) => numbers(5).map((n) => `${call} ${n}`));
		await Promise.all(calls.map((frames) => append(scene, held, ...frames)));
		const found = await textsOf(scene, held.id);
		expect(found).toHaveLength(100);
		for (const frames of calls) {
			const at = found.indexOf(frames[0]);
			expect(found.slice(at, at + 5)).toEqual(frames);
		}
	});

	test("a range is read from one id to another, both counted", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "0", "1", "2");
		await append(scene, held, "3");
		await append(scene, held, "4", "5");
		const ids = (await framesOf(scene, held.id)).map(({ id }) => id);
		const read = async (range: object) => texts((await scene.backend.streams.read(held.id, 0, range)).frames);
		expect(await read({})).toEqual(numbers(6));
		expect(await read({ from: ids[1] })).toEqual(numbers(5, 1));
		expect(await read({ to: ids[3] })).toEqual(numbers(4));
		expect(await read({ from: ids[2], to: ids[4] })).toEqual(numbers(3, 2));
		expect(await read({ from: ids[3], to: ids[3] })).toEqual(["3"]);
		expect(await read({ from: ids[4], to: ids[1] })).toEqual([]);
		expect(await read({ from: "1000000-0" })).toEqual([]);
		expect(await read({ from: ids[1], limit: 2 })).toEqual(["1", "2"]);
	});

	test("a page ends at its limit and says where to read on, until there is no more", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 5; n++) await append(scene, held, ...numbers(5, 5 * n));
		for (const limit of [1, 4, 5, 24, 25, 26]) {
			const seen: (string | undefined)[] = [];
			let from: string | undefined;
			do {
				const page = await scene.backend.streams.read(held.id, 0, from === undefined ? { limit } : { from, limit });
				expect(page.frames.length).toBeLessThanOrEqual(limit);
				seen.push(...texts(page.frames));
				from = page.nextFrom;
			} while (from !== undefined);
			expect(seen).toEqual(numbers(25));
		}
	});

	test("frames of all modes stand in the order they came, on every page", async (scene) => {
		const held = await scene.start();
		const modes = ["durable", "summary", "best_effort"] as const;
		const frame = (n: number): GivenFrame => {
			const mode = modes[(n * 7) % 3] ?? "durable";
			return mode === "summary" ? { mode, type: `${n}`, patch: {} } : { mode, type: `${n}`, text: "" };
		};
		for (let n = 0; n < 60; n += 4) await append(scene, held, frame(n), frame(n + 1), frame(n + 2), frame(n + 3));
		for (const limit of [1, 3, 7, 100]) {
			const seen: string[] = [];
			let from: string | undefined;
			do {
				const page = await scene.backend.streams.read(held.id, 0, from === undefined ? { limit } : { from, limit });
				seen.push(...page.frames.map(({ type }) => type));
				from = page.nextFrom;
			} while (from !== undefined);
			expect(seen).toEqual(numbers(60));
		}
	});

	test("a page of large frames ends early, and none is left out", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 10; n++)
			await append(scene, held, ...numbers(8, 8 * n).map((text) => ({ text: text.padEnd(64 * KIB, "x") })));
		const first = await scene.backend.streams.read(held.id, 0, { limit: 10_000 });
		expect(first.frames.length).toBeLessThan(80);
		expect(first.nextFrom).toBeDefined();
		expect((await textsOf(scene, held.id)).map((text) => text?.replaceAll("x", ""))).toEqual(numbers(80));
	});

	for (const [what, range, field] of [
		["a limit of 0", { limit: 0 }, "limit"],
		["a limit over 10000", { limit: 10_001 }, "limit"],
		["a limit that is no integer", { limit: 1.5 }, "limit"],
		["a from that is no id", { from: "first" }, "from"],
		["a from that is no id of ours", { from: "01-0" }, "from"],
		["a to that is no id", { to: "1" }, "to"],
	] as const) {
		test(`${what} is refused, not clamped`, async (scene) => {
			const held = await scene.start();
			await append(scene, held, "a");
			expect(await refusal(scene.backend.streams.read(held.id, 0, range as never))).toMatchObject({
				code: "invalid_input",
				status: 400,
				details: { field },
			});
		});
	}

	for (const attempt of [-1, 0.5, 1_000_001, "0"]) {
		test(`the attempt ${JSON.stringify(attempt)} is refused`, async (scene) => {
			const id = await scene.create();
			const { streams } = scene.backend;
			for (const call of [streams.read, streams.tail])
				expect(await refusal(call.call(streams, id, attempt as never))).toMatchObject({
					code: "invalid_input",
					details: { field: "attempt" },
				});
			expect((await refusal(streams.summary(id, attempt as never))).code).toBe("invalid_input");
		});
	}

	for (const [what, frames, field] of [
		["no frames", [], "frames"],
		["too many frames", Array.from({ length: 1001 }, () => ({ text: "" })), "frames"],
		["a frame of nothing", [{ text: "a" }, {}], "frames[1]"],
		["a frame of two things", [{ text: "a", payloadBase64: "" }], "frames[0]"],
		["a mode nobody knows", [{ text: "a", mode: "fast" }], "frames[0].mode"],
		["a durable patch", [{ patch: {} }], "frames[0].mode"],
		["a summary of text", [{ text: "a", mode: "summary" }], "frames[0].mode"],
		["a ttl of a durable frame", [{ text: "a", ttlMs: 5 }], "frames[0].ttlMs"],
		["a ttl of 0", [{ text: "a", mode: "best_effort", ttlMs: 0 }], "frames[0].ttlMs"],
		["a ttl over an hour", [{ text: "a", mode: "best_effort", ttlMs: 3_600_001 }], "frames[0].ttlMs"],
		["a number of 0", [{ text: "a", seq: 0 }], "frames[0].seq"],
		["numbers that do not ascend", [{ text: "a", seq: 2 }, { text: "b" }, { text: "c", seq: 2 }], "frames[2].seq"],
		["bytes that are no base64", [{ payloadBase64: "A" }], "frames[0].payloadBase64"],
		["an empty type", [{ text: "a", type: "" }], "frames[0].type"],
		["a long type", [{ text: "a", type: "x".repeat(65) }], "frames[0].type"],
		["a field nobody knows", [{ text: "a", id: "0-0" }], "frames[0].id"],
	] as const) {
		test(`${what} is refused by name, and nothing of the call is kept`, async (scene) => {
			const held = await scene.start();
			const error = await refusal(append(scene, held, ...(frames as readonly GivenFrame[])));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field } });
			expect(await framesOf(scene, held.id)).toEqual([]);
		});
	}

	test("streams of another's work do not exist", async (scene) => {
		const ada = scene.as({ actor: "ada", namespace: "a" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		const { id } = await ada.executions.create({ kind: "job" });
		const [claimed] = await ada.leases.claim({ workerId: "w", instanceId: "w-1" });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		const appended = { fence, frames: [{ text: "secret" }, { mode: "summary" as const, patch: { secret: 1 } }] };
		await ada.leases.appendFrames(id, appended);
		for (const call of [
			() => bob.leases.appendFrames(id, appended),
			() => bob.streams.read(id, 0),
			() => bob.streams.tail(id, 0, { waitMs: 1000 }),
			() => bob.streams.summary(id, 0),
		])
			expect((await refusal(call())).code).toBe("execution_not_found");
		expect((await ada.streams.read(id, 0)).frames).toHaveLength(2);
	});

	test("appending is no event and no change of the execution", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a");
		const [types, execution] = [await scene.eventTypes(held.id), await scene.get(held.id)];
		await append(scene, held, "b", { mode: "summary", patch: { a: 1 } });
		expect(await scene.eventTypes(held.id)).toEqual(types);
		expect(await scene.get(held.id)).toEqual(execution);
	});

	test("streams go with their execution, and leave nothing behind", async (scene) => {
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 0 } } };
		const held = await scene.start({ policy });
		for (let n = 0; n < 300; n++) await append(scene, held, `${n}`, { mode: "best_effort", text: "x" });
		await append(scene, held, { mode: "summary", patch: { a: 1 } });
		await scene.backend.leases.fail(held.id, { fence: held.fence, reason: "broken" });
		await scene.clock.advance(1);
		const again = await scene.take();
		await append(scene, again, "last");
		await scene.backend.leases.complete(held.id, { fence: again.fence });
		expect((await keptOf(scene, held.id)).length).toBeGreaterThan(600);
		await scene.backend.executions.delete(held.id);
		await scene.clock.advance(1000);
		expect((await refusal(scene.backend.streams.read(held.id, 0))).code).toBe("execution_not_found");
		expect(await keptOf(scene, held.id)).toEqual([]);
	});

	test("retention removes all bytes of a stream", async (scene) => {
		const held = await scene.start({ policy: { retentionMs: 1000 } });
		for (let n = 0; n < 10; n++) await append(scene, held, "x".repeat(1000), { mode: "summary", patch: { n } });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.advance(999);
		expect(await framesOf(scene, held.id)).toHaveLength(20);
		await scene.clock.advance(1001);
		expect(await keptOf(scene, held.id)).toEqual([]);
	});
}
