import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { Program } from "./processes.ts";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

let server: Program | undefined;
afterEach(async () => {
	await server?.stop("SIGKILL");
	server = undefined;
});

/** A server with little memory, which is where hostile requests end it. */
const serve = (heapMb: number): Promise<string> => serveWith(`--max-old-space-size=${heapMb}`);

async function serveWith(nodeOptions: string): Promise<string> {
	server = new Program(process.execPath, [main, "serve", "--store", "memory:", "--listen", "127.0.0.1:0"], {
		env: { NODE_OPTIONS: nodeOptions },
	});
	const [, url = ""] = await server.says(/(http:\/\/127\.0\.0\.1:\d+)/);
	return url;
}

const post = async (url: string, body: string): Promise<{ status: number; code: string }> => {
	const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
	const { error } = (await response.json()) as { error?: { code: string } };
	return { status: response.status, code: error?.code ?? "" };
};

/** As many of these as fit into the largest body there is. */
const full = (field: string, item: string): string => {
	const count = Math.floor((32 * 1024 * 1024 - 64) / (item.length + 1));
	return `{"${field}":[${new Array(count).fill(item).join(",")}]}`;
};

test("the longest lists that fit into a body are refused, and the server goes on", async () => {
	const url = await serve(160);
	expect(await post(`${url}/v1/leases/renew`, full("leases", "0"))).toEqual({ status: 413, code: "payload_too_large" });
	for (const path of ["/v1/executions/batch", "/v1/leases/complete"]) {
		for (const item of ["[]", "{}", "0"]) {
			expect(await post(url + path, full("items", item))).toEqual({ status: 400, code: "invalid_input" });
		}
	}
	// As many as may be, each full of the smallest values there are.
	const input = new Array(10_000).fill("{}").join(",");
	const items = new Array(1000).fill(`{"kind":"job","input":[${input}]}`).join(",");
	expect(await post(`${url}/v1/executions/batch`, `{"items":[${items}]}`)).toEqual({ status: 200, code: "" });
	expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test("a waiting time that cannot be made a number is refused, and the server goes on", async () => {
	const url = await serve(160);
	for (const path of ["/v1/claims", "/v1/grants"]) {
		const body = `{"workerId":"w","instanceId":"w-1","waitMs":{"toString":1}}`;
		expect(await post(url + path, body)).toEqual({ status: 400, code: "invalid_input" });
	}
	expect((await fetch(`${url}/healthz`)).status).toBe(200);
	expect(server?.out).not.toContain("nobody handles");
});

test("a failure that nobody handles is logged, and the server goes on", async () => {
	const fault = "process.on('SIGUSR2',()=>Promise.reject(new Error('planted')))";
	const url = await serveWith(`--import data:text/javascript,${encodeURIComponent(fault)}`);
	server?.child.kill("SIGUSR2");
	await server?.says(/planted/);
	expect(await server?.says(/a failure that nobody handles; the server goes on/)).toBeTruthy();
	expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
