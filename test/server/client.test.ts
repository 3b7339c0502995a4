import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { Stand, until } from "./stand.ts";

/** A server that does what a test says. */
async function standIn(listener: RequestListener): Promise<string> {
	const server = createServer(listener);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function connect(url: string, timeoutMs = 2000): FlowFabric {
	const ff = FlowFabric.connect(url, { timeoutMs });
	onTestFinished(() => ff.close());
	return ff;
}

const made = { id: `ex_${"0".repeat(32)}_0`, publicState: "waiting", created: true };

test("submits and completes that come together travel together, and one alone goes alone", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	await ff.submit("job", 0);
	const runs = await Promise.all(Array.from({ length: 50 }, (_, n) => ff.submit("job", n)));
	expect(new Set(runs.map(({ id }) => id)).size).toBe(50);
	const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "w-1", max: 51 });
	const outcomes = await Promise.allSettled(
		claimed.map(({ id, lease }, n) =>
			ff.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: n === 7 ? 9 : lease.epoch }, result: n }),
		),
	);
	expect(outcomes.filter(({ status }) => status === "rejected")).toMatchObject([{ reason: { code: "stale_lease" } }]);
	const { text } = await stand.call("GET", "/metrics");
	const requests = (route: string) =>
		Number(
			new RegExp(`flowfabric_http_request_seconds_count\\{route="${route}",status="\\d+"\\} (\\d+)`).exec(text)?.[1],
		);
	expect(requests("POST /v1/executions")).toBe(1);
	expect(requests("POST /v1/executions/batch")).toBe(1);
	expect(requests("POST /v1/leases/complete")).toBe(1);
});

test("a batch larger than a server takes at once is sent in parts, and answered in order", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	const input = "x".repeat(1_000_000);
	const made = await ff.submitMany(Array.from({ length: 40 }, (_, n) => ({ kind: n === 20 ? "" : `k-${n}`, input })));
	expect(made.map(({ ok }) => ok)).toEqual(Array.from({ length: 40 }, (_, n) => n !== 20));
	const last = made.at(-1);
	expect(last?.ok && (await last.run.get()).kind).toBe("k-39");
});

test("reads and fenced calls are tried again when the connection breaks; a submit without a key is not", async () => {
	const seen: string[] = [];
	const url = await standIn((request, response) => {
		seen.push(`${request.method} ${request.url}`);
		if (seen.filter((each) => each === seen.at(-1)).length < 3) request.socket.destroy();
		else response.end(JSON.stringify({ ...made, leases: [] }));
	});
	const ff = connect(url, 10_000);
	await ff.get("a");
	await ff.backend.leases.renew({ leases: [] });
	await ff.backend.leases.complete("b", { fence: { leaseId: "x", epoch: 1 } });
	expect(seen).toHaveLength(9);
	seen.length = 0;
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "unreachable", retryable: true });
	expect(seen).toHaveLength(1);
	seen.length = 0;
	await ff.submit("job", 1, { idempotencyKey: "k" });
	expect(seen).toHaveLength(3);
});

test("a submit is tried again when the server says that it did nothing", async () => {
	let calls = 0;
	const url = await standIn((_request, response) => {
		calls += 1;
		if (calls < 2) {
			response.writeHead(503, { "retry-after": "0" });
			response.end(JSON.stringify({ error: { code: "shutting_down", message: "closing", retryable: true } }));
		} else response.writeHead(201).end(JSON.stringify(made));
	});
	await connect(url).submit("job");
	expect(calls).toBe(2);
	calls = 0;
	const unsure = await standIn((_request, response) => {
		calls += 1;
		response
			.writeHead(503)
			.end(JSON.stringify({ error: { code: "store_unavailable", message: "?", retryable: true } }));
	});
	await expect(connect(unsure).submit("job")).rejects.toMatchObject({ code: "store_unavailable" });
	expect(calls).toBe(1);
});

test("of a joint submit that broke, those with a key are sent again and the others are told", async () => {
	const bodies: string[] = [];
	const url = await standIn((request, response) => {
		let body = "";
		request.on("data", (chunk) => (body += chunk));
		request.on("end", () => {
			bodies.push(body);
			if (bodies.length === 1) return void request.socket.destroy();
			const { items } = JSON.parse(body);
			return void response.end(JSON.stringify({ items: items.map(() => ({ ok: true, ...made })) }));
		});
	});
	const ff = connect(url);
	const outcomes = await Promise.allSettled([
		ff.submit("a"),
		ff.submit("b", 1, { idempotencyKey: "k" }),
		ff.submit("c", 1, { idempotencyKey: "l" }),
	]);
	expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
	expect(JSON.parse(bodies[1] ?? "").items.map(({ kind }: { kind: string }) => kind)).toEqual(["b", "c"]);
});

test("where nobody listens a call fails as unreachable when its time is over", async () => {
	const ff = connect("http://127.0.0.1:1", 300);
	await expect(ff.get("a")).rejects.toMatchObject({ code: "unreachable", status: 503, retryable: true });
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "unreachable" });
});

test("answers of something else on the way are told as what they are", async () => {
	const proxy = await standIn((_request, response) => response.writeHead(502).end("<h1>Bad gateway</h1>"));
	await expect(connect(proxy, 200).get("a")).rejects.toMatchObject({ code: "unreachable" });
	const other = await standIn((_request, response) => response.writeHead(418).end("teapot"));
	await expect(connect(other).get("a")).rejects.toMatchObject({ code: "internal" });
	const newer = await standIn((_request, response) =>
		response.writeHead(409).end(JSON.stringify({ error: { code: "not_known_yet", message: "new", retryable: false } })),
	);
	await expect(connect(newer).get("a")).rejects.toMatchObject({ code: "internal", message: /not_known_yet/ });
});

test("an address or option that makes no sense is refused by name before anything is sent", () => {
	for (const url of ["", "nonsense", "ftp://x", "http://user:pw@x", "http://x?y"]) {
		expect(() => FlowFabric.connect(url)).toThrow(/^url: /);
	}
	expect(() => FlowFabric.connect("http://x", { token: "a b" })).toThrow(/^token: /);
	expect(() => FlowFabric.connect("http://x", { timeoutMs: 0 })).toThrow(/^timeoutMs: /);
});

test("a server under a path of its own is reached there", async () => {
	const urls: string[] = [];
	const url = await standIn((request, response) => {
		urls.push(String(request.url));
		response.end("{}");
	});
	await connect(`${url}/flow/`).get("a");
	expect(urls).toEqual(["/flow/v1/executions/a"]);
});

test("closing ends what waits and refuses what comes later as shutting_down", async () => {
	const stand = await Stand.open();
	const ff = FlowFabric.connect(stand.server.address);
	const { id } = await ff.submit("job");
	const waiting = ff.wait(id).catch((error: unknown) => error);
	await until(async () => (await stand.call("GET", "/metrics")).text.includes('pool="waits"} 1'));
	await ff.close();
	expect(await waiting).toMatchObject({ code: "shutting_down", retryable: true });
	await expect(ff.get(id)).rejects.toMatchObject({ code: "shutting_down" });
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "shutting_down" });
	await ff.close();
});
