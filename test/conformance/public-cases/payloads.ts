import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

const MIB = 1024 * 1024;
const everyByte = Uint8Array.from({ length: 256 }, (_, n) => n);
const unicode = 'née 日本語 🦊 e\u0301 \u0000 \u2028 " \\ \ufeff\ufffd';

/** JSON values that must come back as they were. */
const values: Record<string, unknown> = {
	"an object": { a: 1, b: [true, null, "x"], c: { d: {} } },
	"a string": "plain text",
	"an empty string": "",
	"a number": 1.5e-7,
	zero: 0,
	false: false,
	null: null,
	"an empty array": [],
	"text of every script": unicode,
	"a key of every script": { [unicode]: unicode },
	"a key named __proto__": JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}'),
	"a large value": { text: "ä".repeat(100_000) },
};

export function payloadCases(test: PublicCase): void {
	for (const [what, value] of Object.entries(values)) {
		test(`${what} comes back as input and as result`, async (scene) => {
			const run = await scene.ff.submit("job", value);
			const { id, fence, input, contentType } = await scene.take();
			expect(input).toEqual(value);
			expect(contentType).toBe("application/json");
			await scene.backend.leases.complete(id, { fence, result: value });
			expect(await run.result()).toEqual(value);
			expect(JSON.parse(Buffer.from((await scene.backend.executions.result(id)).bytes).toString())).toEqual(value);
		});
	}

	test("work without input has none", async (scene) => {
		const run = await scene.ff.submit("job");
		const claimed = await scene.take();
		expect(claimed).not.toHaveProperty("input");
		expect(claimed).not.toHaveProperty("inputBase64");
		expect(await scene.backend.executions.input(run.id)).toBeUndefined();
	});

	test("input can be read again at any time", async (scene) => {
		const { id } = await scene.finished({ input: { a: 1 } });
		const input = await scene.backend.executions.input(id);
		expect(input?.contentType).toBe("application/json");
		expect(Buffer.from(input?.bytes ?? []).toString()).toBe('{"a":1}');
	});

	for (const [what, bytes] of [
		["every byte", everyByte],
		["no bytes", new Uint8Array()],
		["1 MiB of bytes", Buffer.alloc(MIB, everyByte)],
		["bytes that are no UTF-8", Uint8Array.from([0xff, 0xfe, 0xc3, 0x28, 0x80])],
	] as const) {
		test(`${what} come back as input and as result`, async (scene) => {
			const run = await scene.ff.submit("job", bytes);
			const { id, fence, inputBase64 = "", contentType } = await scene.take();
			expect(contentType).toBe("application/octet-stream");
			expectSame(Buffer.from(inputBase64, "base64"), bytes);
			expectSame((await scene.backend.executions.input(id))?.bytes, bytes);
			await scene.backend.leases.complete(id, { fence, resultBase64: Buffer.from(bytes).toString("base64") });
			expectSame((await scene.backend.executions.result(id)).bytes, bytes);
			const result = await run.result();
			expect(result).toBeInstanceOf(Uint8Array);
			expectSame(result, bytes);
		});
	}

	test("text comes back as text", async (scene) => {
		const id = await scene.create({ input: unicode, contentType: "text/markdown" });
		const { fence, input, contentType } = await scene.take();
		expect([input, contentType]).toEqual([unicode, "text/markdown"]);
		await scene.backend.leases.complete(id, { fence, result: unicode, contentType: "text/plain" });
		expect(await scene.ff.result(id)).toBe(unicode);
		expect((await scene.backend.executions.result(id)).contentType).toBe("text/plain");
	});

	test("empty text is text, not nothing", async (scene) => {
		const id = await scene.create({ input: "", contentType: "text/plain" });
		const { fence, input } = await scene.take();
		expect(input).toBe("");
		await scene.backend.leases.complete(id, { fence, result: "", contentType: "text/plain" });
		expect(await scene.ff.result(id)).toBe("");
	});

	test("bytes keep the type they were given under, whatever they hold", async (scene) => {
		for (const contentType of ["image/png", "application/json", "text/plain", "application/vnd.x+json; v=1"]) {
			const bytes = Uint8Array.from([0xff, 0x00, 0x7b]);
			const { id, fence } = await scene.start({ inputBase64: Buffer.from(bytes).toString("base64"), contentType });
			expect(await scene.backend.executions.input(id)).toMatchObject({ contentType });
			expectSame((await scene.backend.executions.input(id))?.bytes, bytes);
			await scene.backend.leases.complete(id, {
				fence,
				resultBase64: Buffer.from(bytes).toString("base64"),
				contentType,
			});
			expect(await scene.backend.executions.result(id)).toMatchObject({ contentType });
			expectSame((await scene.backend.executions.result(id)).bytes, bytes);
		}
	});

	test("JSON under its own media type comes back as a value", async (scene) => {
		const contentType = "application/vnd.thing+json";
		const id = await scene.create({ input: { a: 1 }, contentType });
		const { fence, ...claimed } = await scene.take();
		expect(claimed).toMatchObject({ input: { a: 1 }, contentType });
		await scene.backend.leases.complete(id, { fence, result: { b: 2 }, contentType });
		expect(await scene.ff.result(id)).toEqual({ b: 2 });
	});

	test("JSON of exactly 1 MiB is accepted, one byte more is refused", async (scene) => {
		const text = "x".repeat(MIB - 2);
		const { id, fence } = await scene.start({ input: text });
		expect(await refusal(scene.create({ input: `${text}x` }))).toMatchObject({
			code: "payload_too_large",
			status: 413,
			details: { field: "input", limit: MIB },
		});
		const tooLarge = scene.backend.leases.complete(id, { fence, result: `${text}x` });
		expect(await refusal(tooLarge)).toMatchObject({ code: "payload_too_large", details: { field: "result" } });
		expect((await scene.get(id)).publicState).toBe("active");
		expect(await scene.backend.leases.complete(id, { fence, result: text })).toEqual({ publicState: "completed" });
		expect(await scene.ff.result(id)).toBe(text);
	});

	test("the limit counts bytes, not characters", async (scene) => {
		const error = await refusal(scene.create({ input: "é".repeat(MIB / 2) }));
		expect(error.code).toBe("payload_too_large");
	});

	test("bytes over 1 MiB are refused", async (scene) => {
		const base64 = Buffer.alloc(MIB + 1).toString("base64");
		expect((await refusal(scene.create({ inputBase64: base64 }))).code).toBe("payload_too_large");
		const { id, fence } = await scene.start();
		expect((await refusal(scene.backend.leases.complete(id, { fence, resultBase64: base64 }))).code).toBe(
			"payload_too_large",
		);
	});

	test("completing without a result leaves none", async (scene) => {
		const { id } = await scene.finished();
		expect(await refusal(scene.backend.executions.result(id))).toMatchObject({ code: "result_not_found", status: 404 });
		expect(await scene.ff.result(id)).toBeUndefined();
		expect((await scene.backend.executions.attempts(id))[0]).not.toHaveProperty("result");
	});

	test("a result is not ready before the end", async (scene) => {
		const ids = [await scene.create({ delayMs: 1000 }), (await scene.start()).id, await scene.create()];
		for (const id of ids) {
			expect(await refusal(scene.backend.executions.result(id))).toMatchObject({
				code: "result_not_ready",
				status: 409,
			});
		}
	});

	test("work that ended otherwise has no result", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect(await refusal(scene.backend.executions.result(id))).toMatchObject({ code: "result_not_found", status: 404 });
	});

	test("results of two runs of the same work are kept apart", async (scene) => {
		const big = (letter: string) => letter.repeat(50_000);
		const { id, fence } = await scene.start();
		await scene.backend.leases.complete(id, { fence, result: big("a") });
		await scene.backend.executions.replay(id);
		const again = await scene.take();
		await scene.backend.leases.complete(id, { fence: again.fence, result: big("b") });
		expect(await scene.ff.result(id)).toBe(big("b"));
		expect((await scene.backend.executions.attempts(id)).map(({ result }) => result?.size)).toEqual([50_002, 50_002]);
	});
}

/** Without the long printout of two unequal megabytes. */
function expectSame(found: unknown, bytes: Uint8Array): void {
	if (!(found instanceof Uint8Array)) throw new TypeError(`no bytes but ${typeof found}`);
	expect(found.length).toBe(bytes.length);
	expect(Buffer.compare(found, bytes)).toBe(0);
}
