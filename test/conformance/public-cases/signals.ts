import { expect } from "vitest";
import type { FlowFabricError } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";
import { namesOf, send, suspended, wait } from "../suspended-work.ts";

const signalsOf = async (scene: Scene, id: string) => (await scene.backend.waitpoints.signals(id)).signals;

const toldBy = ({ code, status, message, retryable, details }: FlowFabricError) => ({
	code,
	status,
	message,
	retryable,
	details,
});

const notValid = {
	code: "invalid_token",
	status: 401,
	message: "the waitpoint's token is not valid",
	retryable: false,
	details: {},
};

/** What comes to a waitpoint, and what becomes of it. */
export function signalCases(test: PublicCase): void {
	test("a signal that satisfies the condition resumes the execution", async (scene) => {
		const work = await suspended(scene);
		expect(await work.send()).toEqual({
			status: "accepted",
			signalId: expect.stringMatching(/^sg_[0-9a-f]{32}_\d+$/),
			effect: "resumed",
		});
		expect((await scene.get(work.id)).publicState).toBe("waiting");
	});

	test("what a signal carries reaches the resumed worker: payload, source, category and correlation id", async (scene) => {
		const work = await suspended(scene);
		const said = {
			payload: { approved: true, by: ["ann"] },
			source: { type: "person", identity: "ann" },
			category: "approval",
			correlationId: "c-7",
		};
		const { signalId } = await work.send("go", said);
		expect((await scene.take()).signals).toEqual([
			{
				id: signalId,
				name: "go",
				waitpoint: "w",
				waitpointId: work.at().id,
				contentType: "application/json",
				at: scene.now,
				...said,
			},
		]);
	});

	test("a signal may carry nothing, null, text and bytes", async (scene) => {
		const names = ["nothing", "null", "text", "bytes"];
		const work = await suspended(scene, { condition: { allOf: names.map((signal) => ({ signal })) } });
		const bytes = Buffer.from([0, 255, 1, 10]).toString("base64");
		await work.send("nothing");
		await work.send("null", { payload: null });
		await work.send("text", { payload: "plain\n", contentType: "text/plain" });
		await work.send("bytes", { payloadBase64: bytes, contentType: "image/png" });
		const [nothing, none, text, octets] = (await scene.take()).signals;
		expect(nothing).not.toHaveProperty("payload");
		expect(none).toMatchObject({ payload: null, contentType: "application/json" });
		expect(text).toMatchObject({ payload: "plain\n", contentType: "text/plain" });
		expect(octets).toMatchObject({ payloadBase64: bytes, contentType: "image/png" });
	});

	test("payloads of any size are kept apart from the record, and handed over whole", async (scene) => {
		const work = await suspended(scene);
		const payload = { text: "é".repeat(60_000) };
		await work.send("go", { payload });
		expect((await scene.take()).signals).toMatchObject([{ payload }]);
	});

	test("where payloads are over 1 MiB together the rest is told by its size and read apart", async (scene) => {
		const names = ["a", "b", "c", "d", "e", "f"];
		const work = await suspended(scene, { condition: { allOf: names.map((signal) => ({ signal })) } });
		for (const name of names) await work.send(name, { payload: name.repeat(200_000) });
		const { signals } = await scene.take();
		expect(signals.map(({ payload, payloadSize }) => payload === undefined && payloadSize)).toEqual([
			false,
			false,
			false,
			false,
			false,
			200_002,
		]);
		const { signals: apart, nextCursor } = await scene.backend.waitpoints.signals(work.id, { limit: 5 });
		expect(apart).toHaveLength(5);
		const rest = await scene.backend.waitpoints.signals(work.id, nextCursor ? { cursor: nextCursor } : {});
		expect(rest).toMatchObject({ signals: [{ name: "f", payload: "f".repeat(200_000) }] });
		expect(rest).not.toHaveProperty("nextCursor");
	});

	test("a signal that nobody waits for is kept and told as ignored", async (scene) => {
		const work = await suspended(scene);
		expect(await work.send("other", { payload: 5 })).toMatchObject({ status: "accepted", effect: "ignored" });
		expect(await signalsOf(scene, work.id)).toMatchObject([{ name: "other", payload: 5 }]);
		await work.send();
		expect(namesOf((await scene.take()).signals)).toEqual(["go"]);
	});

	test("sent again under its key it is a duplicate of the first, and counts once", async (scene) => {
		const work = await suspended(scene, { condition: { count: { n: 2, distinctBy: "source" } } });
		const source = { type: "person", identity: "ann" };
		const first = await work.send("yes", { idempotencyKey: "k", source });
		expect(first).toMatchObject({ status: "accepted", effect: "appended" });
		const again = await work.send("yes", { idempotencyKey: "k", source: { ...source, identity: "bob" } });
		expect(again).toEqual({ ...first, status: "duplicate" });
		expect(await signalsOf(scene, work.id)).toHaveLength(1);
	});

	test("a retried signal is a duplicate also after it resumed the execution, and after that ended", async (scene) => {
		const work = await suspended(scene);
		const first = await work.send("go", { idempotencyKey: "k" });
		expect(await work.send("go", { idempotencyKey: "k" })).toEqual({ ...first, status: "duplicate" });
		const { fence } = await scene.take();
		expect(await work.send("go", { idempotencyKey: "k" })).toEqual({ ...first, status: "duplicate" });
		await scene.backend.leases.complete(work.id, { fence });
		expect(await work.send("go", { idempotencyKey: "k" })).toEqual({ ...first, status: "duplicate" });
		expect(await refusal(work.send("go", { idempotencyKey: "other" }))).toMatchObject({ code: "waitpoint_closed" });
	});

	test("a retried early signal is a duplicate, before and after it was replayed", async (scene) => {
		const held = await scene.start();
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		const first = await send(scene, held.id, early, "a", { idempotencyKey: "k" });
		expect(first.effect).toBe("buffered");
		expect(await send(scene, held.id, early, "a", { idempotencyKey: "k" })).toMatchObject({ status: "duplicate" });
		const work = await wait(scene, held, { condition: { allOf: [{ signal: "a" }, { signal: "b" }] } });
		expect(await work.send("a", { idempotencyKey: "k" })).toMatchObject({
			status: "duplicate",
			signalId: first.signalId,
		});
		await work.send("b");
		expect(namesOf((await scene.take()).signals)).toEqual(["a", "b"]);
	});

	test("after 24 hours a key is forgotten", async (scene) => {
		const work = await suspended(scene, { condition: { count: { n: 9, distinctBy: "signal" } } });
		const first = await work.send("a", { idempotencyKey: "k" });
		await scene.clock.advance(86_399_999);
		expect(await work.send("b", { idempotencyKey: "k" })).toMatchObject({ status: "duplicate" });
		await scene.clock.advance(1);
		const again = await work.send("b", { idempotencyKey: "k" });
		expect(again).toMatchObject({ status: "accepted", effect: "appended" });
		expect(again.signalId).not.toBe(first.signalId);
	});

	test("keys belong to their waitpoint", async (scene) => {
		const condition = { allOf: [{ signal: "go" }, { signal: "go", waitpoint: "v" }] };
		const work = await suspended(scene, { condition, waitpoints: [{ key: "w" }, { key: "v" }] });
		expect((await work.send("go", { idempotencyKey: "k", to: "w" })).status).toBe("accepted");
		expect((await work.send("go", { idempotencyKey: "k", to: "v" })).effect).toBe("resumed");
	});

	test("an empty key is none", async (scene) => {
		const work = await suspended(scene, { condition: { count: { n: 2, distinctBy: "signal" } } });
		await work.send("a", { idempotencyKey: "" });
		expect(await work.send("b", { idempotencyKey: "" })).toMatchObject({ status: "accepted", effect: "resumed" });
	});

	test("a closed waitpoint takes nothing more", async (scene) => {
		const work = await suspended(scene);
		await work.send();
		expect(await refusal(work.send())).toMatchObject({
			code: "waitpoint_closed",
			status: 409,
			retryable: false,
			details: { waitpointId: work.at().id },
		});
		expect(await signalsOf(scene, work.id)).toHaveLength(1);
	});

	test("the token of an earlier suspension never resumes a later one", async (scene) => {
		const first = await suspended(scene);
		await first.send();
		const second = await wait(scene, await scene.take());
		expect(await refusal(first.send())).toMatchObject({ code: "waitpoint_closed" });
		const mixed = { id: second.at().id, key: "w", token: first.at().token, callbackUrl: "" };
		expect(await refusal(send(scene, first.id, mixed))).toMatchObject({ code: "invalid_token" });
		expect((await scene.get(first.id)).publicState).toBe("suspended");
		expect((await second.send()).effect).toBe("resumed");
	});

	test("a token opens nothing but its own waitpoint", async (scene) => {
		const work = await suspended(scene, { waitpoints: [{ key: "w" }, { key: "v" }] });
		const other = await suspended(scene);
		const [w, v] = [work.at("w"), work.at("v")];
		const wrong = [
			() => send(scene, work.id, { ...w, token: v.token }),
			() => send(scene, work.id, { ...w, token: other.at().token }),
			() => send(scene, other.id, w),
			() => send(scene, work.id, other.at()),
		];
		for (const call of wrong) expect(await refusal(call())).toMatchObject({ code: "invalid_token", status: 401 });
		expect(await signalsOf(scene, work.id)).toEqual([]);
		expect(await signalsOf(scene, other.id)).toEqual([]);
	});

	test("whatever is wrong with execution, waitpoint or token, the refusal is the same", async (scene) => {
		const work = await suspended(scene);
		const at = work.at();
		const [kid = "", mac = ""] = at.token.split(".");
		const forged = `${kid}.${mac.startsWith("A") ? "B" : "A"}${mac.slice(1)}`;
		const long = "x".repeat(5000);
		const wrong: [id: string, waitpointId: string, token: string][] = [
			[work.id, at.id, forged],
			[work.id, at.id, ""],
			[work.id, at.id, "."],
			[work.id, at.id, mac],
			[work.id, at.id, `k2.${mac}`],
			[work.id, at.id, at.token.slice(0, -1)],
			[work.id, at.id, `${at.token}A`],
			[work.id, at.id, at.token.toUpperCase()],
			[work.id, at.id, long],
			[work.id, `wp_${"0".repeat(32)}_0`, at.token],
			[work.id, "wp_nonsense", at.token],
			[work.id, "", at.token],
			[work.id, long, at.token],
			[unknownId, at.id, at.token],
			["ex_nonsense", at.id, at.token],
			["ex nonsense/../", at.id, at.token],
			[long.slice(0, 300), at.id, at.token],
			[unknownId, `wp_${"0".repeat(32)}_0`, forged],
		];
		for (const [id, waitpointId, token] of wrong) {
			const error = await refusal(scene.backend.waitpoints.signal(id, { waitpointId, token, name: "go" }));
			expect(toldBy(error), `${id} ${waitpointId} ${token}`.slice(0, 200)).toEqual(notValid);
		}
		expect(await scene.eventTypes(work.id)).toEqual(["created", "claimed", "suspended"]);
	});

	test("the token is asked before what is known of a key that was sent", async (scene) => {
		const work = await suspended(scene);
		await work.send("go", { idempotencyKey: "k" });
		const bad = { ...work.at(), token: `${work.at().token}x` };
		expect(await refusal(send(scene, work.id, bad, "go", { idempotencyKey: "k" }))).toMatchObject({
			code: "invalid_token",
		});
	});

	test("the token of a waitpoint that expired is told as expired", async (scene) => {
		const held = await scene.start({}, { leaseMs: 600_000 });
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w", expiresMs: 1000 });
		await send(scene, held.id, early);
		await scene.clock.advance(1000);
		expect(await refusal(send(scene, held.id, early))).toMatchObject({ code: "token_expired", status: 401 });
		expect(await refusal(send(scene, held.id, { ...early, token: "k1.x" }))).toMatchObject({ code: "invalid_token" });
	});

	test("over policy.maxSignals there are no more, but what was sent before is still known", async (scene) => {
		const condition = { signal: "last" };
		const work = await suspended(scene, { condition }, { policy: { maxSignals: 2 } });
		const first = await work.send("a", { idempotencyKey: "k" });
		await work.send("b");
		expect(await refusal(work.send("last"))).toMatchObject({
			code: "signal_limit_exceeded",
			status: 409,
			details: { limit: 2 },
		});
		expect(await work.send("a", { idempotencyKey: "k" })).toEqual({ ...first, status: "duplicate" });
		expect((await scene.get(work.id)).publicState).toBe("suspended");
	});

	test("signals are counted against the limit over all suspensions, but not those of a timeout", async (scene) => {
		const first = await suspended(scene, {}, { policy: { maxSignals: 2 } });
		await first.send();
		const timeout = { timeoutMs: 10, timeoutBehavior: "resume" } as const;
		await wait(scene, await scene.take(), { ...timeout, waitpoints: [{ key: "v" }] });
		await scene.clock.advance(10);
		const third = await wait(scene, await scene.take(), { waitpoints: [{ key: "u" }] });
		expect((await third.send("x")).effect).toBe("ignored");
		expect(await refusal(third.send())).toMatchObject({ code: "signal_limit_exceeded" });
	});

	test("nobody sends a signal as an operator or as the system", async (scene) => {
		const work = await suspended(scene);
		for (const type of ["operator", "system"]) {
			expect(await refusal(work.send("go", { source: { type, identity: "me" } }))).toMatchObject({
				code: "invalid_input",
				details: { field: "source.type" },
			});
		}
	});

	test("what a signal does not have, or has wrong, is refused by name", async (scene) => {
		const work = await suspended(scene);
		const bad: [field: string, sent: object][] = [
			["name", { name: "" }],
			["name", { name: "x".repeat(257) }],
			["source", { source: "ann" }],
			["payloadBase64", { payload: 1, payloadBase64: "AAAA" }],
			["payloadBase64", { payloadBase64: "A" }],
			["colour", { colour: "red" }],
		];
		for (const [field, sent] of bad) {
			const error = await refusal(work.send("go", sent));
			expect(error.code).toBe("invalid_input");
			expect(error.message).toContain(field);
		}
		expect(await signalsOf(scene, work.id)).toEqual([]);
	});

	test("signals at the same moment resume it once", async (scene) => {
		const work = await suspended(scene);
		const told = await Promise.allSettled(Array.from({ length: 8 }, () => work.send()));
		const effects = told.map((each) => (each.status === "fulfilled" ? each.value.effect : each.reason.code));
		expect(effects.sort()).toEqual([
			...Array.from({ length: 1 }, () => "resumed"),
			...Array(7).fill("waitpoint_closed"),
		]);
		expect((await scene.eventTypes(work.id)).filter((type) => type === "resumed")).toHaveLength(1);
	});

	test("signals that an execution has had are listed in the order they came, early ones and ignored ones too", async (scene) => {
		const held = await scene.start();
		expect(await signalsOf(scene, held.id)).toEqual([]);
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		await send(scene, held.id, early, "a");
		const work = await wait(scene, held, { timeoutMs: 10, timeoutBehavior: "resume" });
		await work.send("b");
		await scene.clock.advance(10);
		expect(namesOf(await signalsOf(scene, held.id))).toEqual(["a", "b", "timeout"]);
		expect(await refusal(scene.backend.waitpoints.signals(unknownId))).toMatchObject({ code: "execution_not_found" });
	});

	test("what is posted to the callback URL is a signal, the body its payload", async (scene) => {
		const work = await suspended(scene, { reason: "waiting_for_callback", condition: { signal: "callback" } });
		const { id, token } = work.at();
		const bytes = Buffer.from(JSON.stringify({ paid: true }));
		const told = await scene.backend.waitpoints.callback(id, { token, bytes, contentType: "application/json" });
		expect(told).toMatchObject({ status: "accepted", effect: "resumed" });
		expect((await scene.take()).signals).toMatchObject([
			{ name: "callback", payload: { paid: true }, source: { type: "callback", identity: id } },
		]);
	});

	test("a callback may name its signal", async (scene) => {
		const work = await suspended(scene, { condition: { allOf: [{ signal: "a" }, { signal: "b" }] } });
		const { id, token } = work.at();
		const said = { token, bytes: Buffer.from("hello"), contentType: "text/plain" };
		const { waitpoints } = scene.backend;
		expect((await waitpoints.callback(id, said)).effect).toBe("ignored");
		expect((await waitpoints.callback(id, { ...said, name: "a" })).effect).toBe("appended");
		expect((await waitpoints.callback(id, { ...said, name: "b" })).effect).toBe("resumed");
		expect((await scene.take()).signals).toMatchObject([
			{ name: "a", payload: "hello", contentType: "text/plain" },
			{ name: "b" },
		]);
	});

	test("a callback that is sent again under its key is a duplicate", async (scene) => {
		const work = await suspended(scene, { condition: { signal: "callback" } });
		const { id, token } = work.at();
		const request = { token, bytes: new Uint8Array([0, 1]), idempotencyKey: "k" };
		const first = await scene.backend.waitpoints.callback(id, request);
		expect(await scene.backend.waitpoints.callback(id, request)).toEqual({ ...first, status: "duplicate" });
		expect((await scene.take()).signals).toMatchObject([
			{ payloadBase64: "AAE=", contentType: "application/octet-stream" },
		]);
	});

	test("a callback with a wrong token, or to no waitpoint, is refused alike", async (scene) => {
		const work = await suspended(scene);
		const { id, token } = work.at();
		const bytes = Buffer.from("{}");
		for (const [waitpointId, given] of [
			[id, `${token}x`],
			[`wp_${"0".repeat(32)}_0`, token],
			["nonsense", token],
			["x".repeat(300), token],
		] as const) {
			const error = await refusal(scene.backend.waitpoints.callback(waitpointId, { token: given, bytes }));
			expect(toldBy(error)).toEqual(notValid);
		}
	});
}
