import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { type StoreBed, storeBeds } from "./store-beds.ts";

const KILLS = Number(process.env.FF_KILLS ?? 6);
const program = fileURLToPath(new URL("./programs/submit-and-work.mjs", import.meta.url));

interface Outlived {
	acknowledged: string[];
	exitCode: number | null;
}

/** Runs the program and kills it without warning once it has acknowledged so many submissions. */
function runProgram(args: string[], killAfter = Number.POSITIVE_INFINITY): Promise<Outlived> {
	return new Promise((resolve, reject) => {
		const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
		const acknowledged: string[] = [];
		let complaints = "";
		child.stderr.on("data", (data) => {
			complaints += String(data);
		});
		createInterface({ input: child.stdout }).on("line", (line) => {
			if (!line.startsWith("ack ")) return;
			acknowledged.push(line.slice(4));
			// The pipe may hold more: whatever was written before the kill was acknowledged and is still read.
			if (acknowledged.length === killAfter) child.kill("SIGKILL");
		});
		child.on("error", reject);
		child.on("close", (exitCode, signal) => {
			if (exitCode !== 0 && signal !== "SIGKILL")
				reject(new Error(`the program ended with ${exitCode}: ${complaints}`));
			else resolve({ acknowledged, exitCode });
		});
	});
}

describe.each(storeBeds)("killed programs on $name ×$partitions", ({ name, partitions, open }) => {
	let bed: StoreBed;
	beforeAll(async () => {
		bed = await open();
	});
	afterAll(() => bed.discard());

	test(`${KILLS / 2} times kill -9: nothing lost, nothing doubled, nothing stuck`, {
		timeout: 60_000 + KILLS * 30_000,
	}, async ({ task }) => {
		const acknowledged: string[] = [];
		for (let kill = 0; kill < KILLS / 2; kill++) {
			const killAfter = 20 + Math.floor(Math.random() * 300);
			const outlived = await runProgram([bed.url, String(partitions)], killAfter);
			acknowledged.push(...outlived.acknowledged);
		}
		task.meta.kills = KILLS / 2;
		await runProgram([bed.url, String(partitions), "--drain"]);

		const ff = await FlowFabric.open(bed.url);
		const lost: string[] = [];
		const stuck: string[] = [];
		const doubled: string[] = [];
		for (const id of acknowledged) {
			const execution = await ff.get(id).catch(() => undefined);
			if (!execution) lost.push(id);
			else if (execution.publicState !== "completed")
				stuck.push(`${id} ${execution.publicState} ${execution.blockingDetail}`);
			const { events } = await ff.events(id, { limit: 1000 });
			if (events.filter((event) => event.type === "completed").length !== 1) doubled.push(id);
		}
		await ff.close();
		process.stdout.write(
			`${KILLS / 2} kills on ${name} ×${partitions}: ${acknowledged.length} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${stuck.length} stuck\n`,
		);
		expect({ lost, stuck, doubled }).toEqual({ lost: [], stuck: [], doubled: [] });
		expect(new Set(acknowledged).size).toBe(acknowledged.length);
	});
});
