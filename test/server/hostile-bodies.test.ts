import { expect, onTestFinished, test, vi } from "vitest";
import type { FlowFabricError } from "../../src/contract/errors.ts";
import { createManyRequest, createRequest } from "../../src/contract/executions.ts";
import { setTagsRequest } from "../../src/contract/tags.ts";
import type { Shape } from "../../src/contract/validate.ts";
import { claimRequest, completeManyRequest, renewRequest } from "../../src/contract/worker-protocol.ts";
import { registerWorkerRequest } from "../../src/contract/workers.ts";
import { Stand, until } from "./stand.ts";

const MB = 1024 * 1024;

/** A list of any length that tells how many of its items were looked at. */
function longList(length: number): { list: unknown[]; lookedAt: () => number } {
	let lookedAt = 0;
	const list = new Proxy(new Array(length), {
		get(target, name, receiver) {
			if (typeof name === "string" && /^\d+$/.test(name)) lookedAt += 1;
			return Reflect.get(target, name, receiver);
		},
		has: (_, name) => typeof name === "string" && /^\d+$/.test(name),
	});
	return { list, lookedAt: () => lookedAt };
}

function refusalOf(shape: Shape<never>, value: unknown): FlowFabricError {
	try {
		shape.check(value);
	} catch (error) {
		return error as FlowFabricError;
	}
	throw new Error("it was accepted");
}

test("the length of a list is judged before any of its items is looked at, wherever it stands", () => {
	const workerId = "w";
	const instanceId = "i";
	const cases: [shape: unknown, field: string, make: (list: unknown[]) => unknown][] = [
		[renewRequest, "leases", (leases) => ({ leases })],
		[createManyRequest, "items", (items) => ({ items })],
		[completeManyRequest, "items", (items) => ({ items })],
		[claimRequest, "kinds", (kinds) => ({ workerId, instanceId, kinds })],
		[claimRequest, "lanes", (lanes) => ({ workerId, instanceId, lanes })],
		[registerWorkerRequest, "capabilities", (capabilities) => ({ workerId, lanes: ["a"], capabilities })],
		[setTagsRequest, "remove", (remove) => ({ remove })],
		[
			createRequest,
			"policy.retry.retryableCategories",
			(retryableCategories) => ({ kind: "a", policy: { retry: { retryableCategories } } }),
		],
	];
	for (const [shape, field, make] of cases) {
		const { list, lookedAt } = longList(100_000);
		const refusal = refusalOf(shape as never, make(list));
		expect(refusal).toMatchObject({ code: "invalid_input", details: { field } });
		expect(refusal.message).toContain("got an array of 100000");
		expect(lookedAt()).toBe(0);
	}
});

test("an object of a hundred thousand fields is refused by one of them, not gone through", () => {
	const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, "v"]));
	// What a validator would have to do for each of them.
	let lookedAt = 0;
	const watched = (object: object) =>
		new Proxy(object, {
			get(target, name, receiver) {
				lookedAt += 1;
				return Reflect.get(target, name, receiver);
			},
		});
	const cases: [value: unknown, field: string, problem: string][] = [
		[watched({ kind: "a", ...wide }), "k0", "is not a known field"],
		[{ kind: "a", policy: watched(wide) }, "policy.k0", "is not a known field"],
		[{ kind: "a", policy: { retry: watched(wide) } }, "policy.retry.k0", "is not a known field"],
		[{ kind: "a", tags: watched(wide) }, "tags", "must be an object of at most 64 tags, got 100000"],
	];
	for (const [value, field, problem] of cases) {
		const refusal = refusalOf(createRequest as never, value);
		expect(refusal).toMatchObject({ message: `${field}: ${problem}`, details: { field } });
	}
	expect(lookedAt).toBeLessThan(100);
});

test("an answer does not carry back what was sent, however long its names are", async () => {
	const stand = await Stand.open();
	const long = "x".repeat(MB);
	const calls: [path: string, body: unknown][] = [
		["/v1/executions", { kind: "a", [long]: 1 }],
		["/v1/executions", { kind: "a", policy: { [long]: 1 } }],
		["/v1/executions", { kind: "a", tags: { [long]: 1 } }],
		["/v1/executions", { kind: "a", tags: { [long]: "v" } }],
		["/v1/executions", { kind: long }],
		["/v1/executions", { kind: "a", requiredCapabilities: [`${long},`] }],
		["/v1/leases/complete", { items: [{ executionId: long, fence: { leaseId: "l", epoch: 1 } }] }],
		[
			"/v1/leases/complete",
			{ items: [{ executionId: [long, long.slice(0, 1000)] }, { executionId: { toString: 1 } }] },
		],
		["/v1/executions/batch", { items: [{ kind: "a", [long]: 1 }] }],
		["/v1/executions/batch", { items: [], [long]: 1 }],
	];
	for (const [path, body] of calls) {
		const { status, text } = await stand.call("POST", path, { body });
		expect([200, 400]).toContain(status);
		expect(text).toContain('"error":{');
		expect(text.length).toBeLessThan(1500);
	}
	const query = await stand.call("GET", `/v1/executions?${"x".repeat(8000)}=1`);
	expect(query.status).toBe(400);
	expect(query.text.length).toBeLessThan(500);
});

