import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import { serveEngine } from "../../src/server/server.ts";
import { storeBeds } from "./store-beds.ts";

const KILLS = Number(process.env.FF_STEP_KILLS ?? 5);
const STEPS = 500 * KILLS;
/** So many steps that the last run has some to do, whatever the others have done. */
const MOST_PER_RUN = Math.floor((STEPS * 0.9) / KILLS);
const program = fileURLToPath(new URL("./programs/steps-worker.mjs", import.meta.url));

/** Runs the worker and kills it without warning once it has recorded so many more steps; which steps it ran. */
function runWorker(url: string, recorded: ReadonlySet<number>, killAfter: number): Promise<number[]> {
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, [program, url, String(STEPS)], { stdio: ["ignore", "pipe", "pipe"] });
		const ran: number[] = [];
		let kept = 0;
		let complaints = "";
		child.stderr.on("data", (data) => {
			complaints += String(data);
		});
		createInterface({ input: child.stdout }).on("line", (line) => {
			const [what, n = ""] = line.split(" ");
			if (what === "ran") ran.push(Number(n));
			if (what === "kept" && !recorded.has(Number(n)) && ++kept === killAfter) child.kill("SIGKILL");
		});
		child.on("error", reject);
		child.on("close", (exitCode, signal) => {
			const isExpected = Number.isFinite(killAfter) ? signal === "SIGKILL" : exitCode === 0;
			if (isExpected) resolve(ran);
			else reject(new Error(`the worker ended with ${exitCode ?? signal}: ${complaints}`));
		});
	});
}

async function recordedSteps(ff: FlowFabric, id: string): Promise<Set<number>> {
	const recorded = new Set<number>();
	let cursor: { cursor?: string } | undefined = {};
	while (cursor) {
		const page = await ff.steps(id, { limit: 1000, values: true, ...cursor });
		for (const { result } of page.steps) recorded.add(Number(result));
		cursor = page.nextCursor === undefined ? undefined : { cursor: page.nextCursor };
	}
	return recorded;
}

const rows = storeBeds.filter(({ name, partitions }) => partitions === (name === "sqlite" ? 1 : 8));

describe.each(rows)("a handler of many steps on $name ×$partitions", ({ name, partitions, open }) => {
	test(`killed ${KILLS} times it runs no recorded step again, and ends as it should`, {
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
		const { id } = await ff.submit("steps", undefined, { idempotencyKey: "the one" });
		let recorded = new Set<number>();
		const again: number[] = [];
		let runs = 0;
		for (let kill = 0; kill <= KILLS; kill++) {
			const killAfter = kill < KILLS ? 1 + Math.floor(Math.random() * MOST_PER_RUN) : Number.POSITIVE_INFINITY;
			const ran = await runWorker(server.address, recorded, killAfter);
			again.push(...ran.filter((n) => recorded.has(n)));
			runs += ran.length;
			recorded = await recordedSteps(ff, id);
		}
		const { reclaims } = await ff.get(id);
		task.meta.kills = KILLS;
		process.stdout.write(
			`${KILLS} kills of a handler of ${STEPS} steps on ${name} ×${partitions}: ${reclaims} reclaims, ${again.length} recorded steps ran again, ${runs - STEPS} ran twice that were not recorded\n`,
		);
		expect(again).toEqual([]);
		// A machine that is busy for as long as the lease is costs one too.
		expect(reclaims).toBeGreaterThanOrEqual(KILLS);
		// Only what was being done when the work was lost is done twice.
		expect(runs - STEPS).toBeLessThanOrEqual(reclaims);
		expect(await ff.result(id)).toBe((STEPS * (STEPS - 1)) / 2);
	});
});
