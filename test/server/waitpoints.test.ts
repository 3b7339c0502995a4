import { expect, test } from "vitest";
import type { ServerOptions } from "../../src/server/options.ts";
import { entry, type Reply, Stand, tokenOf } from "./stand.ts";

const unknown = (prefix: string) => `${prefix}_${"0".repeat(32)}_0`;

/** Work that waits at one waitpoint. */
async function suspended(options: Partial<ServerOptions> = {}) {
	const stand = await Stand.open(options);
	const { id, fence } = await stand.held();
	const { waitpoints } = await stand.backend.leases.suspend(id, {
		fence,
		reason: "waiting_for_approval",
		condition: { signal: "approve" },
		waitpoints: [{ key: "w" }],
	});
	const [at] = waitpoints;
	if (!at) throw new Error("no waitpoint");
	return { stand, id, fence, at };
}

/** All of an answer that is not about the request or the moment. */
const shownBy = ({ status, headers, text }: Reply) => {
	const shown = Object.fromEntries(headers);
	for (const name of ["date", "x-request-id"]) delete shown[name];
	return { status, headers: shown, text };
};

test("whatever is wrong with a signal's target or token, the answer is the same byte for byte", async () => {
	const { stand, id, at } = await suspended({ tokens: [entry("root", "admin")] });
	const forged = at.token.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
	const signal = (execution: string, waitpointId: string, token: string, headers: object = {}) =>
		stand.call("POST", `/v1/executions/${execution}/signals`, {
			body: { waitpointId, token, name: "approve" },
			headers,
		});
	const first = shownBy(await signal(id, at.id, forged));
	expect(first).toMatchObject({ status: 401 });
	expect(JSON.parse(first.text)).toEqual({
		error: { code: "invalid_token", message: "the waitpoint's token is not valid", retryable: false },
	});
	const long = "x".repeat(400);
	const others = [
		await signal(id, at.id, "nonsense"),
		await signal(id, at.id, ""),
		await signal(id, at.id, at.token.slice(0, -1)),
		await signal(id, at.id, at.token.replace("k1.", "k2.")),
		await signal(id, unknown("wp"), at.token),
		await signal(id, "wp_1", at.token),
		await signal(id, long, at.token),
		await signal(unknown("ex"), at.id, at.token),
		await signal("nonsense", at.id, at.token),
		await signal("%20%2e%2e", at.id, at.token),
		await signal(long, at.id, at.token),
		await signal(id, at.id, forged, { authorization: `Bearer ${tokenOf("root")}` }),
		await signal(id, at.id, forged, { authorization: "Bearer nobody" }),
	];
	for (const answer of others) expect(shownBy(answer)).toEqual(first);
	expect((await stand.backend.executions.get(id)).publicState).toBe("suspended");
});

test("whatever is wrong with a callback, the answer is the same byte for byte", async () => {
	const { stand, at } = await suspended({ tokens: [entry("root", "admin")] });
	const callback = (waitpointId: string, token: string) =>
		stand.call("POST", `/v1/callbacks/${waitpointId}?token=${encodeURIComponent(token)}`, { body: {} });
	const first = shownBy(await callback(at.id, `${at.token}x`));
	expect(first).toMatchObject({ status: 401 });
	const others = [
		await callback(unknown("wp"), at.token),
		await callback("wp_1", at.token),
		await callback("x".repeat(400), at.token),
		await callback(at.id, ""),
		await callback(at.id, "k1."),
	];
	for (const answer of others) expect(shownBy(answer)).toEqual(first);
});

test("an outsider with nothing but the URL answers it, and what it posts is the payload", async () => {
	const { stand, id, at } = await suspended({ tokens: [entry("root", "admin")] });
	expect(at.callbackUrl).toBe(`/v1/callbacks/${at.id}?token=${at.token}`);
	const answer = await stand.call("POST", `${at.callbackUrl}&name=approve`, {
		body: "<yes/>",
		headers: { "content-type": "application/xml" },
	});
	expect(answer).toMatchObject({ status: 200, json: { status: "accepted", effect: "resumed" } });
	const [claimed] = await stand.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	expect(claimed).toMatchObject({ id, signals: [{ name: "approve", contentType: "application/xml" }] });
	expect(Buffer.from(claimed?.signals[0]?.payloadBase64 ?? "", "base64").toString()).toBe("<yes/>");
});