test("a large batch is answered item by item like a small one", async () => {
	const stand = await Stand.open();
	const input = "y".repeat(40_000);
	const items = [
		...Array.from({ length: 50 }, (_, n) => JSON.stringify({ kind: "job", input, priority: n })),
		'{"kind":"job","input":"\\"]},[{\\\\"}',
		'{"kind":""}',
		'{"kind":"job","input":tru}',
		` {"kind": "job", "input": "${"z".repeat(1.6 * MB)}"} `,
		'\n\t{"kind":"last"}\r\n',
	];
	const { status, json } = await stand.call("POST", "/v1/executions/batch", {
		body: ` {"items" : [${items.join(",")}] } `,
	});
	expect(status).toBe(200);
	expect(json.items).toHaveLength(items.length);
	for (const item of json.items.slice(0, 51)) expect(item).toMatchObject({ ok: true, created: true });
	expect(json.items[51]).toMatchObject({ ok: false, error: { code: "invalid_input", details: { field: "kind" } } });
	expect(json.items[52]).toMatchObject({
		ok: false,
		error: { code: "invalid_input", details: { field: "items[52]" } },
	});
	expect(json.items[53]).toMatchObject({
		ok: false,
		error: { code: "payload_too_large", details: { field: "items[53]", limit: 1.5 * MB } },
	});
	expect(json.items[54]).toMatchObject({ ok: true });
	const read = await stand.call("GET", `/v1/executions/${json.items[49].id}`);
	expect(read.json).toMatchObject({ kind: "job", priority: 49 });
	const escaped = await stand.call("GET", `/v1/executions/${json.items[50].id}/input`);
	expect(JSON.parse(escaped.text)).toBe('"]},[{\\');
});

test("a large joint complete is answered like a small one", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const result = "r".repeat(900_000);
	const body = { items: [{ executionId: id, fence, result }, { executionId: "none", result }, { result }] };
	const { json } = await stand.call("POST", "/v1/leases/complete", { body });
	expect(json.items).toMatchObject([
		{ executionId: id, ok: true, publicState: "completed" },
		{ executionId: "none", ok: false, error: { code: "invalid_input" } },
		{ executionId: "", ok: false, error: { code: "invalid_input" } },
	]);
});

test("a large body of another form is refused by name, and nothing of it is done", async () => {
	const stand = await Stand.open();
	const padding = " ".repeat(1.6 * MB);
	const good = '{"kind":"job"}';
	const many = Array.from({ length: 1001 }, () => good).join(",");
	const cases: [body: string, field: string, message: RegExp][] = [
		[`[${padding}]`, "request", /must be an object/],
		[`{${padding}}`, "items", /is required/],
		[`{"items":${padding}{}}`, "items", /must be an array of at most 1000/],
		[`{"items":[${many}${padding}]}`, "items", /must be an array of at most 1000/],
		[`{"things":[${padding}]}`, "things", /is not a known field/],
		[`{"items":[${good}${padding}],"more":1}`, "more", /is not a known field/],
		[`{"items":[${good}${padding}],"items":[]}`, "items", /twice/],
		[`{"items":[${good}${padding}]} x`, "body", /is not JSON/],
		[`{"items":[${good}${padding}`, "body", /is not JSON/],
		[`{"items":[${good},"${padding}]}`, "body", /is not JSON/],
		[`{items:[${padding}]}`, "body", /is not JSON/],
		[`{"${"i".repeat(2 * MB)}":1}`, `${"i".repeat(64)}…`, /is not a known field/],
		[`{"items":[${"[".repeat(600)}${"]".repeat(600)}${padding}]}`, "body", /nested deeper/],
	];
	for (const [body, field, message] of cases) {
		const { status, json } = await stand.call("POST", "/v1/executions/batch", { body });
		expect({ status, ...json.error }).toMatchObject({ status: 400, code: "invalid_input", details: { field } });
		expect(json.error.message).toMatch(message);
	}
	expect((await stand.call("POST", "/v1/executions/batch", { body: `{"items":[${padding}]}` })).json).toEqual({
		items: [],
	});
	expect((await stand.backend.executions.list()).executions).toEqual([]);
});

