import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../src/contract/clock.ts";
import { FlowFabricError } from "../../src/contract/errors.ts";
import { ERRORS, type ErrorCode } from "../../src/kernel/errors.ts";
import { ACCESS } from "../../src/server/access.ts";
import { Stand } from "./stand.ts";

/** By this clock an hour has passed whenever it is looked at: nothing is tried a second time. */
let hours = 0;
const impatient = { ...systemClock, monotonic: () => 3_600_000 * hours++ };

const codes = Object.keys(ERRORS) as ErrorCode[];

test("every code leaves with the status, the words and the retryable of the table, and comes back as the same error", async () => {
	let next: ErrorCode = "internal";
	const stand = await Stand.open();
	const { executions } = stand.backend;
	const refusing = new Proxy(executions, {
		get: (target, name) =>
			name === "get"
				? () => Promise.reject(new FlowFabricError(next, { details: { about: next } }))
				: Reflect.get(target, name),
	});
	const refusingStand = await Stand.open({
		backendFor: (caller) => ({ ...stand.backend.as(caller), executions: refusing }),
	});
	const ff = refusingStand.connect({ clock: impatient });
	for (next of codes) {
		const { status, json, headers } = await refusingStand.call("GET", "/v1/executions/x");
		const { retryable, message } = ERRORS[next];
		expect([next, status]).toEqual([next, ERRORS[next].status]);
		expect(json).toEqual({ error: { code: next, message, retryable, details: { about: next } } });
		expect(headers.has("retry-after")).toBe(status === 429 || status === 503);
		expect(headers.has("www-authenticate")).toBe(status === 401);
		const thrown: FlowFabricError = await ff.get("x").catch((error) => error);
		expect(thrown).toBeInstanceOf(FlowFabricError);
		expect({ ...thrown, message: thrown.message }).toEqual({
			...new FlowFabricError(next, { details: { about: next } }),
			message,
		});
	}
});

test("the docs of the HTTP API name every code of the table and no other", async () => {
	const text = await readFile(new URL("../../docs/http-api.md", import.meta.url), "utf8");
	const named = [...text.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| (yes|no) \|/gm)].map(([, code, status, retryable]) => [
		code,
		{ status: Number(status), retryable: retryable === "yes" },
	]);
	expect(Object.fromEntries(named)).toEqual(
		Object.fromEntries(codes.map((code) => [code, { status: ERRORS[code].status, retryable: ERRORS[code].retryable }])),
	);
});

test("what breaks inside is told as internal, without its words, and logged with the request's id", async () => {
	const stand = await Stand.open();
	const broken = { ...stand.backend.executions, get: () => Promise.reject(new Error("the password is 1234")) };
	const other = await Stand.open({
		backendFor: (caller) => ({ ...stand.backend.as(caller), executions: broken as never }),
	});
	const { status, text } = await other.call("GET", "/v1/executions/x", { headers: { "x-request-id": "mine-7" } });
	expect(status).toBe(500);
	expect(text).not.toContain("1234");
	expect(other.log.find(({ level }) => level === 50)).toMatchObject({ requestId: "mine-7" });
});

test("an unknown route is not_found, a wrong method is method_not_allowed with what is allowed", async () => {
	const stand = await Stand.open();
	expect(await stand.call("GET", "/v1/nothing")).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
	const reply = await stand.call("PUT", "/v1/executions");
	expect(reply).toMatchObject({ status: 405, json: { error: { code: "method_not_allowed" } } });
	expect(reply.headers.get("allow")).toBe("GET, POST");
	const about = await stand.call("PATCH", `/v1/executions/ex_${"0".repeat(32)}_0/events`);
	expect(about.headers.get("allow")).toBe("GET");
});

test("unknown fields of bodies and queries are refused by name", async () => {
	const stand = await Stand.open();
	const refused = async (method: string, path: string, body?: unknown) => {
		const { status, json } = await stand.call(method, path, body === undefined ? {} : { body });
		return [status, json.error.code, json.error.details.field];
	};
	expect(await refused("POST", "/v1/executions", { kind: "a", surprise: 1 })).toEqual([
		400,
		"invalid_input",
		"surprise",
	]);
	expect(await refused("GET", "/v1/executions?surprise=1")).toEqual([400, "invalid_input", "surprise"]);
	expect(await refused("GET", `/v1/executions/ex_${"0".repeat(32)}_0?surprise=1`)).toEqual([
		400,
		"invalid_input",
		"surprise",
	]);
	expect(await refused("GET", "/v1/executions?limit=many")).toEqual([400, "invalid_input", "limit"]);
	expect(await refused("GET", "/v1/executions?limit=1&limit=2")).toEqual([400, "invalid_input", "limit"]);
	expect(await refused("GET", "/v1/executions?toString=1")).toEqual([400, "invalid_input", "toString"]);
	expect(await refused("GET", "/v1/executions?__proto__=1")).toEqual([400, "invalid_input", "__proto__"]);
	const { id } = await stand.held();
	expect(await refused("POST", `/v1/executions/${id}/replay`, { again: true })).toEqual([
		400,
		"invalid_input",
		"again",
	]);
	expect(await refused("GET", `/v1/executions/${id}/wait?timeoutMs=30001`)).toEqual([
		400,
		"invalid_input",
		"timeoutMs",
	]);
});

test("a path that cannot be decoded is refused in the same form", async () => {
	const stand = await Stand.open();
	const { status, json } = await stand.call("GET", "/v1/executions/%ff");
	expect([status, json.error.code]).toEqual([400, "invalid_input"]);
});

test("a path of any length and form is answered by name, on every route", async () => {
	const stand = await Stand.open({ docs: true });
	const parts = ["x".repeat(3000), "x".repeat(5000), "%00", "..%5c..%5cpackage.json", "%2e%2e", "__proto__", "%20"];
	const statuses = new Set<number>();
	for (const name of Object.keys(ACCESS).filter((name) => name.includes(":") && !name.includes("notices"))) {
		const [method = "", path = ""] = name.split(" ");
		const body = method === "GET" || method === "DELETE" ? undefined : {};
		for (const part of parts) {
			const reply = await stand.call(method, path.replace(/:\w+/g, part), { body });
			expect([name, part.slice(0, 20), reply.status < 500]).toEqual([name, part.slice(0, 20), true]);
			statuses.add(reply.status);
		}
	}
	expect(statuses).toContain(400);
	for (const path of ["/docs/static/..%5c..%5cpackage.json", "/docs/static/%2e%2e%5c", "/docs/static/x"])
		expect([path, (await stand.call("GET", path)).status]).toEqual([path, 404]);
	expect(stand.log.filter(({ msg }) => msg === "a call failed with an internal error")).toEqual([]);
});
