import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import { serveEngine } from "../../src/server/server.ts";
import { storeBeds } from "./store-beds.ts";

const KILLS = Number(process.env.FF_CHILDREN_KILLS ?? 5);
const CHILDREN = 40 * KILLS;
const program = fileURLToPath(new URL("./programs/children-worker.mjs", import.meta.url));

/** Runs the worker and kills it without warning once it has said so many lines; all it said. */
function runWorker(url: string, killAfter: number): Promise<string[]> {
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, [program, url, String(CHILDREN)], { stdio: ["ignore", "pipe", "pipe"] });
		const said: string[] = [];
		let complaints = "";
		child.stderr.on("data", (data) => {
			complaints += String(data);
		});
		createInterface({ input: child.stdout }).on("line", (line) => {
			if (said.push(line) === killAfter) child.kill("SIGKILL");
		});
		child.on("error", reject);
		child.on("close", (exitCode, signal) => {
			if (exitCode === 0 || signal === "SIGKILL") resolve(said);
			else reject(new Error(`the worker ended with ${exitCode ?? signal}: ${complaints}`));
		});
	});
}

const rows = storeBeds.filter(({ name, partitions }) => partitions === (name === "sqlite" ? 1 : 8));

describe.each(rows)("a parent of many children on $name ×$partitions", ({ partitions, open }) => {
	test(`killed ${KILLS} times it has the same children, and goes on with what came of them`, {
		timeout: 600_000,
	}, async ({ task }) => {
		const bed = await open();
		onTestFinished(() => bed.discard());
		const backend = await openBackend(bed.url, { partitions });
		const server = await serveEngine({
			engine: backend.engine,
			backendFor: (caller) => backend.as(caller),
			port: 0,
			docs: false,
		});
		onTestFinished(async () => {
			await server.close();
			await backend.close();
		});
		const ff = new FlowFabric(backend);
		const { id } = await ff.submit("parent", undefined, { idempotencyKey: "the one" });
		const said: string[] = [];
		for (let kill = 0; kill <= KILLS; kill++) {
			const killAfter = kill < KILLS ? 1 + Math.floor(Math.random() * CHILDREN * 1.5) : Number.POSITIVE_INFINITY;
			said.push(...(await runWorker(server.address, killAfter)));
		}
		task.meta.kills = KILLS;
		expect(await ff.result(id)).toBe((CHILDREN * (CHILDREN - 1)) / 2);
		const children = new Set(said.filter((line) => line.startsWith("has ")));
		expect(children.size).toBe(CHILDREN);
		const { executions } = await ff.list({ parentId: id, limit: 1000 });
		expect(executions).toHaveLength(CHILDREN + 1);
		expect(new Set(executions.map(({ publicState }) => publicState))).toEqual(new Set(["completed"]));
	});
});