test("others are answered while a batch of many small values is being read", async () => {
	const stand = await Stand.open();
	// The smallest values make the most of a body.
	const item = `{"kind":"job","input":[${new Array(10_000).fill("[]").join(",")}]}`;
	const body = `{"items":[${new Array(300).fill(item).join(",")}]}`;
	let answered = false;
	const batch = stand.call("POST", "/v1/executions/batch", { body }).finally(() => (answered = true));
	let meanwhile = 0;
	while (!answered) {
		expect((await stand.call("GET", "/healthz")).status).toBe(200);
		if (!answered) meanwhile += 1;
	}
	const { json } = await batch;
	expect(json.items.filter(({ ok }: { ok: boolean }) => ok)).toHaveLength(300);
	// Each step of 256 KiB lets them in; parsed whole, the body would have been read by two or three at most.
	expect(meanwhile).toBeGreaterThan(10);
});

test("large inputs that one claim brings are read each in a turn of its own, and written in smaller parts", async () => {
	const stand = await Stand.open();
	const input = new Array(300_000).fill([]);
	const size = JSON.stringify(input).length;
	for (let n = 0; n < 4; n++) await stand.backend.executions.create({ kind: "big", input });
	let turn = 0;
	let isOver = false;
	const next = () => {
		turn += 1;
		if (!isOver) setImmediate(next);
	};
	next();
	const readIn: number[] = [];
	const written = new Map<number, number>();
	const isOne = (text: string | undefined) => text !== undefined && text.length >= size && text.length < 1.5 * size;
	const { parse, stringify } = JSON;
	vi.spyOn(JSON, "parse").mockImplementation((text) => {
		if (isOne(text)) readIn.push(turn);
		return parse(text);
	});
	vi.spyOn(JSON, "stringify").mockImplementation((value) => {
		const text = stringify(value);
		written.set(turn, (written.get(turn) ?? 0) + (text?.length ?? 0));
		return text;
	});
	onTestFinished(() => void vi.restoreAllMocks());
	const { json } = await stand.call("POST", "/v1/claims", { body: { workerId: "w", instanceId: "w-1", max: 4 } });
	isOver = true;
	expect(json.executions).toHaveLength(4);
	expect(json.executions[3].input).toHaveLength(300_000);
	expect(new Set(readIn).size).toBe(4);
	expect(Math.max(...written.values())).toBeLessThan(size / 2);
});

test("only so many bodies over 4 MiB are taken at once, said or streamed; one more is told to come again", async () => {
	const stand = await Stand.open({ pools: { large_bodies: 1 } });
	const { pool } = {
		pool: () => stand.call("GET", "/metrics").then(({ text }) => /large_bodies"} (\d+)/.exec(text)?.[1]),
	};
	const large = `{"items":[${" ".repeat(5 * MB)}]}`;
	const head = "POST /v1/executions/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
	const refused = { status: 429, json: { error: { code: "too_many_requests", retryable: true } } };
	const begin = [
		`${head}Content-Length: ${large.length}\r\n\r\n{"items":[`,
		`${head}Transfer-Encoding: chunked\r\n\r\n${(4.5 * MB).toString(16)}\r\n${" ".repeat(4.5 * MB)}\r\n`,
	];
	for (const begun of begin) {
		const { socket } = stand.socket();
		socket.write(begun);
		await until(async () => (await pool()) === "1");
		const one = await stand.call("POST", "/v1/executions/batch", { body: large });
		expect(one).toMatchObject(refused);
		expect(one.json.error.details).toEqual({ pool: "large_bodies", max: 1 });
		expect(one.headers.get("retry-after")).toBe("1");
		const streamed = stand.socket();
		streamed.socket.write(begin[1] as string);
		await until(() => streamed.heard().includes("too_many_requests"));
		expect(streamed.heard()).toMatch(/^HTTP\/1.1 429 /);
		// Smaller ones pass.
		const small = `{"items":[${" ".repeat(3 * MB)}]}`;
		expect((await stand.call("POST", "/v1/executions/batch", { body: small })).status).toBe(200);
		socket.destroy();
		await until(async () => (await pool()) === "0");
		expect((await stand.call("POST", "/v1/executions/batch", { body: large })).status).toBe(200);
		await until(async () => (await pool()) === "0");
	}
});

test("base64 of any length is judged without going deep", async () => {
	const stand = await Stand.open();
	const { executions } = stand.backend;
	const create = (inputBase64: string) => executions.create({ kind: "job", inputBase64 });
	await expect(create("A".repeat(16 * MB))).rejects.toMatchObject({ code: "payload_too_large" });
	for (const bad of [
		"A",
		"AB",
		"ABC",
		"A===",
		"AB=C",
		"====",
		"ABCDE===",
		"A".repeat(16 * MB + 1),
		`${"A".repeat(MB)}!`,
	]) {
		await expect(create(bad)).rejects.toMatchObject({ code: "invalid_input", details: { field: "inputBase64" } });
	}
	for (const good of ["", "ABCD", "ABC=", "AB==", "ABCDEF=="])
		expect(await create(good)).toMatchObject({ created: true });
});
