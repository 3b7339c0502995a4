import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { openBackend } from "../../src/library/open.ts";
import { serveEngine } from "../../src/server/server.ts";
import { Attacker, type Complaint, strike } from "./abuse/attack.ts";

const REQUESTS = Number(process.env.FF_ABUSE_REQUESTS ?? 5000);
const SEED = Number(process.env.FF_ABUSE_SEED ?? 1 + Math.floor(Math.random() * 1_000_000));
/** Requests under way at the same time. */
const AT_ONCE = 8;

const hash = (token: string): string => createHash("sha256").update(token).digest("hex");

test(`${REQUESTS} random requests leave the server healthy and each gets its proper status`, {
	timeout: 60_000 + REQUESTS * 20,
}, async () => {
	const backend = await openBackend("memory:", { partitions: 4 });
	const server = await serveEngine({
		engine: backend.engine,
		backendFor: (caller) => backend.as(caller),
		port: 0,
		adminToken: "admin-token-of-the-test",
		tokens: [
			{ name: "viewer", role: "viewer", hash: hash("viewer-token-of-the-test") },
			{ name: "tenant", role: "operator", namespace: "tenant", hash: hash("tenant-token-of-the-test") },
			{ name: "hand", role: "worker", namespace: "tenant", hash: hash("hand-token-of-the-test") },
		],
	});
	const origin = new URL(server.address);
	const asAdmin = { authorization: "Bearer admin-token-of-the-test", "content-type": "application/json" };
	const ask = (method: string, path: string, body?: object) =>
		strike(origin, { method, path, headers: asAdmin, body: body && JSON.stringify(body) });
	const secret = JSON.parse(
		(await ask("POST", "/v1/executions", { kind: "secret", namespace: "private", input: "tell nobody" })).text,
	) as { id: string };
	const before = (await ask("GET", `/v1/executions/${secret.id}`)).text;

	const tokens = [
		"admin-token-of-the-test",
		"admin-token-of-the-test",
		"viewer-token-of-the-test",
		"tenant-token-of-the-test",
		"hand-token-of-the-test",
		"wrong-token",
	];
	const attacker = new Attacker(SEED, JSON.parse((await ask("GET", "/openapi.json")).text), tokens);
	const complaints: Complaint[] = [];
	let left = REQUESTS;
	const attack = async () => {
		while (left-- > 0 && complaints.length < 5) {
			const next = attacker.next();
			const complaint = attacker.judge(next, await strike(origin, next));
			if (complaint) complaints.push(complaint);
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, attack));
	const statuses = [...attacker.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
	process.stdout.write(`seed ${SEED}, ${REQUESTS} requests, ${statuses.join(", ")}\n`);
	expect(complaints).toEqual([]);
	// Valid requests were among them, or nothing was tried.
	expect(attacker.statuses.get(200)).toBeGreaterThan(REQUESTS / 20);
	expect(attacker.statuses.get(201)).toBeGreaterThan(0);

	expect((await ask("GET", "/healthz")).status).toBe(200);
	expect((await ask("GET", "/readyz")).status).toBe(200);
	expect((await ask("GET", `/v1/executions/${secret.id}`)).text).toBe(before);
	await server.close();
	await backend.close();
});