test("a callback takes any content type, a broken body as JSON and none at all", async () => {
	const { stand, at } = await suspended();
	const post = (body?: string, contentType?: string) =>
		stand.call("POST", at.callbackUrl, {
			...(body === undefined ? undefined : { body }),
			headers: contentType === undefined ? {} : { "content-type": contentType },
		});
	for (const answer of [
		await post("{not json", "application/json"),
		await post("a=1", "application/x-www-form-urlencoded"),
		await post(undefined, undefined),
		await post("x", "text/plain; charset=utf-8"),
	])
		expect(answer).toMatchObject({ status: 200, json: { status: "accepted", effect: "ignored" } });
	const large = await post("x".repeat(256 * 1024 + 1), "text/plain");
	expect(large).toMatchObject({ status: 413, json: { error: { code: "payload_too_large" } } });
});

test("tokens are given with no-store, and stand in no log, list, event or error", async () => {
	const { stand, id, at } = await suspended();
	const given = await stand.call("GET", `/v1/executions/${id}/waitpoints/${at.id}/token`);
	expect([given.json.token, given.headers.get("cache-control")]).toEqual([at.token, "no-store"]);
	const shown = [
		await stand.call("GET", "/v1/waitpoints"),
		await stand.call("GET", `/v1/executions/${id}/waitpoints`),
		await stand.call("GET", `/v1/executions/${id}/events`),
		await stand.call("GET", `/v1/executions/${id}`),
		await stand.call("POST", at.callbackUrl, { body: {} }),
		await stand.call("GET", at.callbackUrl),
		await stand.call("POST", `${at.callbackUrl}&colour=red`, { body: {} }),
		await stand.call("POST", `/v1/executions/${id}/signals`, {
			body: { waitpointId: at.id, token: at.token, name: "", colour: at.token },
		}),
		await stand.call("GET", "/metrics"),
	];
	const secret = at.token.slice("k1.".length);
	for (const { text } of shown) expect(text).not.toContain(secret);
	expect(JSON.stringify(stand.log)).not.toContain(secret);
});

test("a holder is given tokens with no-store, new waitpoints with 201 and known ones with 200", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const open = () => stand.call("POST", `/v1/executions/${id}/waitpoints`, { body: { fence, key: "w" } });
	const made = await open();
	expect([made.status, made.headers.get("cache-control")]).toEqual([201, "no-store"]);
	const again = await open();
	expect([again.status, again.json.token]).toEqual([200, made.json.token]);
	const suspend = await stand.call("POST", `/v1/executions/${id}/suspend`, {
		body: { fence, reason: "waiting_for_signal", condition: { signal: "go" }, waitpoints: [{ key: "w" }] },
	});
	expect([suspend.status, suspend.headers.get("cache-control")]).toEqual([200, "no-store"]);
	expect(suspend.json.waitpoints[0].id).toBe(made.json.id);
});

test("viewers see that it waits and for whom, but neither tokens nor what signals carry", async () => {
	const { stand, id, at } = await suspended({ tokens: [entry("looker", "viewer"), entry("op", "operator")] });
	await stand.backend.waitpoints.approve(id, { name: "other", payload: { secret: "s3cret" } });
	const as = (name: string, path: string) => stand.call("GET", path, { token: tokenOf(name) });
	const seen = [
		await as("looker", "/v1/waitpoints"),
		await as("looker", `/v1/executions/${id}/waitpoints?all=true`),
		await as("looker", `/v1/executions/${id}/events`),
		await as("looker", `/v1/executions/${id}/explain`),
		await as("looker", `/v1/executions/${id}/attempts`),
		await as("looker", "/v1/events"),
	];
	for (const { status, text } of seen) {
		expect(status).toBe(200);
		expect(text).not.toContain("s3cret");
		expect(text).not.toContain(at.token.slice(3));
	}
	for (const path of [`/v1/executions/${id}/signals`, `/v1/executions/${id}/waitpoints/${at.id}/token`]) {
		expect((await as("looker", path)).status).toBe(403);
		expect((await as("op", path)).status).toBe(200);
	}
});

test("where outsiders reach the server is what it was told, never what a request says", async () => {
	const { at } = await suspended();
	expect(at.callbackUrl.startsWith("/v1/callbacks/")).toBe(true);
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const made = await stand.call("POST", `/v1/executions/${id}/waitpoints`, {
		body: { fence, key: "w" },
		headers: { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
	});
	expect(made.json.callbackUrl).toBe(`/v1/callbacks/${made.json.id}?token=${made.json.token}`);
});
