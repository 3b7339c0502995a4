import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
// @ts-expect-error: a program of plain JavaScript, which runs without a build.
import * as layered from "./programs/layered-flow.mjs";
import { storeBeds } from "./store-beds.ts";

interface Graph {
	nodes: { key: string }[];
	edges: { from: string; to: string }[];
}
const layeredFlow = layered.layeredFlow as (layers: number, width: number) => Graph;
const expectedResults = layered.expectedResults as (graph: Graph) => Map<string, number>;

const NODES = Number(process.env.FF_FLOW_NODES ?? 1000);
const KILLS = Number(process.env.FF_FLOW_KILLS ?? 3);
const HANDLERS = 16;
const WIDTH = Math.round(Math.sqrt(NODES));
const LAYERS = Math.round(NODES / WIDTH);
const program = fileURLToPath(new URL("./programs/flow-worker.mjs", import.meta.url));

/** Runs engine and worker and kills both without warning once so many handlers have run; which flow it is, and what ran. */
function runProgram(args: string[], killAfter: number): Promise<{ id: string; ran: string[] }> {
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
		const ran: string[] = [];
		let id = "";
		let complaints = "";
		child.stderr.on("data", (data) => {
			complaints += String(data);
		});
		createInterface({ input: child.stdout }).on("line", (line) => {
			const [what, name = ""] = line.split(" ");
			if (what === "flow") id = name;
			if (what === "ran" && ran.push(name) === killAfter) child.kill("SIGKILL");
		});
		child.on("error", reject);
		child.on("close", (exitCode, signal) => {
			if (exitCode === 0 || signal === "SIGKILL") resolve({ id, ran });
			else reject(new Error(`the program ended with ${exitCode ?? signal}: ${complaints}`));
		});
	});
}

const rows = storeBeds.filter(({ name, partitions }) => partitions === (name === "sqlite" ? 1 : 8));

describe.each(rows)("a flow of many nodes on $name ×$partitions", ({ name, partitions, open }) => {
	test(`its engine killed ${KILLS} times, it ends with every node run to its end once`, {
		timeout: 1_800_000,
	}, async ({ task }) => {
		const bed = await open();
		onTestFinished(() => bed.discard());
		const graph = layeredFlow(LAYERS, WIDTH);
		const count = graph.nodes.length;
		const args = [bed.url, String(partitions), String(LAYERS), String(WIDTH)];
		const ids = new Set<string>();
		let runs = 0;
		for (let kill = 0; kill <= KILLS; kill++) {
			const most = Math.floor((count * 0.9) / KILLS);
			const killAfter = kill < KILLS ? 1 + Math.floor(Math.random() * most) : Number.POSITIVE_INFINITY;
			const { id, ran } = await runProgram(args, killAfter);
			ids.add(id);
			runs += ran.length;
		}
		expect(ids.size).toBe(1);
		const [id = ""] = ids;
		const ff = await FlowFabric.open(bed.url);
		onTestFinished(() => ff.close());
		const flow = await ff.backend.flows.get(id);
		expect(flow).toMatchObject({ state: "completed", counts: { completed: count }, nodeCount: count });
		const results = expectedResults(graph);
		const last = flow.nodes.filter(({ key }) => key.startsWith(`${LAYERS - 1}.`));
		for (const { key, executionId } of last) expect(await ff.result(executionId)).toBe(results.get(key));
		const completed = new Map<string, number>();
		let cursor: { cursor?: string } = {};
		for (;;) {
			const page = await ff.backend.flows.events(id, { limit: 1000, ...cursor });
			if (page.events.length === 0) break;
			for (const { type, executionId = "" } of page.events)
				if (type === "completed") completed.set(executionId, (completed.get(executionId) ?? 0) + 1);
			cursor = { cursor: page.nextCursor };
		}
		const doubled = [...completed.values()].filter((times) => times !== 1).length;
		task.meta.kills = KILLS;
		process.stdout.write(
			`${KILLS} kills of a flow of ${count} nodes on ${name} ×${partitions}: ${runs - count} handlers ran again, ${count - completed.size} lost, ${doubled} doubled\n`,
		);
		expect({ completed: completed.size, doubled }).toEqual({ completed: count, doubled: 0 });
		// Only what was running when the engine died ran twice, or had just run and was not recorded yet.
		expect(runs - count).toBeLessThanOrEqual(2 * KILLS * HANDLERS);
	});
});
